import { ApiError } from './error';
import type { Client } from './client';
import { NdjsonParser } from './ndjson';
import type { Frame } from './types.gen';

/**
 * connecting: nothing heard yet. live: frames arrive as they happen. polling: the
 * same frames, asked for again and again, because this webview holds streams back.
 * gone: the server does not answer. locked: it answers, but not to this page.
 */
export type Connection = 'connecting' | 'live' | 'polling' | 'gone' | 'locked';

export interface TransportConfig {
  client: Pick<Client, 'raw'>;
  /** Frames in order, events without repeats. Called at most once per flush. */
  onFrames(frames: Frame[]): void;
  /**
   * Something may have been missed: read again what is shown and return the ledger
   * position that was read up to. Throws while the server does not answer.
   */
  resync(): Promise<number>;
  onConnection(connection: Connection): void;
  /** Runs `flush` soon, once; an animation frame in the page. */
  schedule?(flush: () => void): void;
  newId?(): string;
}

/** Milliseconds. The server pings every 25 s, so more silence than that is a dead connection. */
const silence = 40_000;
const pollWait = 20;
const firstRetry = 250;
const lastRetry = 5_000;

/**
 * Follows the ledger from a cursor and never loses an event: a jump in positions,
 * an announced gap or a broken connection makes the page read again. An aborted
 * fetch does not end the handler in the window, so each stream has an id that is
 * deleted when the page is done with it.
 */
export class Transport {
  private cursor = 0;
  private running = false;
  private buffered = false;
  private stop = new AbortController();
  private connection: Connection = 'connecting';
  private pending: Frame[] = [];
  private flushing = false;
  private wake: (() => void) | null = null;
  private ended: Promise<void> = Promise.resolve();

  constructor(private readonly config: TransportConfig) {}

  /** Starts following behind position `cursor`. */
  start(cursor: number): void {
    if (this.running) return;
    this.running = true;
    this.cursor = cursor;
    this.stop = new AbortController();
    this.ended = this.run();
  }

  /** Ends the stream; resolves when nothing is called any more. */
  async close(): Promise<void> {
    this.running = false;
    this.stop.abort();
    this.wake?.();
    await this.ended;
  }

  /** Tries again at once, e.g. when the person asks or the machine woke up. */
  retryNow(): void {
    this.wake?.();
  }

  private async run(): Promise<void> {
    let failures = 0;
    let missed = false;
    while (this.running) {
      try {
        if (missed) this.cursor = await this.config.resync();
        missed = false;
        const began = Date.now();
        missed = this.buffered ? await this.poll() : await this.stream();
        failures = 0;
        // A server that closes every stream at once must not be asked in a tight loop.
        if (!missed && Date.now() - began < firstRetry) await this.pause(firstRetry);
      } catch (thrown) {
        missed = true;
        if (!this.running) return;
        failures++;
        const locked = thrown instanceof ApiError && thrown.code === 'locked';
        this.say(locked ? 'locked' : 'gone');
        await this.pause(Math.min(lastRetry, firstRetry * 2 ** Math.min(failures - 1, 6)));
      }
    }
  }

  /** One open stream. Resolves to whether something may have been missed. */
  private async stream(): Promise<boolean> {
    const id = this.config.newId?.() ?? crypto.randomUUID();
    const abort = new AbortController();
    const onStop = () => abort.abort();
    this.stop.signal.addEventListener('abort', onStop);
    let heard = false;
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const rearm = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), silence);
    };
    try {
      rearm();
      const res = await this.open(`/api/stream?cursor=${this.cursor}&id=${id}`, abort.signal);
      this.say('live');
      if (!res.body) {
        this.buffered = true;
        return false;
      }
      const reader = res.body.getReader();
      const parser = new NdjsonParser<Frame>();
      // Until the first bytes arrive, ask the other way too: if that answers with
      // events while the stream stays silent, this webview holds streams back.
      const probe = this.probe(() => heard, abort);
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        heard = true;
        rearm();
        if (this.take(parser.push(value))) return true;
      }
      await probe;
      return this.take(parser.end());
    } catch (thrown) {
      if (this.buffered) return false;
      if (abort.signal.aborted && this.running) throw new ApiError('offline', 'silent');
      throw thrown;
    } finally {
      clearTimeout(watchdog);
      this.stop.signal.removeEventListener('abort', onStop);
      abort.abort();
      void this.config.client.raw('DELETE', `/api/stream/${id}`).catch(() => undefined);
    }
  }

  private async probe(heard: () => boolean, stream: AbortController): Promise<void> {
    await new Promise((done) => setTimeout(done, 3_000));
    if (heard() || stream.signal.aborted || !this.running) return;
    try {
      const frames = await this.pollOnce(stream.signal);
      if (!frames.some((f) => f.type === 'event')) return;
      await new Promise((done) => setTimeout(done, 500));
      if (heard() || stream.signal.aborted) return;
      this.buffered = true;
      stream.abort();
    } catch {
      // The stream itself will tell.
    }
  }

  private async poll(): Promise<boolean> {
    const frames = await this.pollOnce(this.stop.signal);
    this.say('polling');
    return this.take(frames);
  }

  private async pollOnce(signal: AbortSignal): Promise<Frame[]> {
    const res = await this.open(`/api/stream?cursor=${this.cursor}&wait=${pollWait}`, signal);
    const parser = new NdjsonParser<Frame>();
    return [...parser.push(new Uint8Array(await res.arrayBuffer())), ...parser.end()];
  }

  private async open(path: string, signal: AbortSignal): Promise<Response> {
    const res = await this.config.client.raw('GET', path, {
      signal,
      headers: { Accept: 'application/x-ndjson' },
    });
    if (res.ok) return res;
    const locked = res.status === 401 || res.status === 403;
    throw new ApiError(locked ? 'locked' : 'offline', `HTTP ${res.status}`);
  }

  /** Queues frames for the page; true when there is a hole that must be read. */
  private take(frames: Frame[]): boolean {
    for (const f of frames) {
      if (f.type === 'gap') return true;
      if (f.type === 'ping') {
        if ((f.cursor ?? 0) > this.cursor) return true;
        continue;
      }
      if (f.type === 'event' && f.event) {
        if (f.event.pos <= this.cursor) continue;
        if (f.event.pos > this.cursor + 1) return true;
        this.cursor = f.event.pos;
      }
      this.pending.push(f);
    }
    if (this.pending.length > 0 && !this.flushing) {
      this.flushing = true;
      (this.config.schedule ?? queueMicrotask)(() => {
        this.flushing = false;
        const batch = this.pending;
        this.pending = [];
        if (this.running) this.config.onFrames(batch);
      });
    }
    return false;
  }

  private say(connection: Connection): void {
    if (connection === this.connection) return;
    this.connection = connection;
    this.config.onConnection(connection);
  }

  private pause(ms: number): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, ms);
      this.wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }
}
