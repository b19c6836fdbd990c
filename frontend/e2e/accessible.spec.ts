import { expect, expectAccessible, openSession, sampleSession, send, test } from './support/test';

const themes = ['light', 'dark', 'contrast'] as const;

for (const theme of themes) {
  // R140: axe finds nothing on any screen, in any theme.
  test(`every screen is accessible in ${theme}`, async ({ page, cell }) => {
    test.setTimeout(420_000); // axe looks at thirteen screens
    await cell.api('PUT', '/api/settings', { ...(await cell.api<object>('GET', '/api/settings')), theme });
    await page.addInitScript((t) => localStorage.setItem('worksite.theme', t), theme);
    await page.goto(cell.url);
    await expect(page.getByRole('heading', { name: 'Welcome to Worksite' })).toBeVisible();
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
    await expectAccessible(page);

    const session = await sampleSession(cell, 'ask');
    await send(cell, session);
    await openSession(page, cell, session);
    await expect(page.getByRole('region', { name: /^Waits for you/ })).toBeVisible();
    await expectAccessible(page);

    await page.getByRole('button', { name: /^Inbox/ }).click();
    await expect(page.getByRole('heading', { name: 'Inbox' })).toBeVisible();
    await expectAccessible(page);

    await cell.api('PATCH', `/api/sessions/${session}`, { mode: 'auto' });
    for (;;) {
      const open = await cell.api<{ request: { approvalId: string; digest: string } }[]>(
        'GET',
        '/api/approvals',
      );
      if (open[0]) {
        const { approvalId, digest } = open[0].request;
        await cell
          .api('POST', `/api/approvals/${approvalId}`, { decision: 'grant', digest })
          .catch(() => undefined);
      }
      const view = await cell.api<{ run?: { state: string } }>('GET', `/api/sessions/${session}`);
      if (view.run?.state === 'done') break;
    }
    await page.evaluate((id) => (location.hash = `#/session/${id}`), session);
    await expect(page.getByText('The script now accepts a region field.')).toBeVisible();
    await expect(page.getByText(/hunks reviewed/)).toBeVisible();
    await expectAccessible(page);

    // A failed call, opened down to its events.
    await page.evaluate(() => document.querySelector('.viewport')?.scrollTo(0, 900));
    await page
      .getByRole('button', { name: /exit 1/ })
      .first()
      .scrollIntoViewIfNeeded();
    await page
      .getByRole('button', { name: /^Show \d+ events/ })
      .first()
      .click();
    await expectAccessible(page);

    await page.getByRole('tab', { name: 'Run' }).click();
    await expectAccessible(page);
    await page.getByRole('tab', { name: 'Artifacts' }).click();
    await page
      .getByRole('tabpanel')
      .getByRole('button', { name: /report\.md/ })
      .click();
    await expect(page.getByText('Produced', { exact: true })).toBeVisible();
    await expectAccessible(page);

    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Shift+R');
    await expect(page.getByRole('navigation', { name: 'Files' })).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press('x');
    await expectAccessible(page);

    for (const place of ['settings', 'doctor', 'artifacts']) {
      await page.evaluate((p) => (location.hash = `#/${p}`), place);
      await expect(page.getByRole('heading', { level: 1 }).first()).toBeVisible();
      await expectAccessible(page);
    }
    await page.keyboard.press('Control+K');
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
  });
}

test('it works 800 px wide and at 200 % zoom', async ({ browser, cell }) => {
  const session = await sampleSession(cell, 'ask');
  await send(cell, session);
  for (const viewport of [
    { width: 800, height: 700 },
    { width: 640, height: 400 }, // 1280×800 at 200 %
  ]) {
    const page = await (await browser.newContext({ viewport, deviceScaleFactor: 2 })).newPage();
    await openSession(page, cell, session);
    const card = page.getByRole('region', { name: /^Waits for you/ });
    await expect(card).toBeVisible();
    await card.getByRole('button', { name: 'Allow once' }).scrollIntoViewIfNeeded();
    await expect(card.getByRole('button', { name: 'Allow once' })).toBeInViewport();
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+J');
    await expect(page.getByRole('complementary', { name: 'Side pane' })).toBeInViewport();
    await page.keyboard.press('Escape');
    await expect(page.getByRole('complementary', { name: 'Side pane' })).toBeHidden();
    await page.close();
  }
});
