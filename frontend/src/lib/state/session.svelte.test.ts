import { describe, expect, it } from 'vitest';
import type { Client } from '../api/client';
import type { Event, SessionView } from '../api/types.gen';
import { Script } from '../testing/events';
import { Session } from './session.svelte';

/** A ledger that serves pages, and counts what was asked. */
function ledger(script: Script) {
  const reads: string[] = [];
  const client = {
    eventsBefore: (_: string, seq: number, limit: number): Promise<Event[]> => {
      reads.push(`before ${seq > 1e9 ? 'end' : seq}`);
      return Promise.resolve(script.events.filter((e) => e.seq < seq).slice(-limit));
    },
    eventsAfter: (_: string, seq: number, limit: number): Promise<Event[]> => {
      reads.push(`after ${seq}`);
      return Promise.resolve(script.events.filter((e) => e.seq > seq).slice(0, limit));
    },
  } as unknown as Client;
  return { client, reads };
}

function open(script: Script) {
  const { client, reads } = ledger(script);
  const session = new Session(client, { id: script.session, lastSeq: script.events.length } as SessionView);
  return { session, reads };
}

const frames = (events: Event[]) => events.map((event) => ({ type: 'event', event }));
const settle = () => new Promise((done) => setTimeout(done));

function long(n: number): Script {
  const script = new Script();
  for (let i = 0; i < n; i++) script.message(`m${i}`, `msg${i}`);
  return script;
}

describe('Session', () => {
  it('opens at the end with one page, whatever its length', async () => {
    const { session, reads } = open(long(5_000));
    await session.open();
    expect(reads).toEqual(['before end']);
    expect(session.rows).toHaveLength(500);
    expect(session.tail.lastSeq).toBe(5_000);
    expect([session.atStart, session.atEnd]).toEqual([false, true]);
  });

  it('reads back to the beginning and keeps a bounded window', async () => {
    const { session } = open(long(8_000));
    await session.open();
    while (!session.atStart) await session.loadOlder();
    expect(session.fold.firstSeq).toBe(1);
    expect(session.fold.items.length).toBeLessThanOrEqual(6_000);
    expect(session.atEnd).toBe(false);
    await session.toEnd();
    expect([session.fold.lastSeq, session.atEnd]).toEqual([8_000, true]);
  });

  it('follows what arrives, and reads a hole from the ledger', async () => {
    const script = long(10);
    const { session, reads } = open(script);
    await session.open();
    const next = script.message('next');
    session.apply(frames([next]));
    expect(session.fold.lastSeq).toBe(11);
    script.message('missed');
    const later = script.message('later');
    session.apply(frames([later]));
    await settle();
    expect(session.fold.lastSeq).toBe(13);
    expect(reads).toEqual(['before end', 'after 11']);
  });

  // R121: what arrives while the first page is being read is neither lost nor doubled.
  it('takes in what arrives while it opens', async () => {
    const script = long(10);
    const { session } = open(script);
    const opening = session.open();
    const during = script.message('during');
    session.apply(frames([during]));
    await opening;
    session.apply(frames([script.message('after')]));
    await settle();
    const texts = session.fold.items.flatMap((i) => (i.type === 'user' ? [i.text] : []));
    expect(texts.slice(-2)).toEqual(['during', 'after']);
    expect(session.fold.lastSeq).toBe(12);
  });

  it('does not move the past under the reader when something arrives', async () => {
    const script = long(8_000);
    const { session } = open(script);
    await session.toStart();
    const before = session.fold;
    await session.open();
    await session.toStart();
    session.apply(frames([script.message('new')]));
    expect(session.fold.items).toEqual(before.items);
    expect(session.tail.lastSeq).toBe(8_001);
  });

  it('lets the committed event replace what streamed', async () => {
    const script = long(1);
    const { session } = open(script);
    await session.open();
    session.apply([{ type: 'delta', live: { session: script.session, id: 'a1', offset: 0, text: 'Hel' } }]);
    session.apply([{ type: 'delta', live: { session: script.session, id: 'a1', offset: 3, text: 'lo' } }]);
    expect(session.live.get('a1')?.text).toBe('Hello');
    session.apply(frames([script.answer('Hello.', 'a1')]));
    expect(session.live.size).toBe(0);
    expect(session.fold.items.at(-1)).toMatchObject({ type: 'answer', text: 'Hello.' });
  });

  it('shows the other branch when the person goes back', async () => {
    const script = long(4);
    const { session } = open(script);
    await session.open();
    const moved = script.add('leaf.moved', { to: 'evt_2' }, { parent: 'evt_2' });
    session.apply(frames([moved]));
    expect(session.fold.items.map((i) => i.type)).toEqual(['user', 'user', 'note']);
    expect(session.event(4)?.kind).toBe('message.sent'); // the record keeps it
  });
});
