/// <reference types="node" />
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Event, Kind } from '../api/types.gen';
import { Script } from '../testing/events';
import { emptyFold, onPath, reduce, reduceAll } from './fold';

const golden = join(process.cwd(), '../backend/domain/testdata/events');

describe('the golden events of the backend', () => {
  const files = readdirSync(golden).filter((f) => f.endsWith('.json'));

  it('are there', () => expect(files.length).toBeGreaterThan(40));

  it.each(files)('%s is taken in, and nothing else is changed by it', (file) => {
    const payload: unknown = JSON.parse(readFileSync(join(golden, file), 'utf8'));
    const s = new Script();
    s.message('hello');
    s.add(file.replace('.json', '') as Kind, payload as never);
    const before = reduceAll(emptyFold, s.events.slice(0, 1));
    const frozen = JSON.stringify(before);
    const after = reduceAll(before, s.events);
    expect(after.lastSeq).toBe(2);
    expect(JSON.stringify(before)).toBe(frozen);
  });
});

describe('reduce', () => {
  it('gives the same state event by event as in one go', () => {
    const s = new Script();
    s.message('do it');
    s.answer('I will.');
    s.call('c1', 'read', { path: 'a' });
    s.call('c2', 'bash', { command: 'make' }, { output: { text: 'no', exitCode: 2 } });
    const stepwise = s.events.reduce(reduce, emptyFold);
    expect(stepwise).toEqual(reduceAll(emptyFold, s.events));
  });

  // R121: a repeated event changes nothing.
  it('ignores events it has', () => {
    const s = new Script();
    s.message('one');
    const once = reduceAll(emptyFold, s.events);
    expect(reduceAll(once, s.events)).toBe(once);
  });

  it('replaces the pending answer in its place', () => {
    const s = new Script();
    s.message('q');
    s.add('model_call.started', {
      messageId: 'a1',
      model: { provider: 'ollama', name: 'm' },
      messages: 1,
      tools: 0,
      contextTokens: 100,
      contextLimit: 1000,
      lastSeq: 1,
    });
    const pending = reduceAll(emptyFold, s.events);
    expect(pending.items.at(-1)).toMatchObject({ type: 'answer', state: 'pending' });
    expect(pending.context).toEqual({ used: 100, limit: 1000 });
    s.answer('done', 'a1');
    const done = reduceAll(pending, s.events);
    expect(done.items.filter((i) => i.type === 'answer')).toHaveLength(1);
    expect(done.items.at(-1)).toMatchObject({ state: 'done', text: 'done', key: 'a1' });
  });

  it('shows no pending answer after the run ended', () => {
    const s = new Script();
    s.message('q');
    s.add('model_call.started', {
      messageId: 'a1',
      model: { provider: 'ollama', name: 'm' },
      messages: 1,
      tools: 0,
      contextTokens: 1,
      contextLimit: 2,
      lastSeq: 1,
    });
    s.add('run.finished', { outcome: 'cancelled', steps: 0, usage: { inputTokens: 0, outputTokens: 0 } });
    const items = reduceAll(emptyFold, s.events).items;
    expect(items.map((i) => i.type)).toEqual(['user', 'ending']);
  });

  it('follows a call from request to a lost answer and the decision about it', () => {
    const s = new Script();
    s.request('c1', 'bash', { command: 'deploy' });
    const state = () => reduceAll(emptyFold, s.events).calls.get('c1')?.state;
    expect(state()).toBe('requested');
    s.add('tool_call.executing', { callId: 'c1', attempt: 1, where: 'sandbox' });
    expect(state()).toBe('executing');
    s.add('tool_call.unknown', { callId: 'c1', attempt: 1, known: 'it had begun' });
    expect(state()).toBe('unknown');
    s.add('tool_call.resolved', { callId: 'c1', resolution: 'done', note: 'I looked' });
    expect(state()).toBe('done');
    expect(reduceAll(emptyFold, s.events).calls.get('c1')?.seqs).toEqual([1, 2, 3, 4]);
  });

  it('keeps the words of a person who denied', () => {
    const s = new Script();
    s.request('c1', 'bash', { command: 'x' });
    s.add('approval.requested', {
      approvalId: 'a1',
      callId: 'c1',
      digest: 'd',
      tool: 'bash',
      title: 'Run x',
      shown: 'x',
      shownKind: 'command',
      layer: 'approval',
      rule: 'mode.ask',
      reason: 'asks',
    });
    expect(reduceAll(emptyFold, s.events).calls.get('c1')?.state).toBe('waits');
    s.add('approval.denied', { approvalId: 'a1', callId: 'c1', by: 'you', note: 'use the other one' });
    s.add('tool_call.refused', { callId: 'c1', layer: 'approval', rule: 'person', reason: 'denied' });
    const fold = reduceAll(emptyFold, s.events);
    expect(fold.calls.get('c1')).toMatchObject({ state: 'refused', message: 'use the other one' });
    expect(fold.approvals.get('a1')).toMatchObject({ state: 'denied', by: 'you' });
  });

  // R159: the queue is what was queued and neither taken nor taken back.
  it('keeps the queue', () => {
    const s = new Script();
    s.add('message.queued', { messageId: 'q1', text: 'first', steer: true });
    s.add('message.queued', { messageId: 'q2', text: 'second' });
    s.add('message.queued', { messageId: 'q3', text: 'third' });
    s.add('message.unqueued', { messageId: 'q2' });
    s.add('message.sent', { messageId: 'q1', text: 'first', fromQueue: true });
    expect(reduceAll(emptyFold, s.events).queue.map((q) => q.id)).toEqual(['q3']);
  });

  it('folds settings that are turned to and fro into one note', () => {
    const s = new Script();
    s.message('x');
    s.add('mode.changed', { mode: 'auto' });
    s.add('mode.changed', { mode: 'ask' });
    s.add('mode.changed', { mode: 'edits' });
    const notes = reduceAll(emptyFold, s.events).items.filter((i) => i.type === 'note');
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatchObject({ note: { what: 'mode', mode: 'edits' } });
  });

  it('takes a kind it does not know as an event without a row', () => {
    const s = new Script();
    s.message('x');
    s.add('weather.changed' as Kind, {});
    const fold = reduceAll(emptyFold, s.events);
    expect(fold.lastSeq).toBe(2);
    expect(fold.items).toHaveLength(1);
  });
});

describe('onPath', () => {
  it('leaves out what was gone back behind', () => {
    const s = new Script();
    s.message('one');
    s.answer('1');
    s.message('two');
    s.answer('2');
    s.add('leaf.moved', { to: 'evt_2' }, { parent: 'evt_2' });
    s.message('two, better');
    expect(onPath(s.events).map((e) => e.seq)).toEqual([1, 2, 5, 6]);
    const texts = reduceAll(emptyFold, onPath(s.events)).items.flatMap((i) =>
      i.type === 'user' ? [i.text] : [],
    );
    expect(texts).toEqual(['one', 'two, better']);
  });

  it('is everything where nothing was gone back behind', () => {
    const s = new Script();
    s.message('one');
    s.answer('1');
    const window: Event[] = s.events.slice(1);
    expect(onPath(window)).toBe(window);
  });
});
