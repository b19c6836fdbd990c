import { expect, openSession, sampleSession, send, test } from './support/test';

// R158: the server goes away and comes back under the page.
test('the page says that the server is gone and catches up when it is back', async ({ page, cell }) => {
  const session = await sampleSession(cell, 'plan');
  await openSession(page, cell, session);
  await send(cell, session, 'Hello');
  await expect(page.getByText('I am the practice model').first()).toBeVisible();

  await cell.stop('SIGKILL');
  await expect(page.getByText(/has not answered for/)).toBeVisible();
  await expect(page.getByText('I am the practice model').first()).toBeVisible(); // what was committed stays

  await cell.start();
  await expect(page.getByText(/has not answered for/)).toBeHidden();
  await send(cell, session, 'Are you back?');
  await expect(
    page.getByRole('region', { name: 'Conversation' }).getByText('Are you back?').first(),
  ).toBeVisible();

  // What happened while it was away is there too, and nothing twice.
  await page.context().setOffline(true);
  await send(cell, session, 'Said meanwhile');
  await page.context().setOffline(false);
  await expect(page.getByText('Said meanwhile').first()).toBeVisible();
  await expect(page.locator('article.user')).toHaveCount(3);
});

test('a page with an old key says so', async ({ page, cell }) => {
  await openSession(page, cell, await sampleSession(cell));
  await cell.stop();
  await cell.start({ token: 'another' });
  await expect(page.getByText('This page’s key is no longer valid.')).toBeVisible();
});

// R141, R53: killed in the middle of a run; what is left is told apart and the run goes on.
test('a run that was killed is explained and continued', async ({ page, cell }) => {
  await cell.stop();
  await cell.start({ pause: 60 });
  const session = await sampleSession(cell, 'auto');
  await openSession(page, cell, session);
  await send(cell, session);
  await expect(page.getByRole('button', { name: /^Edited schema\.py/ }).first()).toBeVisible({
    timeout: 45_000,
  });
  await cell.stop('SIGKILL');
  await cell.start();

  const open = page.getByRole('button', { name: 'What is still there' }).first();
  await expect(open).toBeVisible();
  await open.click();
  await expect(page.getByRole('heading', { name: 'This run was interrupted' })).toBeVisible();
  for (const row of ['Conversation', 'Files', 'Processes', 'Outside effects']) {
    await expect(page.getByRole('rowheader', { name: row })).toBeVisible();
  }
  // A decision lets the run go on by itself; without an unknown call the person says so.
  const done = page.getByRole('button', { name: 'Mark as done' });
  const go = page.getByRole('button', { name: 'Continue the run', exact: true });
  await expect(done.or(go).first()).toBeVisible();
  if (await done.isVisible()) {
    await done.click();
    await page.getByRole('button', { name: 'Read the conversation' }).click();
  } else await go.click();
  await expect(page.getByText('The script now accepts a region field.')).toBeVisible({ timeout: 60_000 });
});
