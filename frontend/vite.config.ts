import { svelte } from '@sveltejs/vite-plugin-svelte';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The API during `npm run dev`: the address of a running `worksite serve`.
const api = process.env.WORKSITE_API ?? 'http://127.0.0.1:4180';

export default defineConfig({
  plugins: [svelte()],
  base: '/',
  resolve: {
    alias: { $lib: fileURLToPath(new URL('./src/lib', import.meta.url)) },
    // Without it the tests would get Svelte's server half.
    ...(process.env.VITEST ? { conditions: ['browser'] } : {}),
  },
  build: {
    target: 'es2022',
    // dist holds a placeholder that go:embed needs; the build replaces the rest.
    emptyOutDir: true,
    // A data: URL would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': api } },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.ts'],
  },
});
