import { expect, type Page } from '@playwright/test';
import { openSession, sampleSession, test } from './support/test';

const hostile = [
  '<img src=x onerror="window.pwned=1">',
  '<script>window.pwned=1</script>',
  '[a](javascript:window.pwned=1) [b](JaVaScRiPt:window.pwned=1) [c](data:text/html,<script>1</script>)',
  '<a href="javascript:window.pwned=1">x</a>',
  '![leak](http://127.0.0.1:9/leak.png?x=1)',
  '<svg><script>window.pwned=1</script></svg>',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>',
  '[ok](https://example.org/a?b=c)',
  '<iframe src="https://example.org"></iframe><style>*{display:none}</style>',
  '`<b>code</b>`\n\n```html\n<script>window.pwned=1</script>\n```',
].join('\n\n');

async function plant(page: Page, text: string): Promise<void> {
  // The model's words arrive as an event like any other.
  await page.route('**/events?*', async (route) => {
    const response = await route.fetch();
    const events = (await response.json()) as Record<string, unknown>[];
    const last = events.at(-1) as { seq: number; pos: number; id: string };
    events.push({
      ...last,
      seq: last.seq + 1,
      id: 'planted',
      parent: last.id,
      kind: 'message.completed',
      payload: {
        v: 1,
        messageId: 'msg_planted',
        text,
        model: { provider: 'openai', name: 'm' },
        finish: 'stop',
        usage: { inputTokens: 1, outputTokens: 1 },
      },
    });
    await route.fulfill({ response, json: events });
  });
}

// R149, R150: what a model writes runs nothing, loads nothing and leaves only when asked.
test('hostile Markdown stays text', async ({ page, cell }) => {
  const outside: string[] = [];
  page.on('request', (r) => {
    if (!r.url().startsWith(new URL(cell.url).origin)) outside.push(r.url());
  });
  const session = await sampleSession(cell);
  await plant(page, hostile);
  await openSession(page, cell, session);
  const answer = page.locator('article.answer').last();
  await expect(answer.getByRole('link', { name: 'ok' })).toBeVisible();
  await expect(answer.getByText('Image not loaded: leak')).toBeVisible();
  await expect(answer.getByText('<img src=x onerror="window.pwned=1">')).toBeVisible();
  expect(await answer.locator('img, script, iframe, style, svg, form, math').count()).toBe(0);
  expect(await answer.locator('a').evaluateAll((links) => links.map((a) => a.getAttribute('href')))).toEqual([
    'https://example.org/a?b=c',
  ]);

  await answer.getByRole('link', { name: 'ok' }).click();
  const dialog = page.getByRole('dialog', { name: 'Open this link in your browser?' });
  await expect(dialog).toContainText('https://example.org/a?b=c');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await page.evaluate(() => (window as unknown as { pwned?: number }).pwned)).toBeUndefined();
  expect(outside).toEqual([]);
});

// The page needs no inline style or script at all.
test('the page never meets its own policy', async ({ page, cell }) => {
  const refused: string[] = [];
  page.on('console', (m) => {
    if (m.text().includes('Content Security Policy')) refused.push(m.text());
  });
  await openSession(page, cell, await sampleSession(cell));
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+K');
  await expect(page.getByRole('dialog')).toBeVisible();
  expect(refused).toEqual([]);
});
