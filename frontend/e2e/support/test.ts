import AxeBuilder from '@axe-core/playwright';
import { expect, test as base, type Page } from '@playwright/test';
import { Cell } from './cell';

export const task =
  'Make the data-cleaning script accept a region field, run the checks, and send me the result.';

interface Fixtures {
  cell: Cell;
  /** Lines of the page's console that are errors, and errors nobody caught. */
  complaints: string[];
}

export const test = base.extend<Fixtures>({
  // eslint-disable-next-line no-empty-pattern
  cell: async ({}, use) => {
    const cell = new Cell();
    await cell.start();
    await use(cell);
    await cell.close();
  },
  complaints: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      page.on('console', (m) => {
        // A server that was stopped on purpose is reported by the browser itself.
        if (m.type() === 'error' && !/net::ERR_|Failed to load resource/.test(m.text()))
          complaints.push(m.text());
      });
      page.on('pageerror', (e) => complaints.push(e.message));
      await use(complaints);
      expect(complaints, 'complaints of the page, e.g. of its content security policy').toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** Opens the page and takes the sample workspace. */
export async function openSample(page: Page, cell: Cell): Promise<void> {
  await page.goto(cell.url);
  await page.getByRole('button', { name: 'Use the sample' }).click();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'New session in data-cleaning' })).toBeVisible();
}

/** The sample workspace and a session in it, made by the API. */
export async function sampleSession(cell: Cell, mode = 'auto'): Promise<string> {
  const workspace = await cell.api<{ id: string }>('POST', '/api/workspaces', { sample: true });
  const session = await cell.api<{ id: string }>('POST', '/api/sessions', {
    workspace: workspace.id,
    mode,
    model: { provider: 'practice', name: 'sample' },
  });
  return session.id;
}

export async function send(cell: Cell, session: string, text = task): Promise<void> {
  await cell.api('POST', `/api/sessions/${session}/messages`, { text });
}

export async function openSession(page: Page, cell: Cell, session: string): Promise<void> {
  await page.goto(cell.url);
  await expect(page.getByRole('banner')).toBeVisible();
  await page.evaluate((id) => (location.hash = `#/session/${id}`), session);
  await expect(page.getByRole('textbox', { name: 'Message', exact: true })).toBeVisible();
}

/** R140: no violation on this screen. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const told = violations.map(
    (v) =>
      `${v.id}: ${v.help}\n${v.nodes.map((n) => `  ${n.target.join(' ')}\n    ${n.failureSummary ?? ''}`).join('\n')}`,
  );
  expect(told).toEqual([]);
}

export const approval = (page: Page) => page.getByRole('region', { name: /^Waits for you/ });

/** Allows everything that asks until `end` is visible. */
export async function allowUntil(page: Page, end: ReturnType<Page['getByText']>): Promise<void> {
  for (;;) {
    const card = page.locator('[data-approval]').first();
    await expect(card.or(end).first()).toBeVisible({ timeout: 45_000 });
    const id = await card.getAttribute('data-approval', { timeout: 100 }).catch(() => null);
    if (id === null) {
      if (await end.first().isVisible()) return;
      continue;
    }
    const one = page.locator(`[data-approval="${id}"]`);
    await one.getByRole('button', { name: 'Allow once' }).click();
    await expect(one).toHaveCount(0);
  }
}
