import type { ApiError } from '../api/error';
import { asApiError } from '../api/error';
import type { Client } from '../api/client';
import type { Event, Frame, SessionView } from '../api/types.gen';
import { emptyFold, onPath, reduceAll, type Fold } from './fold';
import { mergeLive, type LiveText } from './live';
import { rowsOf, type Row } from './rows';

/** Events per page, and how many the page keeps: a session of any length opens alike. */
const pageSize = 500;
const windowSize = 6_000;

/**
 * One open session: a window of its events, folded. The window follows the end
 * (`atEnd`) or stands somewhere in the past; the tail is followed either way.
 */
export class Session {
  view = $state.raw<SessionView>() as SessionView;
  /** What is shown. */
  fold = $state.raw<Fold>(emptyFold);
  /** The newest part of the record: queue, plan, run and context are read from here. */
  tail = $state.raw<Fold>(emptyFold);
  live = $state.raw<ReadonlyMap<string, LiveText>>(new Map());
  loading = $state<'opening' | 'older' | 'newer' | null>('opening');
  error = $state.raw<ApiError | null>(null);
  atStart = $state(false);
  atEnd = $state(true);
  /** Rows and groups the person opened or closed by hand. */
  opened = $state.raw<ReadonlyMap<string, boolean>>(new Map());
  /** The row a search hit or a link asked for; the list scrolls there once. */
  target = $state<number | null>(null);

  readonly rows: Row[] = $derived(rowsOf(this.fold, (key) => this.opened.get(key) ?? false));

  private events: Event[] = [];
  private readonly early: Event[] = [];
  private reading: Promise<void> | null = null;
  private closed = false;

  constructor(
    private readonly client: Client,
    view: SessionView,
  ) {
    this.view = view;
  }

  get id(): string {
    return this.view.id;
  }

  close(): void {
    this.closed = true;
  }

  /** Reads the newest page. */
  async open(): Promise<void> {
    await this.read('opening', async () => {
      const events = await this.client.eventsBefore(this.id, Number.MAX_SAFE_INTEGER, pageSize);
      this.show(events, true);
    });
  }

  /** Reads on from the last known event until the record is caught up; for gaps and reconnects. */
  async catchUp(): Promise<void> {
    if (this.tail.lastSeq === 0) return this.open();
    for (;;) {
      const events = await this.client.eventsAfter(this.id, this.tail.lastSeq, 2_000);
      if (this.closed) return;
      this.append(events);
      if (events.length < 2_000) return;
    }
  }

  async loadOlder(): Promise<void> {
    const first = this.events[0];
    if (this.atStart || !first) return;
    await this.read('older', async () => {
      const older = await this.client.eventsBefore(this.id, first.seq, pageSize);
      const all = [...older, ...this.events];
      const cut = all.length > windowSize;
      this.show(cut ? all.slice(0, windowSize) : all, this.atEnd && !cut);
    });
  }

  async loadNewer(): Promise<void> {
    const last = this.events.at(-1);
    if (this.atEnd || !last) return;
    await this.read('newer', async () => {
      const newer = await this.client.eventsAfter(this.id, last.seq, pageSize);
      this.show([...this.events, ...newer].slice(-windowSize), newer.length < pageSize);
    });
  }

  async toEnd(): Promise<void> {
    if (!this.atEnd) await this.open();
  }

  async toStart(): Promise<void> {
    if (this.atStart) return;
    await this.read('opening', async () => {
      const events = await this.client.eventsAfter(this.id, 0, pageSize);
      this.show(events, events.length < pageSize);
    });
  }

  /** Shows the part of the record around an event. */
  async jumpTo(seq: number): Promise<void> {
    const known =
      this.events.length > 0 && (this.events[0]?.seq ?? 0) <= seq && (this.events.at(-1)?.seq ?? 0) >= seq;
    if (!known) {
      await this.read('opening', async () => {
        const events = await this.client.eventsAfter(this.id, Math.max(0, seq - pageSize / 2), pageSize);
        this.show(events, events.length < pageSize);
      });
    }
    this.target = seq;
  }

  /** The stored event, for opening a row down to the record. */
  event(seq: number): Event | undefined {
    const first = this.events[0]?.seq ?? 0;
    return this.events[seq - first];
  }

