import { asApiError, type ApiError } from '../api/error';
import type { Client } from '../api/client';
import type { ChangesView, FileChange, Hunk } from '../api/types.gen';

/** The review of one session: what differs, where the person stands, what they decided. */
export class Changes {
  view = $state.raw<ChangesView | null>(null);
  error = $state.raw<ApiError | null>(null);
  loading = $state(false);
  busy = $state(false);
  /** The hunk under the review cursor; files without hunks have an empty hunk. */
  cursor = $state.raw<{ path: string; hunk: string } | null>(null);
  /** What the server did not do and why, after the last decision. */
  skipped = $state.raw<string[]>([]);
  message = $state('');
  private edited = false;
  private again = false;

  readonly files: FileChange[] = $derived(this.view?.files ?? []);
  readonly stops: { path: string; hunk: string }[] = $derived(
    this.files.flatMap((f) =>
      f.hunks.length > 0 ? f.hunks.map((h) => ({ path: f.path, hunk: h.id })) : [{ path: f.path, hunk: '' }],
    ),
  );
  /** Hunks decided and all hunks there were, for "7 of 12 reviewed". */
  readonly decided = $derived((this.view?.accepted ?? 0) + (this.view?.rejected ?? 0));
  readonly total = $derived(this.decided + (this.view?.hunks ?? 0));

  constructor(
    private readonly client: Client,
    readonly session: string,
  ) {}

  async load(): Promise<void> {
    if (this.loading) {
      this.again = true;
      return;
    }
    this.loading = true;
    try {
      do {
        this.again = false;
        this.take(await this.client.changes(this.session));
      } while (this.again);
      this.error = null;
    } catch (thrown) {
      this.error = asApiError(thrown);
    } finally {
      this.loading = false;
    }
  }

  editMessage(text: string): void {
    this.message = text;
    this.edited = true;
  }

  file(path: string): FileChange | undefined {
    return this.files.find((f) => f.path === path);
  }

  hunk(path: string, id: string): Hunk | undefined {
    return this.file(path)?.hunks.find((h) => h.id === id);
  }

  move(step: 1 | -1): void {
    const at = this.index();
    const next = this.stops[at < 0 ? 0 : Math.min(this.stops.length - 1, Math.max(0, at + step))];
    if (next) this.cursor = next;
  }

  moveFile(step: 1 | -1): void {
    const at = this.files.findIndex((f) => f.path === this.cursor?.path);
    const file = this.files[at < 0 ? 0 : Math.min(this.files.length - 1, Math.max(0, at + step))];
    if (file) this.cursor = { path: file.path, hunk: file.hunks[0]?.id ?? '' };
  }

  /** Accepts or rejects the hunk under the cursor, one file, or (no path) everything. */
  async decide(verdict: 'accept' | 'reject', path?: string, hunk?: string): Promise<void> {
    const file = path === undefined ? undefined : this.file(path);
    if (this.busy || (path !== undefined && !file)) return;
    this.busy = true;
    const stops = this.stops;
    const at = stops.findIndex((s) => s.path === path && (!hunk || s.hunk === hunk));
    try {
      const answer = await this.client.review(this.session, verdict, {
        ...(path === undefined ? {} : { path }),
        ...(hunk ? { hunks: [hunk] } : {}),
        ...(file ? { post: file.post } : {}),
      });
      this.skipped = answer.skipped ?? [];
      this.take(answer.changes);
      // The cursor goes to what stood behind the decided hunk.
      const next = this.stops[Math.min(Math.max(at, 0), this.stops.length - 1)];
      this.cursor = next ?? null;
      this.error = null;
    } catch (thrown) {
      this.error = asApiError(thrown);
      if (this.error.code === 'conflict') void this.load();
    } finally {
      this.busy = false;
    }
  }

  /** Commits what is accepted; resolves to the commit or null. */
  async commit(): Promise<string | null> {
    this.busy = true;
    try {
      const { commit } = await this.client.commit(this.session, this.message);
      this.edited = false;
      this.error = null;
      await this.load();
      return commit;
    } catch (thrown) {
      this.error = asApiError(thrown);
      return null;
    } finally {
      this.busy = false;
    }
  }

  private index(): number {
    return this.stops.findIndex((s) => s.path === this.cursor?.path && s.hunk === this.cursor.hunk);
  }

  private take(view: ChangesView): void {
    this.view = view;
    if (!this.edited) this.message = view.message;
    if (this.cursor && this.index() < 0) {
      const same = this.stops.find((s) => s.path === this.cursor?.path);
      this.cursor = same ?? this.stops[0] ?? null;
    }
  }
}
