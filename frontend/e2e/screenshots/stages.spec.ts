import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from '@playwright/test';
import { allowUntil, approval, expect, openSample, sampleSession, send, task, test } from '../support/test';

const images = resolve(import.meta.dirname, '../../../docs/images');
mkdirSync(images, { recursive: true });

for (const theme of ['light', 'dark'] as const) {
  test(`the stages of the sample job in ${theme}`, async ({ page, cell }) => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.addInitScript((t) => localStorage.setItem('worksite.theme', t), theme);
    await cell.api('PUT', '/api/settings', { ...(await cell.api<object>('GET', '/api/settings')), theme });
    await cell.stop();
    await cell.start({ pause: 30 });
    const shot = (name: string) => picture(page, `${name}-${theme}`);

    await page.goto(cell.url);
    await expect(page.getByText('Practice model').first()).toBeVisible();
    await shot('1-first-start');

    await openSample(page, cell);
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill(task);
    await shot('2-new-session');
    await page.keyboard.press('Enter');
    await expect(page.locator('article.answer').first()).toContainText('project', { timeout: 30_000 });
    await shot('3-streaming');

    const card = approval(page).first();
    await expect(card).toBeVisible({ timeout: 30_000 });
    await shot('4-approval');

    const failed = page.getByRole('button', { name: /Ran.*unittest.*exit 1/ });
    await allowUntil(page, failed);
    await shot('5-checks-fail');
    await allowUntil(page, page.getByText('The script now accepts a region field.'));
    await expect(page.getByText('Done', { exact: true }).first()).toBeVisible();
    await shot('6-done');

    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Shift+R');
    await expect(page.getByRole('navigation', { name: 'Files' })).toBeVisible();
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('a');
    await expect(page.getByText(/^1 of/)).toBeVisible();
    await shot('7-review');
    await page.keyboard.press('Escape');

    await page.getByRole('tab', { name: 'Artifacts' }).click();
    await page
      .getByRole('tabpanel')
      .getByRole('button', { name: /report\.md/ })
      .click();
    await expect(page.getByText('Produced', { exact: true })).toBeVisible();
    await shot('8-artifact');

    const session = await sampleSession(cell, 'auto');
    await page.evaluate((id) => (location.hash = `#/session/${id}`), session);
    await send(cell, session);
    await expect(page.getByText(/^Running/).first()).toBeVisible({ timeout: 60_000 });
    await cell.stop('SIGKILL');
    await cell.start();
    const open = page.getByRole('button', { name: 'What is still there' }).first();
    await expect(open).toBeVisible({ timeout: 30_000 });
    await open.click();
    await expect(page.getByRole('heading', { name: 'This run was interrupted' })).toBeVisible();
    await shot('9-recovery');
  });
}

async function picture(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready);
  await page.mouse.move(720, 4);
  await page.screenshot({ path: join(images, `${name}.png`), animations: 'disabled', caret: 'hide' });
}
