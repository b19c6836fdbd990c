import { approval, expect, openSession, sampleSession, send, test } from './support/test';

// R138: two windows answer at once: one wins, the other is told.
test('an approval is answered once', async ({ page, context, cell }) => {
  const session = await sampleSession(cell, 'ask');
  await send(cell, session);
  const other = await context.newPage();
  await openSession(page, cell, session);
  await openSession(other, cell, session);
  const cards = [approval(page).first(), approval(other).first()];
  for (const card of cards) await expect(card).toBeVisible();
  const id = (
    await cell.api<{ request: { approvalId: string; digest: string } }[]>('GET', '/api/approvals')
  )[0]?.request;
  expect(id).toBeDefined();

  // The other page does not hear of it yet: its stream is held up while the first answers.
  await other.route('**/api/stream*', (route) => route.abort());
  await other.evaluate(() => undefined);
  const held = approval(other).first();
  const answered = page.waitForResponse(
    (r) => r.url().includes('/api/approvals/') && r.request().method() === 'POST',
  );
  await Promise.all([
    approval(page).first().getByRole('button', { name: 'Deny', exact: true }).click(),
    held.getByRole('button', { name: 'Allow once' }).click(),
  ]);
  expect([200, 409]).toContain((await answered).status());
  const facts = await cell.api<{ kind: string; payload: { approvalId?: string } }[]>(
    'GET',
    `/api/sessions/${session}/events?after=0&limit=2000`,
  );
  const answers = facts.filter(
    (e) => /^approval\.(granted|denied)$/.test(e.kind) && e.payload.approvalId === id?.approvalId,
  );
  expect(answers).toHaveLength(1);
});

test('who loses the race is told who answered', async ({ page, cell }) => {
  const session = await sampleSession(cell, 'ask');
  await send(cell, session);
  await openSession(page, cell, session);
  const card = approval(page).first();
  await expect(card).toBeVisible();
  // Between the press and its arrival, somebody else answers.
  await page.route(
    '**/api/approvals/*',
    async (route) => {
      const [open] = await cell.api<{ request: { approvalId: string; digest: string } }[]>(
        'GET',
        '/api/approvals',
      );
      await cell.api('POST', `/api/approvals/${open?.request.approvalId}`, {
        decision: 'deny',
        digest: open?.request.digest,
      });
      await route.continue();
    },
    { times: 1 },
  );
  await card.getByRole('button', { name: 'Allow once' }).click();
  await expect(page.getByText(/already|answered|denied/i).first()).toBeVisible();
});

// R148: the whole command, however long, with the dangerous part last.
test('an approval hides nothing', async ({ page, cell }) => {
  const session = await sampleSession(cell, 'ask');
  const shown = `echo ${'safe '.repeat(400)}; rm -rf data`;
  const request = {
    v: 1,
    approvalId: 'apr_1',
    callId: 'call_1',
    digest: '0'.repeat(64),
    tool: 'bash',
    title: 'Run a long command',
    shown,
    shownKind: 'command',
    layer: 'approval',
    rule: 'bash',
    reason: 'Commands ask.',
  };
  await page.route('**/api/bootstrap', async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as object;
    const approvals = [
      { session, title: 'Long', run: 'run_1', seq: 1, at: new Date().toISOString(), request },
    ];
    await route.fulfill({ response, json: { ...body, approvals } });
  });
  await page.goto(cell.url);
  await page.getByRole('button', { name: /^Inbox/ }).click();
  const card = approval(page);
  const end = await card.locator('pre').evaluate((pre) => {
    const range = document.createRange();
    range.selectNodeContents(pre);
    const text = pre.getBoundingClientRect();
    const card = pre.closest('section')?.getBoundingClientRect();
    return {
      inside: !!card && text.bottom <= card.bottom,
      lines: range.getClientRects().length,
      text: pre.textContent,
    };
  });
  expect(end.text).toBe(shown);
  expect(end.inside).toBe(true);
  expect(end.lines).toBeGreaterThan(15);
  const last = card.getByRole('button', { name: 'Allow once' });
  await last.scrollIntoViewIfNeeded();
  await expect(last).toBeVisible();
  // Nothing is preset: no button has the focus, and Enter does nothing.
  await page.keyboard.press('Enter');
  await expect(card).toBeVisible();
});