  toggle(key: string, open: boolean): void {
    const next = new Map(this.opened);
    next.set(key, open);
    this.opened = next;
  }

  /** Frames of this session, in order. A hole in seq is read from the ledger. */
  apply(frames: readonly Frame[]): void {
    const events: Event[] = [];
    let live: Map<string, LiveText> | null = null;
    for (const f of frames) {
      if (f.event) events.push(f.event);
      else if (f.live) {
        live ??= new Map(this.live);
        live.set(f.live.id, mergeLive(live.get(f.live.id), f.live));
      }
    }
    if (live) this.live = live;
    if (events.length > 0) this.append(events);
  }

  private append(events: readonly Event[]): void {
    if (this.tail.lastSeq === 0) {
      this.early.push(...events); // the page that is being read may not have them yet
      return;
    }
    const fresh = events.filter((e) => e.seq > this.tail.lastSeq);
    const first = fresh[0];
    if (!first) return;
    if (first.seq !== this.tail.lastSeq + 1) {
      void this.catchUp().catch((thrown: unknown) => (this.error = asApiError(thrown)));
      return;
    }
    const following = this.atEnd && this.tail === this.fold;
    if (following) this.events.push(...fresh);
    const moved = fresh.some((e) => e.kind === 'leaf.moved');
    this.tail = moved && following ? foldOf(this.events) : reduceAll(this.tail, fresh);
    this.settleLive(fresh);
    if (following) {
      if (this.events.length > windowSize * 1.5) {
        this.events = this.events.slice(-windowSize);
        this.tail = trim(this.tail, this.events[0]?.seq ?? 0);
        this.atStart = false;
      }
      this.fold = this.tail;
    } else if (this.tail.items.length > windowSize) {
      this.tail = trim(this.tail, this.tail.items.at(-pageSize)?.seq ?? 0);
    }
  }

  private show(events: Event[], atEnd: boolean): void {
    if (this.closed) return;
    this.events = events;
    this.atStart = events.length === 0 || events[0]?.seq === 1;
    this.fold = foldOf(events);
    this.atEnd = atEnd;
    if (!atEnd) return;
    if (this.tail.lastSeq > this.fold.lastSeq) {
      // More arrived while this page was read.
      this.atEnd = false;
      void this.loadNewer();
      return;
    }
    this.tail = this.fold;
    this.settleLive(events);
    const early = this.early.splice(0);
    if (early.length > 0) this.append(early);
  }

  /** The committed event replaces everything that streamed for its id. */
  private settleLive(events: readonly Event[]): void {
    if (this.live.size === 0) return;
    const live = new Map(this.live);
    for (const e of events) {
      switch (e.kind) {
        case 'message.completed':
        case 'model_call.failed':
          live.delete(e.payload.messageId);
          break;
        case 'tool_call.completed':
        case 'tool_call.failed':
        case 'tool_call.unknown':
          live.delete(e.payload.callId);
          break;
        case 'run.finished':
        case 'run.interrupted':
          live.clear();
          break;
      }
    }
    this.live = live;
  }

  private async read(what: 'opening' | 'older' | 'newer', work: () => Promise<void>): Promise<void> {
    while (this.reading) await this.reading;
    this.loading = what;
    this.reading = (async () => {
      try {
        await work();
        this.error = null;
      } catch (thrown) {
        this.error = asApiError(thrown);
      } finally {
        this.loading = null;
        this.reading = null;
      }
    })();
    await this.reading;
  }
}

/** What the path of these events tells; `lastSeq` is the last read, on the path or not. */
function foldOf(events: readonly Event[]): Fold {
  return reduceAll(emptyFold, onPath(events));
}

/** Forgets entries before `seq`; what the fold says of the present stays. */
function trim(fold: Fold, seq: number): Fold {
  const items = fold.items.filter((item) => item.seq >= seq);
  const kept = new Set(items.flatMap((item) => (item.type === 'call' ? [item.callId] : [])));
  return {
    ...fold,
    firstSeq: seq,
    items,
    calls: new Map([...fold.calls].filter(([id, call]) => kept.has(id) || call.state === 'executing')),
    approvals: new Map(
      [...fold.approvals].filter(([, a]) => kept.has(a.request.callId) || a.state === 'open'),
    ),
  };
}
