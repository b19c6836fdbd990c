import base from '../../playwright.config';
import { defineConfig } from '@playwright/test';

// `npm run bench`: how fast the page feels, measured in Chromium on this machine.
export default defineConfig({
  ...base,
  testDir: '.',
  testIgnore: [],
  outputDir: '../../test-results',
  workers: 1,
  timeout: 300_000,
  use: { ...base.use, trace: 'off' }, // taking snapshots would be measured with it
});
