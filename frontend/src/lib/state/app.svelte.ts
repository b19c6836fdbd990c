import { flushSync } from 'svelte';
import type { ApiError } from '../api/error';
import { asApiError } from '../api/error';
import type { Client } from '../api/client';
import type { Platform } from '../api/platform';
import { Transport, type Connection } from '../api/transport';
import type {
  ApprovalView,
  Event,
  Frame,
  ModelRef,
  ModelsView,
  Notice,
  SessionView,
  Settings,
  WorkspaceView,
} from '../api/types.gen';
import { Changes } from './changes.svelte';
import { Clock } from './clock.svelte';
import { Draft } from './draft.svelte';
import { Layout } from './layout.svelte';
import { formatPlace, parsePlace, type Place } from './place';
import { Session } from './session.svelte';
import { ThemeState, parseTheme } from './theme.svelte';

export interface AppConfig {
  client: Client;
  platform: Platform;
  page: Window;
  /** Words for what is announced to a screen reader or by a notification. */
  words: {
    runEnded(title: string, state: string): string;
    approvalWaits(title: string): string;
    answeredElsewhere(by: string): string;
    notifyApproval: string;
    notifyRun: string;
  };
}

/** Everything the page knows of the cell it talks to, kept true by the transport. */
export class App {
  readonly client: Client;
  readonly platform: Platform;
  readonly clock = new Clock();
  readonly layout: Layout;
  readonly theme: ThemeState;

  connection = $state<Connection>('connecting');
  goneSince = $state(0);
  boot = $state<'loading' | 'ready' | 'failed'>('loading');
  bootError = $state.raw<ApiError | null>(null);

  version = $state('');
  cell = $state('');
  dataDir = $state('');
  asRoot = $state(false);
  firstStart = $state(false);
  notices = $state.raw<Notice[]>([]);
  workspaces = $state.raw<WorkspaceView[]>([]);
  sessions = $state.raw<ReadonlyMap<string, SessionView>>(new Map());
  approvals = $state.raw<ApprovalView[]>([]);
  model = $state.raw<ModelRef>({ provider: '', name: '' });
  models = $state.raw<ModelsView | null>(null);
  settings = $state.raw<Settings | null>(null);

  place = $state.raw<Place>({ at: 'home' });
  session = $state.raw<Session | null>(null);
  changes = $state.raw<Changes | null>(null);
  /** Goes up when artifacts of the open session may have changed. */
  artifactsTick = $state(0);
  /** A failure that has no place of its own on the screen. */
  problem = $state.raw<ApiError | null>(null);
  /** The last thing said to a screen reader. */
  announcement = $state('');
  dismissed = $state.raw<ReadonlySet<string>>(new Set());

