import base from '../../playwright.config';
import { defineConfig } from '@playwright/test';

// `make screenshots`: pictures of every stage of the sample job for the README.
export default defineConfig({
  ...base,
  testDir: '.',
  testIgnore: [],
  outputDir: '../../test-results',
  timeout: 180_000,
});
