/// <reference types="node" />
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const css = readFileSync(join(process.cwd(), 'src/lib/styles/tokens.css'), 'utf8');

function theme(selector: string): Map<string, string> {
  const body = css.slice(css.indexOf(selector) + selector.length).split('}')[0] ?? '';
  return new Map([...body.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6});/g)].map((m) => [m[1] ?? '', m[2] ?? '']));
}

function luminance(hex: string): number {
  const part = (i: number) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

const states = ['working', 'waits', 'done', 'failed', 'unknown', 'stopped'];
const surfaces = ['surface', 'sunken', 'raised', 'hover', 'press'];
const syntax = ['comment', 'keyword', 'string', 'number', 'name'].map((r) => `syntax-${r}`);

/** Every pair that is drawn, with the least contrast it may have. */
const pairs: [string, string, number][] = [
  ...surfaces.flatMap((s): [string, string, number][] => [
    ['text', s, 4.5],
    ['muted', s, 4.5],
    ['faint', s, s === 'press' ? 4 : 4.5],
    ['focus', s, 3],
  ]),
  ...['surface', 'sunken', 'raised'].flatMap((s): [string, string, number][] => [
    ['accent', s, 4.5],
    ['line-strong', s, 3],
    ...states.map((state): [string, string, number] => [state, s, 4.5]),
    ...syntax.map((role): [string, string, number] => [role, s, 4.5]),
  ]),
  ...states.flatMap((s): [string, string, number][] => [
    [s, `${s}-bg`, 4.5],
    ['text', `${s}-bg`, 4.5],
  ]),
  ...['add', 'remove'].flatMap((d): [string, string, number][] => [
    ['diff-text', `${d}-bg`, 4.5],
    ['diff-text', `${d}-word`, 4.5],
    [`${d}-fg`, `${d}-bg`, 4.5],
    [`${d}-fg`, 'surface', 4.5],
    ...syntax.map((role): [string, string, number] => [role, `${d}-bg`, 4.5]),
  ]),
  ['on-accent', 'accent', 4.5],
  ['waits-mark', 'waits-bg', 2.5],
  ['waits-mark', 'surface', 3],
  ['accent', 'accent-bg', 4.5],
];

describe.each([
  ['light', ':root {'],
  ['dark', ":root[data-theme='dark'] {"],
  ['contrast', ":root[data-theme='contrast'] {"],
])('the %s theme', (_, selector) => {
  const colours = theme(selector);
  it.each(pairs)('%s on %s is at least %d : 1', (fg, bg, least) => {
    const [a, b] = [colours.get(fg), colours.get(bg)];
    expect(a, fg).toBeDefined();
    expect(b, bg).toBeDefined();
    expect(contrast(a ?? '', b ?? '')).toBeGreaterThanOrEqual(least);
  });
});

it('the high contrast theme has at least 7 : 1 for all text', () => {
  const colours = theme(":root[data-theme='contrast'] {");
  for (const role of ['text', 'muted', 'faint', ...states]) {
    expect(contrast(colours.get(role) ?? '', colours.get('surface') ?? ''), role).toBeGreaterThanOrEqual(7);
  }
});

it('no component writes a colour or a style attribute', () => {
  const root = join(process.cwd(), 'src');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.svelte'));
  expect(files.length).toBeGreaterThan(30);
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    expect(text, file).not.toMatch(/#[0-9a-fA-F]{3,8}\b(?=[;\s])|rgba?\(|hsla?\(/);
    expect(text, file).not.toMatch(/\sstyle="/); // the content security policy forbids it
  }
});