  readonly workspace = $derived(this.workspaces.find((w) => w.id === this.session?.view.workspace) ?? null);
  readonly sessionList: SessionView[] = $derived(
    [...this.sessions.values()]
      .filter((s) => !s.archived)
      .sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0)),
  );
  readonly waiting: ApprovalView[] = $derived([...this.approvals].sort((a, b) => (a.at < b.at ? -1 : 1)));

  /** Milliseconds that folding and drawing the last frames took. */
  private flushCost = 0;
  private readonly drafts = new Map<string, Draft>();
  private readonly transport: Transport;
  private readonly page: Window;
  private readonly words: AppConfig['words'];
  private workspacesTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(config: AppConfig) {
    this.client = config.client;
    this.platform = config.platform;
    this.page = config.page;
    this.words = config.words;
    this.layout = new Layout(config.page.localStorage);
    this.theme = new ThemeState(config.page);
    this.place = parsePlace(config.page.location.hash);
    this.transport = new Transport({
      client: config.client,
      onFrames: (frames) => this.onFrames(frames),
      resync: () => this.resync(),
      onConnection: (connection) => this.onConnection(connection),
      schedule: (flush) => this.schedule(flush),
    });
  }

  /** Starts following the cell; returns the end of it. */
  start(): () => void {
    const stopClock = this.clock.start();
    const onHash = () => this.arrive(parsePlace(this.page.location.hash));
    const onResize = () => (this.layout.width = this.page.innerWidth);
    const onAwake = () => this.transport.retryNow();
    this.page.addEventListener('hashchange', onHash);
    this.page.addEventListener('resize', onResize);
    this.page.addEventListener('online', onAwake);
    this.page.addEventListener('focus', onAwake);
    onResize();
    void this.load();
    return () => {
      stopClock();
      this.page.removeEventListener('hashchange', onHash);
      this.page.removeEventListener('resize', onResize);
      this.page.removeEventListener('online', onAwake);
      this.page.removeEventListener('focus', onAwake);
      void this.transport.close();
    };
  }

  /** The first read; tried again by the person, or by itself while nothing answers. */
  async load(): Promise<void> {
    try {
      const cursor = await this.readAll();
      this.boot = 'ready';
      this.bootError = null;
      this.connection = 'live';
      this.transport.start(cursor);
      this.arrive(this.place);
      void this.loadSettings();
      void this.loadModels();
    } catch (thrown) {
      this.bootError = asApiError(thrown);
      this.boot = 'failed';
      if (this.bootError.code === 'offline') setTimeout(() => void this.load(), 1_500);
    }
  }

  retry(): void {
    if (this.boot === 'ready') this.transport.retryNow();
    else void this.load();
  }

  // ---- places

  go(place: Place): void {
    const hash = formatPlace(place);
    if (this.page.location.hash === hash) this.arrive(place);
    else this.page.location.hash = hash;
  }

  openSession(id: string): void {
    this.go({ at: 'session', id, review: false });
  }

  private arrive(place: Place): void {
    this.place = place;
    if (this.layout.floating === 'sidebar') this.layout.floating = null;
    if (this.boot !== 'ready') return;
    const id = place.at === 'session' || place.at === 'recovery' ? place.id : null;
    if (id === null) {
      if (place.at === 'home') this.closeSession();
      return;
    }
    const draft = this.drafts.get(id);
    for (const [key, d] of this.drafts) if (d === draft && key !== id) this.drafts.delete(key);
    if (this.session?.id === id) return;
    this.closeSession();
    const view = this.sessions.get(id);
    if (view) this.enter(view);
    else void this.fetchSession(id);
  }

  private async fetchSession(id: string): Promise<void> {
    try {
      const view = await this.client.session(id);
      this.putSession(view);
      this.enter(view);
    } catch (thrown) {
      this.problem = asApiError(thrown);
      this.go({ at: 'home' });
    }
  }

  private enter(view: SessionView): void {
    const session = new Session(this.client, view);
    this.session = session;
    this.changes = new Changes(this.client, view.id);
    void session.open();
    void this.changes.load();
    this.artifactsTick++;
  }

  private closeSession(): void {
    this.session?.close();
    this.session = null;
    this.changes = null;
  }

  /** What is about to be sent to a session. */
  draftOf(session: string): Draft {
    let draft = this.drafts.get(session);
    if (!draft) {
      draft = new Draft(this.client, () => Promise.resolve(session), this.page.localStorage, session);
      this.drafts.set(session, draft);
    }
    return draft;
  }

  /** The same for a session that is made when the first file or message goes out. */
  draftIn(workspace: string): Draft {
    const key = `new:${workspace}`;
    let draft = this.drafts.get(key);
    if (!draft) {
      let made: Promise<string> | null = null;
      const fresh: Draft = new Draft(
        this.client,
        () => {
          made ??= this.client
            .newSession({ workspace, mode: fresh.mode, ...(fresh.model ? { model: fresh.model } : {}) })
            .then((view) => {
              this.putSession(view);
              this.drafts.set(view.id, fresh); // and still under its key: the page that shows it may look again
              return view.id;
            });
          made.catch(() => (made = null));
          return made;
        },
        this.page.localStorage,
        key,
      );
      fresh.mode = this.settings?.mode || 'ask';
      draft = fresh;
      this.drafts.set(key, draft);
    }
    return draft;
  }

  // ---- keeping true

  /** With the next frame; a busy stream in larger pieces, so that frames are left for typing and scrolling. */
  private schedule(flush: () => void): void {
    const run = () => {
      const begun = performance.now();
      flush();
      flushSync();
      this.flushCost = performance.now() - begun;
    };
    // A page in the background gets no animation frames, yet must stay true.
    if (this.page.document.hidden) setTimeout(run, 50);
    else if (this.flushCost > 6) {
      setTimeout(() => requestAnimationFrame(run), Math.min(120, this.flushCost * 4));
    } else requestAnimationFrame(run);
  }

  private async resync(): Promise<number> {
    const cursor = await this.readAll();
    await this.session?.catchUp();
    void this.changes?.load();
    this.artifactsTick++;
    return cursor;
  }

  private async readAll(): Promise<number> {
    const b = await this.client.bootstrap();
    this.version = b.version;
    this.cell = b.cell;
    this.dataDir = b.dataDir;
    this.asRoot = b.asRoot;
    this.firstStart = b.firstStart;
    this.notices = b.notices;
    this.workspaces = b.workspaces;
    this.sessions = new Map(b.sessions.map((s) => [s.id, s]));
    this.approvals = b.approvals;
    this.model = b.model;
    const open = this.session && this.sessions.get(this.session.id);
    if (open && this.session) this.session.view = open;
    return b.cursor;
  }

  private onConnection(connection: Connection): void {
    if (connection === 'gone' && this.connection !== 'gone') this.goneSince = Date.now();
    this.connection = connection;
  }

  private onFrames(frames: readonly Frame[]): void {
    const open = this.session;
    const mine: Frame[] = [];
    for (const f of frames) {
      switch (f.type) {
        case 'event':
          if (!f.event) break;
          this.onEvent(f.event);
          if (f.event.session === open?.id) mine.push(f);
          break;
        case 'delta':
        case 'output':
          if (f.live?.session === open?.id) mine.push(f);
          break;
        case 'session':
          if (f.view) this.putSession(f.view);
          else if (f.session) this.dropSession(f.session); // it was deleted
          break;
        case 'changes':
          if (f.session === open?.id || !f.session) void this.changes?.load();
          this.refreshWorkspaces();
          break;
      }
    }
    if (open && mine.length > 0) open.apply(mine);
  }

  private onEvent(e: Event): void {
    switch (e.kind) {
      case 'approval.requested': {
        const title = this.sessions.get(e.session)?.title ?? '';
        const view: ApprovalView = {
          session: e.session,
          title,
          run: e.run ?? '',
          seq: e.seq,
          at: e.createdAt,
          request: e.payload,
        };
        if (!this.approvals.some((a) => a.request.approvalId === e.payload.approvalId)) {
          this.approvals = [...this.approvals, view];
        }
        this.say(this.words.approvalWaits(e.payload.title));
        this.notify(this.words.notifyApproval, e.payload.title);
        break;
      }
      case 'approval.granted':
      case 'approval.denied':
      case 'approval.expired':
        this.dropApproval(e.payload.approvalId);
        break;
      case 'run.finished': {
        const title = this.sessions.get(e.session)?.title ?? '';
        this.say(this.words.runEnded(title, e.payload.outcome));
        this.notify(this.words.notifyRun, this.words.runEnded(title, e.payload.outcome));
        if (e.session === this.session?.id) void this.changes?.load();
        this.refreshWorkspaces();
        break;
      }
      case 'hunk.accepted':
      case 'hunk.rejected':
      case 'workspace.restored':
      case 'workspace.adopted':
      case 'files.changed':
      case 'file.written':
        if (e.session === this.session?.id) void this.changes?.load();
        this.refreshWorkspaces();
        break;
      case 'artifact.promoted':
      case 'artifact.validated':
      case 'artifact.adopted':
      case 'artifact.withdrawn':
        this.artifactsTick++;
        break;
    }
  }

  dropApproval(id: string): void {
    this.approvals = this.approvals.filter((a) => a.request.approvalId !== id);
  }

  putSession(view: SessionView): void {
    const next = new Map(this.sessions);
    next.set(view.id, view);
    this.sessions = next;
    if (this.session?.id === view.id) this.session.view = view;
  }

  putWorkspace(view: WorkspaceView): void {
    const rest = this.workspaces.filter((w) => w.id !== view.id);
    this.workspaces = this.workspaces.some((w) => w.id === view.id)
      ? this.workspaces.map((w) => (w.id === view.id ? view : w))
      : [...rest, view];
  }

  dropWorkspace(id: string): void {
    this.workspaces = this.workspaces.filter((w) => w.id !== id);
  }

  dropSession(id: string): void {
    const next = new Map(this.sessions);
    next.delete(id);
    this.sessions = next;
    if (this.session?.id === id) this.go({ at: 'home' });
  }

  /** Git's own numbers change with files; many changes are one look. */
  private refreshWorkspaces(): void {
    if (this.workspacesTimer !== undefined) return;
    this.workspacesTimer = setTimeout(() => {
      this.workspacesTimer = undefined;
      this.client.workspaces().then(
        (list) => (this.workspaces = list),
        () => undefined, // the connection state already says it
      );
    }, 400);
  }

  async loadSettings(): Promise<void> {
    try {
      this.settings = await this.client.settings();
      const choice = parseTheme(this.settings.theme);
      if (choice !== this.theme.choice) this.theme.choose(choice);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  async loadModels(): Promise<void> {
    try {
      this.models = await this.client.models();
      this.model = this.models.chosen;
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  // ---- words

  say(text: string): void {
    // The same words twice are read twice only when they differ.
    this.announcement = this.announcement === text ? `${text}\u00a0` : text;
  }

  /** Shows a failure that has no place of its own. */
  fail(thrown: unknown): void {
    const error = asApiError(thrown);
    // A server that is away is already told by the connection state.
    if (error.code !== 'offline') this.problem = error;
  }

  /** Runs an action of the person; a failure is shown, never thrown. */
  async attempt<T>(action: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await action();
      this.problem = null;
      return result;
    } catch (thrown) {
      this.problem = asApiError(thrown);
      return undefined;
    }
  }

  dismiss(id: string): void {
    this.dismissed = new Set([...this.dismissed, id]);
  }

  private notify(title: string, text: string): void {
    if (this.page.document.hidden || !this.page.document.hasFocus()) this.platform.notify(title, text);
  }
}
