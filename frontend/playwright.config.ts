import { defineConfig } from '@playwright/test';

// The page in Chromium against the real binary. Every test has a data folder and a
// server of its own; nothing but loopback is used.
export default defineConfig({
  testDir: 'e2e',
  testIgnore: ['screenshots/**', 'bench/**'],
  outputDir: 'test-results',
  fullyParallel: true,
  workers: process.env.CI ? 1 : 2,
  timeout: 90_000,
  expect: { timeout: 15_000 },
  reporter: [['list']],
  forbidOnly: true,
  use: {
    viewport: { width: 1280, height: 800 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      // As root Chromium cannot use its own sandbox; the pages are our own.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    },
    trace: 'retain-on-failure',
  },
});
