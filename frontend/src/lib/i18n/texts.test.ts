/// <reference types="node" />
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'svelte/compiler';
import { describe, expect, it } from 'vitest';
import * as format from './format';
import { en } from './en';

const root = join(process.cwd(), 'src');
const components = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((f) =>
  f.endsWith('.svelte'),
);

/** Texts and readable attributes that stand in the markup itself. */
function literals(source: string): string[] {
  const found: string[] = [];
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(walk);
    if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
    const n = node as Record<string, unknown>;
    if (n.type === 'Text' && typeof n.data === 'string') found.push(n.data);
    if (n.type === 'StyleDirective') return;
    if (n.type === 'Attribute') {
      if (!['title', 'alt', 'placeholder', 'aria-label', 'label'].includes(String(n.name))) return;
    }
    for (const value of Object.values(n)) if (typeof value === 'object') walk(value);
  };
  walk(parse(source, { modern: true }).fragment);
  return found.filter((text) => /\p{L}{2}/u.test(text));
}

describe('texts', () => {
  it.each(components)('%s holds none', (file) => {
    expect(literals(readFileSync(join(root, file), 'utf8'))).toEqual([]);
  });

  it('are calm', () => {
    const all: string[] = [];
    const walk = (value: unknown): void => {
      if (typeof value === 'string') all.push(value);
      else if (typeof value === 'object' && value !== null) Object.values(value).forEach(walk);
      else if (typeof value === 'function') all.push(String(value));
    };
    walk(en);
    const text = all.join('\n');
    expect(all.length).toBeGreaterThan(300);
    expect(text).not.toMatch(/oops|something went wrong|please\b|sorry/i);
    expect(all.filter((s) => /\w!/.test(s) && !s.includes('=>'))).toEqual([]);
  });
});

describe('format', () => {
  const now = Date.parse('2026-01-02T12:00:00Z');
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_830, '1.8 s'],
    [247_000, '4:07'],
    [3_723_000, '1:02:03'],
  ])('%d ms took %s', (ms, text) => expect(format.took(ms)).toBe(text));
  it.each([
    ['2026-01-02T11:59:40Z', 'now'],
    ['2026-01-02T11:56:00Z', '4 min'],
    ['2025-11-03T10:00:00Z', '3 Nov'],
    ['', ''],
  ])('%j is %j', (at, text) => expect(format.relative(at, now)).toBe(text));
  it.each([
    [512, '512 B'],
    [1_500, '1.5 kB'],
    [48_211, '48 kB'],
    [5_200_000_000, '5.2 GB'],
  ])('%d bytes are %s', (n, text) => expect(format.bytes(n)).toBe(text));
  it('counts', () => {
    expect(format.plural(1, 'file', 'files')).toBe('1 file');
    expect(format.plural(1204, 'file', 'files')).toBe('1,204 files');
    expect(format.short(1_240)).toBe('1.2k');
  });
});
