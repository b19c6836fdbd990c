import type { CDPSession, Page } from '@playwright/test';
import { expect, sampleSession, test } from '../support/test';

interface Felt {
  /** Frames a second, and the longest wait for one in ms. */
  fps: number;
  worst: number;
  /** How much of the time the page's own thread worked, in percent: says more than frames on a busy machine. */
  busy: number;
}

const clients = new WeakMap<Page, CDPSession>();

async function worked(page: Page): Promise<{ task: number; at: number }> {
  let client = clients.get(page);
  if (!client) {
    client = await page.context().newCDPSession(page);
    await client.send('Performance.enable');
    clients.set(page, client);
  }
  const { metrics } = await client.send('Performance.getMetrics');
  const of = (name: string) => metrics.find((m) => m.name === name)?.value ?? 0;
  return { task: of('TaskDuration'), at: of('Timestamp') };
}

/** What is felt while `work` runs in the page. */
async function frames(page: Page, work: () => Promise<void>): Promise<Felt> {
  const before = await worked(page);
  await page.evaluate(() => {
    const times: number[] = [];
    const w = window as unknown as { frameTimes: number[]; frameStop: boolean };
    w.frameTimes = times;
    w.frameStop = false;
    const tick = (t: number) => {
      times.push(t);
      if (!w.frameStop) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await work();
  const after = await worked(page);
  const times = await page.evaluate(() => {
    const w = window as unknown as { frameTimes: number[]; frameStop: boolean };
    w.frameStop = true;
    return w.frameTimes;
  });
  const gaps = times.slice(1).map((t, i) => t - (times[i] ?? t));
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  return {
    fps: Math.round((gaps.length * 1000) / span),
    worst: Math.round(Math.max(...gaps)),
    busy: Math.round((100 * (after.task - before.task)) / (after.at - before.at)),
  };
}

function figure(name: string, value: string): void {
  console.warn(`${name.padEnd(58)} ${value}`);
}

const felt = (f: Felt) => `${f.fps} fps, worst frame ${f.worst} ms, thread ${f.busy} % busy`;

async function heap(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  return Math.round(usedSize / 1e6);
}

// R157
test('a session of 100,000 events', async ({ page, cell }) => {
  await cell.stop();
  const session = cell.seed(100_000);
  await cell.start();
  await page.goto(cell.url);
  await expect(page.getByRole('banner')).toBeVisible();

  const opened: number[] = [];
  for (let i = 0; i < 5; i++) {
    await page.evaluate(() => (location.hash = '#/doctor'));
    await expect(page.getByRole('heading', { name: 'Doctor' })).toBeVisible();
    await page.reload();
    await expect(page.getByRole('heading', { name: 'Doctor' })).toBeVisible();
    opened.push(
      await page.evaluate(async (id) => {
        const begun = performance.now();
        location.hash = `#/session/${id}`;
        while (!document.querySelector('article.answer')) await new Promise(requestAnimationFrame);
        return performance.now() - begun;
      }, session),
    );
  }
  opened.sort((a, b) => a - b);
  figure('opens (median of 5, target 300 ms)', `${Math.round(opened[2] ?? 0)} ms`);

  await page.getByRole('region', { name: 'Conversation', exact: true }).hover();
  const scrolled = await frames(page, async () => {
    for (let i = 0; i < 150; i++) {
      await page.mouse.wheel(0, -900);
      await page.waitForTimeout(16);
    }
  });
  figure('scrolls back (target 60 fps)', felt(scrolled));
  figure('heap of the page (target 300 MB)', `${await heap(page)} MB`);
});

test('2,000 events a second arrive while the person types', async ({ page, cell }) => {
  const seeding = cell.seeding(20_000, 2_000);
  const session = await seeding.session;
  await page.goto(cell.url);
  await expect(page.getByRole('banner')).toBeVisible();
  await page.evaluate((id) => (location.hash = `#/session/${id}`), session);
  const field = page.getByRole('textbox', { name: 'Message', exact: true });
  await expect(page.locator('article.answer').first()).toBeVisible();
  await field.focus();
  await page.evaluate(() => {
    const w = window as unknown as { delays: number[] };
    w.delays = [];
    document.addEventListener(
      'input',
      (e) => requestAnimationFrame(() => setTimeout(() => w.delays.push(performance.now() - e.timeStamp))),
      true,
    );
  });
  const seen = await frames(page, async () => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('x');
      await page.waitForTimeout(60);
    }
  });
  const delays = await page.evaluate(() => (window as unknown as { delays: number[] }).delays);
  await seeding.done;
  delays.sort((a, b) => a - b);
  figure('2,000 events a second (target 60 fps)', felt(seen));
  figure(
    'a key shows meanwhile (median, worst of 60)',
    `${Math.round(delays[delays.length >> 1] ?? 0)} ms, ${Math.round(delays.at(-1) ?? 0)} ms`,
  );
  await expect(page.getByText('Done', { exact: true }).first()).toBeVisible();
});

test('a change of 100,000 lines', async ({ page, cell }) => {
  const session = await sampleSession(cell);
  const lines = (n: number, from: number) =>
    Array.from({ length: n }, (_, i) => ({
      op: i % 3 === 0 ? '-' : i % 3 === 1 ? '+' : ' ',
      text: `    value_${from + i} = compute(${i % 3 === 0 ? 'old' : 'new'}_name, "text ${i}")  # line ${from + i}`,
    }));
  await page.route(`**/api/sessions/${session}/changes`, (route) =>
    route.fulfill({
      json: {
        session,
        based: true,
        accepted: 0,
        rejected: 0,
        hunks: 1_000,
        message: '',
        files: Array.from({ length: 100 }, (_, f) => ({
          path: `src/part${f}.py`,
          status: 'modified',
          added: 333,
          removed: 333,
          pre: '1',
          post: '2',
          byYou: false,
          hunks: Array.from({ length: 10 }, (_, h) => ({
            id: `h${f}-${h}`,
            oldStart: h * 100 + 1,
            oldLines: 66,
            newStart: h * 100 + 1,
            newLines: 66,
            section: `def part_${h}`,
            lines: lines(100, h * 100),
          })),
        })),
      },
    }),
  );
  await page.goto(cell.url);
  await expect(page.getByRole('banner')).toBeVisible();
  await page.evaluate((id) => (location.hash = `#/session/${id}/review`), session);
  await expect(page.getByText('0 of 1,000 hunks reviewed')).toBeVisible();
  await page.getByRole('region', { name: 'Changed lines' }).hover();
  const scrolled = await frames(page, async () => {
    for (let i = 0; i < 150; i++) {
      await page.mouse.wheel(0, 1_200);
      await page.waitForTimeout(16);
    }
  });
  figure('100,000 changed lines scroll (target 60 fps)', felt(scrolled));
  figure('heap of the page with them', `${await heap(page)} MB`);
});
