import { readFileSync } from 'node:fs';
import { allowUntil, approval, expect, openSample, task, test } from './support/test';

// The main job of DESIGN.md, by mouse: R4, R60, R138, R148, R160, R161.
test('the whole sample job by mouse', async ({ page, cell }) => {
  await openSample(page, cell);

  // Attach a file by dropping it on the composer's page.
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  const drop = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['a,b\n1,2\n'], 'kunden übersicht 50%.csv', { type: 'text/csv' }));
    return data;
  });
  await page.dispatchEvent('main', 'drop', { dataTransfer: drop, clientX: 700, clientY: 300 });
  await expect(page.getByRole('button', { name: 'Remove kunden übersicht 50%.csv' })).toBeVisible();

  await message.fill(task);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.getByText(task).first()).toBeVisible();
  await expect(page.getByRole('list', { name: '1 attachment' })).toContainText('kunden übersicht 50%.csv');

  // Every effect asks. The first is denied once; it is asked for again and then allowed.
  const card = approval(page);
  await expect(card.first()).toBeVisible();
  await expect(card.first()).toContainText('Why it asks');
  await card.first().getByRole('button', { name: 'Deny', exact: true }).click();
  await expect(page.getByText('Not done').first()).toBeVisible();

  const failed = page.getByRole('button', { name: /Ran.*unittest.*exit 1/ });
  const passed = page.getByRole('button', { name: /Ran.*unittest.*exit 0/ });
  await allowUntil(page, page.getByText('The script now accepts a region field.'));
  await page.getByRole('region', { name: 'Conversation' }).hover();
  await page.mouse.wheel(0, -900);
  await expect(passed.first()).toBeVisible();
  await page.mouse.wheel(0, -1200);
  await expect(failed.first()).toBeVisible();

  // Review: accept two hunks, reject one.
  const pane = page.getByRole('complementary', { name: 'Side pane' });
  await expect(pane.getByText(/^0 of \d+ hunks reviewed/)).toBeVisible();
  const accept = pane.getByRole('button', { name: 'Accept', exact: true });
  const reject = pane.getByRole('button', { name: 'Reject', exact: true });
  await accept.first().click();
  await expect(pane.getByText(/^1 of/)).toBeVisible();
  await accept.first().click();
  await expect(pane.getByText(/^2 of/)).toBeVisible();
  await reject.first().click();
  await expect(pane.getByText(/^3 of/)).toBeVisible();

  // Commit what was accepted.
  await pane.getByRole('textbox', { name: 'Commit message' }).fill('cleaner: accept a region');
  await pane.getByRole('button', { name: /^Commit/ }).click();
  await expect(page.getByText(/^Committed [0-9a-f]{8}$/).first()).toBeVisible();

  // The report: produced, then saved, which adopts it.
  await pane.getByRole('tab', { name: 'Artifacts' }).click();
  await pane.getByRole('button', { name: /report\.md/ }).click();
  await expect(pane.getByRole('heading', { level: 1 })).toBeVisible();
  const download = page.waitForEvent('download');
  await pane.getByRole('button', { name: 'Save…' }).click();
  const saved = await download;
  expect(saved.suggestedFilename()).toBe('report.md');
  expect(readFileSync(await saved.path(), 'utf8')).toContain('region');
  await expect(pane.getByText('Adopted', { exact: true })).toBeVisible();
});
