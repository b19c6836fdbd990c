import { describe, expect, it } from 'vitest';
import { highlight, languageOf } from './highlight';
import { parseUnified } from './unified';
import { pairLines, wordChanges } from './words';

const changed = (spans: { text: string; changed: boolean }[] | undefined) =>
  spans?.filter((s) => s.changed).map((s) => s.text);

describe('wordChanges', () => {
  it('marks the words that differ on either side', () => {
    const w = wordChanges('def parse_row(row):', 'def parse_row(row, region=None):');
    expect(changed(w?.before)).toEqual([]);
    expect(changed(w?.after)).toEqual([', region=None']);
  });
  it('marks a word in the middle, whole', () => {
    const w = wordChanges('return clean(old_value, 3)', 'return clean(new_value, 3)');
    expect(changed(w?.before)).toEqual(['old_value']);
    expect(changed(w?.after)).toEqual(['new_value']);
  });
  it('keeps every letter of both lines', () => {
    const [a, b] = ['für (größe = 10) {', 'für (maß = 12; größe) {'];
    const w = wordChanges(a, b);
    expect(w?.before.map((s) => s.text).join('')).toBe(a);
    expect(w?.after.map((s) => s.text).join('')).toBe(b);
  });
  it('marks nothing where the lines have little in common', () => {
    expect(wordChanges('import csv', 'x = compute_everything(42)')).toBeNull();
    expect(wordChanges('', 'x')).toBeNull();
  });
  it('does not try on lines as long as a book', () => {
    expect(wordChanges('a '.repeat(500), 'b '.repeat(500))).toBeNull();
  });
});

describe('pairLines', () => {
  it('pairs removed with added lines in order', () => {
    expect([...pairLines([' ', '-', '-', '+', ' ', '+'])]).toEqual([
      [1, 3],
      [3, 1],
    ]);
  });
});

describe('parseUnified', () => {
  // R148: nothing of what is approved may be left out.
  it('keeps every line', () => {
    const text = [
      'diff --git a/x b/x',
      '--- a/x',
      '+++ b/x',
      '@@ -1,3 +1,2 @@ def f',
      ' same',
      '--- removed line that begins with two dashes',
      '-old',
      '+new',
      '\\ No newline at end of file',
    ].join('\n');
    const lines = parseUnified(text);
    expect(lines).toHaveLength(9);
    expect(lines.map((l) => l.op)).toEqual(['file', 'file', 'file', '@', ' ', '-', '-', '+', ' ']);
    expect(lines[5]?.text).toBe('-- removed line that begins with two dashes');
  });
  it('reads a second file after the first', () => {
    const lines = parseUnified(
      '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n',
    );
    expect(lines.map((l) => l.op).join('|')).toBe('file|file|@|-|+|file|file|@|-|+');
  });
});

describe('highlight', () => {
  const roles = (line: string, lang: string) =>
    highlight(line, lang)
      .filter((p) => p.role !== 'plain')
      .map((p) => `${p.role}:${p.text}`);

  it('tells words, strings, numbers and comments apart', () => {
    expect(roles('x = call("a # b", 12)  # note', 'py')).toEqual([
      'name:call',
      'string:"a # b"',
      'number:12',
      'comment:# note',
    ]);
    expect(roles('func main() { /* c */ return nil } // d', 'go')).toEqual([
      'keyword:func',
      'name:main',
      'comment:/* c */',
      'keyword:return',
      'keyword:nil',
      'comment:// d',
    ]);
  });
  it.each(['def f(x): return "unended', "it's fine", '`a${b}`', '\\', '"\\', '/* open', 'ünïcode = 1'])(
    'keeps every letter of %s',
    (line) => {
      for (const lang of ['py', 'ts', 'go', 'sql', 'sh', null]) {
        expect(
          highlight(line, lang)
            .map((p) => p.text)
            .join(''),
        ).toBe(line);
      }
    },
  );
  it('knows languages by name and by ending', () => {
    expect(languageOf('src/a.test.ts')).toBe('ts');
    expect(languageOf('Makefile')).toBe('makefile');
    expect(languageOf('notes.txt')).toBeNull();
    expect(languageOf('')).toBeNull();
  });
});
