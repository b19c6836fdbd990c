import { expect, openSample, task, test } from './support/test';
import type { Page } from '@playwright/test';

/** Presses Tab until something of this name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate(() => {
      const e = document.activeElement;
      return e?.getAttribute('aria-label') ?? e?.textContent?.trim() ?? '';
    });
    if (name.test(label)) return;
  }
  throw new Error(`Tab never reaches ${name}`);
}

// R140: the job without a mouse.
test('the sample job by keyboard alone', async ({ page, cell }) => {
  await page.goto(cell.url);
  await expect(page.getByRole('button', { name: 'Use the sample' })).toBeVisible();
  await tabTo(page, /^Use the sample/);
  await page.keyboard.press('Enter');
  await expect(page.getByText('data-cleaning', { exact: true })).toBeVisible();
  await tabTo(page, /^Start$/);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'New session in data-cleaning' })).toBeVisible();

  await page.keyboard.press('i');
  await page.keyboard.type(task);
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('Thank you.');
  await expect(page.getByRole('textbox', { name: 'Message', exact: true })).toHaveValue(
    `${task}\nThank you.`,
  );
  await page.keyboard.press('Control+A');
  await page.keyboard.type(task);
  await page.keyboard.press('Enter');

  // The inbox, from anywhere. Enter alone answers nothing.
  await expect(page).toHaveTitle(/^\(1\)/);
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await expect(page.getByRole('heading', { name: 'Inbox' })).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('region', { name: /^Waits for you/ })).toBeVisible();

  // Let the rest run by itself: the mode is a command.
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.keyboard.press('Control+K');
  await page.keyboard.type('mode: auto');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Mode: Auto' })).toBeVisible();
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await tabTo(page, /^Allow once$/);
  await page.keyboard.press('Enter');
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  const end = page.getByText('The script now accepts a region field.');
  const card = page.locator('[data-approval]').first();
  for (;;) {
    await expect(card.or(end).first()).toBeVisible({ timeout: 45_000 });
    const id = await card.getAttribute('data-approval', { timeout: 100 }).catch(() => null);
    if (id === null) {
      if (await end.isVisible()) break;
      continue;
    }
    await tabTo(page, /^Allow once$/);
    await page.keyboard.press('Enter');
    await expect(page.locator(`[data-approval="${id}"]`)).toHaveCount(0);
  }

  // Review: g r, then j k a r.
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  const progress = page.getByText(/\d+ of \d+ hunks reviewed/);
  await expect(progress).toHaveText(/^0 of/);
  await page.keyboard.press('a');
  await expect(progress).toHaveText(/^1 of/);
  await page.keyboard.press('j');
  await page.keyboard.press('a');
  await expect(progress).toHaveText(/^2 of/);
  await page.keyboard.press('r');
  await expect(progress).toHaveText(/^3 of/);

  // The whole window and back.
  await page.keyboard.press('Control+Shift+R');
  await expect(page.getByRole('navigation', { name: 'Files' })).toBeVisible();
  await page.keyboard.press('x');
  await expect(page.getByRole('button', { name: 'Side by side' })).toHaveAttribute('aria-pressed', 'true');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('navigation', { name: 'Files' })).toBeHidden();

  // The key sheet tells what works here, and Escape gives the focus back.
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog', { name: 'Keys that work here' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
});

// R140: what an input method composes is not sent.
test('Enter while composing sends nothing', async ({ page, cell }) => {
  await openSample(page, cell);
  const field = page.getByRole('textbox', { name: 'Message', exact: true });
  await field.focus();
  const client = await page.context().newCDPSession(page);
  await client.send('Input.imeSetComposition', { text: 'にほん', selectionStart: 3, selectionEnd: 3 });
  await field.dispatchEvent('keydown', { key: 'Enter', keyCode: 229, isComposing: true, bubbles: true });
  await field.dispatchEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true });
  await client.send('Input.insertText', { text: '日本' });
  await expect(field).toHaveValue('日本');
  await expect(page.getByRole('heading', { name: 'New session in data-cleaning' })).toBeVisible();
  expect(await cell.api<unknown[]>('GET', '/api/sessions')).toHaveLength(0);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('region', { name: 'Conversation' }).getByText('日本').first()).toBeVisible();
});
