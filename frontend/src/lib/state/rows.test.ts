import { describe, expect, it } from 'vitest';
import { Script } from '../testing/events';
import { emptyFold, reduceAll } from './fold';
import { objectOf, rowsOf, type Row } from './rows';

function shapes(rows: Row[]): string[] {
  return rows.map((r) =>
    r.type === 'item' ? r.item.type : r.type === 'group' ? `${r.family}×${r.calls.length}` : r.call.name,
  );
}

describe('rowsOf', () => {
  it('folds looking, keeps the rest, and opens on request', () => {
    const s = new Script();
    s.message('go');
    s.call('c1', 'read', { path: 'a.py' });
    s.call('c2', 'grep', { pattern: 'x' });
    s.call('c3', 'edit', { path: 'a.py' });
    s.call('c4', 'read', { path: 'b.py' });
    const fold = reduceAll(emptyFold, s.events);
    expect(shapes(rowsOf(fold, () => false))).toEqual(['user', 'look×2', 'edit', 'read']);
    const open = rowsOf(fold, (key) => key === 'group:c1');
    expect(shapes(open)).toEqual(['user', 'look×2', 'read', 'grep', 'edit', 'read']);
    expect(new Set(open.map((r) => r.key)).size).toBe(open.length);
  });

  it('never hides what failed', () => {
    const s = new Script();
    for (let i = 0; i < 5; i++)
      s.call(`ok${i}`, 'bash', { command: 'true' }, { output: { text: '', exitCode: 0 } });
    s.call('bad', 'bash', { command: 'false' }, { output: { text: '', exitCode: 1 } });
    s.call('slow', 'bash', { command: 'sleep' }, { output: { text: '', timedOut: true } });
    expect(shapes(rowsOf(reduceAll(emptyFold, s.events), () => false))).toEqual(['run×5', 'bash', 'bash']);
  });

  it('goes over answers without words when it folds', () => {
    const s = new Script();
    s.call('c1', 'read', { path: 'a' });
    s.answer('');
    s.call('c2', 'read', { path: 'b' });
    s.answer('Both are read.');
    expect(shapes(rowsOf(reduceAll(emptyFold, s.events), () => false))).toEqual(['look×2', 'answer']);
  });
});

describe('objectOf', () => {
  it('names what a call is about', () => {
    const s = new Script();
    s.call('c1', 'bash', { command: 'make test' });
    s.call('c2', 'read', { file_path: 'x/y' });
    s.add('tool_call.requested', { callId: 'c3', name: 'read', input: '{"path": "cut' });
    const { calls } = reduceAll(emptyFold, s.events);
    expect([...calls.values()].map(objectOf)).toEqual(['make test', 'x/y', '']);
  });
});
