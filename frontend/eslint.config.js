import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

// Who may import whom (see ../docs): arrows only point down.
const layer = (message, ...patterns) => ['error', { patterns: [{ group: patterns, message }] }];

export default ts.config(
  { ignores: ['dist/', 'node_modules/', 'test-results/', 'playwright-report/', 'src/lib/api/types.gen.ts'] },
  js.configs.recommended,
  ...ts.configs.recommendedTypeChecked,
  ...svelte.configs.recommended,
  {
    languageOptions: {
      globals: globals.browser,
      parserOptions: {
        project: ['./tsconfig.json', './tsconfig.node.json'],
        tsconfigRootDir: import.meta.dirname,
        extraFileExtensions: ['.svelte'],
      },
    },
    rules: {
      // The compiler of TypeScript and Svelte finds these, and better.
      'no-undef': 'off',
      'no-unused-vars': 'off',
      '@typescript-eslint/no-unused-vars': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': ['error', { allow: ['warn', 'error'] }],
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
    rules: {
      'svelte/no-at-html-tags': 'error',
      'svelte/require-each-key': 'error',
      'svelte/button-has-type': 'error',
      'svelte/no-target-blank': 'error',
      // Maps and dates here are values that are replaced, never changed in place.
      'svelte/prefer-svelte-reactivity': 'off',
    },
  },
  {
    files: ['**/*.svelte'],
    // ESLint cannot resolve the types of other components; svelte-check does and is as strict.
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    files: ['src/lib/ui/**'],
    rules: {
      'no-restricted-imports': layer(
        'ui knows no feature and no text',
        '**/features/**',
        '**/i18n',
        '**/i18n/*',
      ),
    },
  },
  {
    files: ['src/lib/api/**'],
    rules: {
      'no-restricted-imports': layer(
        'api is the ground',
        '**/state/**',
        '**/ui/**',
        '**/features/**',
        '**/i18n/**',
      ),
    },
  },
  {
    files: ['src/lib/state/**', 'src/lib/commands/**'],
    rules: { 'no-restricted-imports': layer('state knows no screen', '**/ui/**', '**/features/**') },
  },
  {
    files: ['src/lib/features/*/**'],
    rules: {
      'no-restricted-imports': layer(
        'features do not know each other; the page joins them',
        '../../features/**',
        '../[a-z]*/*',
        '!../../**',
      ),
    },
  },
  {
    files: ['**/*.test.ts', 'e2e/**', '*.config.ts', '*.config.js'],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
    rules: { '@typescript-eslint/unbound-method': 'off' },
  },
  { files: ['*.js'], extends: [ts.configs.disableTypeChecked] },
);
