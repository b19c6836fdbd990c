import { describe, expect, it } from 'vitest';
import type { FileChange } from '../../api/types.gen';
import { diffRows, lineSpans } from './lines';

const file: FileChange = {
  path: 'a.py',
  status: 'modified',
  added: 2,
  removed: 1,
  pre: '1',
  post: '2',
  byYou: false,
  hunks: [
    {
      id: 'h1',
      oldStart: 10,
      oldLines: 3,
      newStart: 12,
      newLines: 4,
      lines: [
        { op: ' ', text: 'same' },
        { op: '-', text: 'old' },
        { op: '+', text: 'new' },
        { op: '+', text: 'more' },
        { op: ' ', text: 'end' },
      ],
    },
  ],
};

describe('diffRows', () => {
  it('numbers both sides', () => {
    const rows = diffRows([file], new Set(), false).filter((r) => r.type === 'line');
    expect(rows.map((r) => [r.old, r.new])).toEqual([
      [10, 12],
      [11, 0],
      [0, 13],
      [0, 14],
      [12, 15],
    ]);
    expect(rows.map((r) => r.partner)).toEqual([null, 'new', 'old', null, null]);
  });

  it('puts the sides beside each other', () => {
    const rows = diffRows([file], new Set(), true).filter((r) => r.type === 'pair');
    expect(rows.map((r) => [r.left?.text ?? '', r.right?.text ?? ''])).toEqual([
      ['same', 'same'],
      ['old', 'new'],
      ['', 'more'],
      ['end', 'end'],
    ]);
    expect(rows.map((r) => [r.left?.number ?? 0, r.right?.number ?? 0])).toEqual([
      [10, 12],
      [11, 13],
      [0, 14],
      [12, 15],
    ]);
  });

  it('folds a file to its heading, and says why a file has no lines', () => {
    const binary = { ...file, path: 'b.png', binary: true, hunks: [] };
    const rows = diffRows([file, binary], new Set(['a.py']), false);
    expect(rows.map((r) => r.type)).toEqual(['file', 'file', 'remark']);
    expect(new Set(rows.map((r) => r.key)).size).toBe(rows.length);
  });
});

it('marks words on the side that is asked for', () => {
  expect(lineSpans('-', 'a = old_name(1)', 'a = new_name(1)')?.find((s) => s.changed)?.text).toBe('old_name');
  expect(lineSpans('+', 'a = new_name(1)', 'a = old_name(1)')?.find((s) => s.changed)?.text).toBe('new_name');
  expect(lineSpans('+', 'a', null)).toBeNull();
});
