import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Script } from '../testing/events';
import { ApiError } from './error';
import { Transport, type Connection } from './transport';
import type { Frame } from './types.gen';

/** A server that keeps the stream's contract and can be switched off, or made to hold streams back. */
class FakeServer {
  readonly script = new Script();
  readonly requests: string[] = [];
  up = true;
  locked = false;
  holdsBack = false;
  private readonly polls: (() => void)[] = [];
  private open = new Map<string, ReadableStreamDefaultController<Uint8Array>>();

  raw = (method: string, path: string, init: RequestInit = {}): Promise<Response> => {
    this.requests.push(`${method} ${path.split('&')[0] ?? ''}`);
    if (!this.up) return Promise.reject(new ApiError('offline', 'down'));
    if (this.locked) return Promise.resolve(new Response('', { status: 403 }));
    const url = new URL(path, 'http://x');
    if (method === 'DELETE') {
      this.close(url.pathname.split('/').pop() ?? '');
      return Promise.resolve(new Response('{}'));
    }
    const cursor = Number(url.searchParams.get('cursor'));
    const backlog = this.script.events
      .filter((e) => e.pos > cursor)
      .map((event): Frame => ({ type: 'event', event }));
    if (url.searchParams.has('wait')) {
      if (backlog.length > 0) return Promise.resolve(new Response(lines(backlog)));
      return new Promise((done) => {
        this.polls.push(() =>
          done(new Response(lines([{ type: 'event', event: this.script.events.at(-1)! }]))),
        );
        const timer = setTimeout(() => done(new Response(lines([{ type: 'ping', cursor }]))), 20_000);
        init.signal?.addEventListener('abort', () => {
          clearTimeout(timer);
          done(new Response(''));
        });
      });
    }
    const id = url.searchParams.get('id') ?? '';
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.open.set(id, controller);
        if (!this.holdsBack) controller.enqueue(bytes(lines([{ type: 'ping', cursor }, ...backlog])));
        init.signal?.addEventListener('abort', () => this.fail(id));
      },
    });
    return Promise.resolve(new Response(body));
  };

  send(...frames: Frame[]): void {
    if (!this.holdsBack) for (const c of this.open.values()) c.enqueue(bytes(lines(frames)));
  }

  commit(text: string): void {
    const event = this.script.message(text);
    this.send({ type: 'event', event });
    for (const answer of this.polls.splice(0)) answer();
  }

  die(): void {
    this.up = false;
    for (const id of [...this.open.keys()]) this.fail(id);
  }

  get streams(): number {
    return this.open.size;
  }

  private fail(id: string): void {
    this.open.get(id)?.error(new Error('connection reset'));
    this.open.delete(id);
  }

  private close(id: string): void {
    const c = this.open.get(id);
    this.open.delete(id);
    try {
      c?.close();
    } catch {
      // It had failed before.
    }
  }
}

const bytes = (text: string) => new TextEncoder().encode(text);
const lines = (frames: Frame[]) => frames.map((f) => JSON.stringify(f) + '\n').join('');

describe('Transport', () => {
  let server: FakeServer;
  let seen: number[];
  let states: Connection[];
  let resyncs: number;
  let transport: Transport;

  beforeEach(() => {
    vi.useFakeTimers();
    server = new FakeServer();
    seen = [];
    states = [];
    resyncs = 0;
    let n = 0;
    transport = new Transport({
      client: server,
      onFrames: (frames) => seen.push(...frames.flatMap((f) => (f.event ? [f.event.pos] : []))),
      resync: () => {
        if (!server.up) return Promise.reject(new ApiError('offline', 'down'));
        resyncs++;
        return Promise.resolve(server.script.events.length);
      },
      onConnection: (c) => states.push(c),
      newId: () => `stream${++n}`,
    });
  });

  afterEach(async () => {
    const closed = transport.close();
    await vi.runAllTimersAsync();
    await closed;
    expect(server.streams).toBe(0);
    vi.useRealTimers();
  });

  const settle = () => vi.advanceTimersByTimeAsync(100);

  it('delivers events in order, once each', async () => {
    server.commit('one');
    transport.start(0);
    await settle();
    server.commit('two');
    server.send({ type: 'event', event: server.script.events[0]! });
    server.commit('three');
    await settle();
    expect(seen).toEqual([1, 2, 3]);
    expect(states).toEqual(['live']);
  });

  // R121: a hole in the positions is read, not guessed.
  it.each<[string, (s: FakeServer) => void]>([
    ['an announced gap', (s) => s.send({ type: 'gap', cursor: 3 })],
    ['a jump in positions', (s) => s.send({ type: 'event', event: s.script.events.at(-1)! })],
    ['a ping that is ahead', (s) => s.send({ type: 'ping', cursor: 3 })],
  ])('reads again after %s', async (_, tell) => {
    transport.start(0);
    await settle();
    server.script.message('missed');
    server.script.message('missed');
    server.script.message('missed');
    tell(server);
    await settle();
    expect(resyncs).toBe(1);
    server.commit('after');
    await settle();
    expect(seen).toEqual([4]);
  });

  // R158: the server goes and comes back; nothing is lost and the state is told.
  it('says that the server is gone, waits, and reads again', async () => {
    transport.start(0);
    await settle();
    server.die();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(states).toEqual(['live', 'gone']);
    const tries = server.requests.length;
    server.script.message('while away');
    server.up = true;
    await vi.advanceTimersByTimeAsync(6_000);
    expect(states).toEqual(['live', 'gone', 'live']);
    expect(resyncs).toBe(1);
    expect(tries).toBeLessThan(10); // an hour of waiting asks no more than the back-off allows
    server.commit('back');
    await settle();
    expect(seen).toEqual([2]);
  });

  it('tries at once when asked', async () => {
    transport.start(0);
    await settle();
    server.die();
    await vi.advanceTimersByTimeAsync(60_000);
    server.up = true;
    transport.retryNow();
    await settle();
    expect(states.at(-1)).toBe('live');
  });

  it('tells a wrong token from a server that is away', async () => {
    server.locked = true;
    transport.start(0);
    await settle();
    expect(states).toEqual(['locked']);
  });

  it('treats long silence as a dead connection', async () => {
    transport.start(0);
    await settle();
    await vi.advanceTimersByTimeAsync(41_000);
    expect(states).toContain('gone');
  });

  it('goes over to polling where the webview holds streams back', async () => {
    server.holdsBack = true;
    transport.start(0);
    await settle();
    server.commit('one');
    await vi.advanceTimersByTimeAsync(4_000);
    server.commit('two');
    await settle();
    expect(states).toEqual(['live', 'polling']);
    expect(seen).toEqual([1, 2]);
  });

  it('ends its stream by name when it closes', async () => {
    transport.start(0);
    await settle();
    const closed = transport.close();
    await settle();
    await closed;
    expect(server.requests.at(-1)).toBe('DELETE /api/stream/stream1');
  });
});
