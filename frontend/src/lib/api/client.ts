import { ApiError, type ErrorCode } from './error';
import type {
  ApprovalAnswer,
  ApprovalView,
  ArtifactView,
  Attachment,
  Bootstrap,
  ChangesView,
  DoctorView,
  Event,
  Mode,
  ModelRef,
  ModelsView,
  NewMessage,
  NewSession,
  Receipt,
  ReviewAnswer,
  ReviewRequest,
  SearchHit,
  SessionView,
  Settings,
  WorkspaceView,
} from './types.gen';

export interface SessionPatch {
  title?: string;
  mode?: Mode;
  model?: ModelRef;
  archived?: boolean;
}

export interface ClientConfig {
  fetch: typeof fetch;
  /** Empty in the window, where the page and the API share an origin nobody else reaches. */
  token: string;
  /** Words for a call that never reached the server. */
  offline: { message: string; hint: string };
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type ArtifactAct = 'validate' | 'adopt' | 'withdraw';

const enc = encodeURIComponent;

/** The one typed client of docs/api.md. Every failure is an ApiError. */
export class Client {
  constructor(private readonly config: ClientConfig) {}

  /** A raw request with the token; answers of any status come back. */
  async raw(method: Method, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.config.token !== '') headers.set('Authorization', `Bearer ${this.config.token}`);
    try {
      return await this.config.fetch(path, { ...init, method, headers });
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
      const { message, hint } = this.config.offline;
      throw new ApiError('offline', message, hint, `${method} ${path}: ${String(cause)}`);
    }
  }

  /** A request whose answer must be a success. */
  async ok(method: Method, path: string, init: RequestInit = {}): Promise<Response> {
    const res = await this.raw(method, path, init);
    if (!res.ok) throw await failure(method, path, res);
    return res;
  }

  private async json<T>(method: Method, path: string, body?: unknown): Promise<T> {
    const init: RequestInit =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const res = await this.ok(method, path, init);
    return (await res.json()) as T;
  }

  /** A list, which Go may write as null when it is empty. */
  private async list<T>(path: string): Promise<T[]> {
    return (await this.json<T[] | null>('GET', path)) ?? [];
  }

  async bootstrap(): Promise<Bootstrap> {
    const b = await this.json<Bootstrap>('GET', '/api/bootstrap').catch((thrown: unknown) => {
      // Nothing but a wrong token can be refused here.
      if (!(thrown instanceof ApiError) || thrown.code !== 'forbidden') throw thrown;
      throw new ApiError('locked', thrown.message, thrown.hint, thrown.detail);
    });
    return {
      ...b,
      notices: b.notices ?? [],
      workspaces: b.workspaces ?? [],
      sessions: b.sessions ?? [],
      approvals: b.approvals ?? [],
    };
  }

  sessions(archived: boolean): Promise<SessionView[]> {
    return this.list(`/api/sessions${archived ? '?archived=1' : ''}`);
  }
  newSession(body: NewSession): Promise<SessionView> {
    return this.json('POST', '/api/sessions', body);
  }
  session(id: string): Promise<SessionView> {
    return this.json('GET', `/api/sessions/${enc(id)}`);
  }
  patchSession(id: string, patch: SessionPatch): Promise<SessionView> {
    return this.json('PATCH', `/api/sessions/${enc(id)}`, patch);
  }
  deleteSession(id: string): Promise<unknown> {
    return this.json('DELETE', `/api/sessions/${enc(id)}`);
  }
  eventsAfter(id: string, seq: number, limit: number): Promise<Event[]> {
    return this.list(`/api/sessions/${enc(id)}/events?after=${seq}&limit=${limit}`);
  }
  eventsBefore(id: string, seq: number, limit: number): Promise<Event[]> {
    return this.list(`/api/sessions/${enc(id)}/events?before=${seq}&limit=${limit}`);
  }
  send(id: string, message: NewMessage): Promise<Receipt> {
    return this.json('POST', `/api/sessions/${enc(id)}/messages`, message);
  }
  unqueue(id: string, message: string): Promise<unknown> {
    return this.json('DELETE', `/api/sessions/${enc(id)}/queue/${enc(message)}`);
  }
  async attach(id: string, name: string, body: Blob): Promise<Attachment> {
    const res = await this.ok('POST', `/api/sessions/${enc(id)}/attachments?name=${enc(name)}`, {
      body,
      headers: { 'Content-Type': 'application/octet-stream' },
    });
    return (await res.json()) as Attachment;
  }
  async attachPaths(id: string, paths: string[]): Promise<Attachment[]> {
    return (
      (await this.json<Attachment[] | null>('POST', `/api/sessions/${enc(id)}/attachments/paths`, {
        paths,
      })) ?? []
    );
  }
  cancel(id: string): Promise<unknown> {
    return this.json('POST', `/api/sessions/${enc(id)}/cancel`, {});
  }
  continueRun(id: string): Promise<Receipt> {
    return this.json('POST', `/api/sessions/${enc(id)}/continue`, {});
  }
  /** A new run on the last instruction, after one that failed or was stopped. */
  retry(id: string): Promise<Receipt> {
    return this.json('POST', `/api/sessions/${enc(id)}/retry`, {});
  }
  /** Goes back to an earlier event; the conversation continues from there. */
  moveLeaf(id: string, to: string): Promise<unknown> {
    return this.json('POST', `/api/sessions/${enc(id)}/leaf`, { to });
  }
  resolve(id: string, call: string, resolution: 'retry' | 'done' | 'skip', note: string): Promise<unknown> {
    return this.json('POST', `/api/sessions/${enc(id)}/calls/${enc(call)}/resolve`, { resolution, note });
  }
  consent(id: string, consent: boolean): Promise<unknown> {
    return this.json('POST', `/api/sessions/${enc(id)}/consent`, { consent });
  }
  async exportSession(id: string): Promise<Blob> {
    return (await this.ok('GET', `/api/sessions/${enc(id)}/export`)).blob();
  }

  async changes(id: string): Promise<ChangesView> {
    return changesOf(await this.json<ChangesView>('GET', `/api/sessions/${enc(id)}/changes`));
  }
  async review(id: string, verdict: 'accept' | 'reject', what: ReviewRequest): Promise<ReviewAnswer> {
    return reviewOf(
      await this.json<ReviewAnswer>('POST', `/api/sessions/${enc(id)}/changes/${verdict}`, what),
    );
  }
  commit(id: string, message: string, branch?: string): Promise<{ commit: string }> {
    return this.json(
      'POST',
      `/api/sessions/${enc(id)}/changes/commit`,
      branch ? { message, branch } : { message },
    );
  }
  async restore(id: string, paths: string[], dryRun: boolean): Promise<ReviewAnswer> {
    return reviewOf(
      await this.json<ReviewAnswer>('POST', `/api/sessions/${enc(id)}/restore`, { paths, dryRun }),
    );
  }

  approvals(): Promise<ApprovalView[]> {
    return this.list('/api/approvals');
  }
  answer(id: string, answer: ApprovalAnswer): Promise<unknown> {
    return this.json('POST', `/api/approvals/${enc(id)}`, answer);
  }

  workspaces(): Promise<WorkspaceView[]> {
    return this.list('/api/workspaces');
  }
  openWorkspace(path: string): Promise<WorkspaceView> {
    return this.json('POST', '/api/workspaces', { path });
  }
  openSample(): Promise<WorkspaceView> {
    return this.json('POST', '/api/workspaces', { sample: true });
  }
  taskFolder(name: string): Promise<WorkspaceView> {
    return this.json('POST', '/api/workspaces/task', { name });
  }
  trust(id: string, trusted: boolean): Promise<WorkspaceView> {
    return this.json('POST', `/api/workspaces/${enc(id)}/trust`, { trusted });
  }
  relink(id: string, path: string): Promise<WorkspaceView> {
    return this.json('POST', `/api/workspaces/${enc(id)}/relink`, { path });
  }
  forgetWorkspace(id: string): Promise<unknown> {
    return this.json('DELETE', `/api/workspaces/${enc(id)}`);
  }

  async blob(hash: string): Promise<Blob> {
    return (await this.ok('GET', `/api/blobs/${enc(hash)}`)).blob();
  }
  artifacts(session?: string): Promise<ArtifactView[]> {
    return this.list(`/api/artifacts${session ? `?session=${enc(session)}` : ''}`);
  }
  promote(session: string, path: string): Promise<ArtifactView> {
    return this.json('POST', `/api/sessions/${enc(session)}/artifacts`, { path });
  }
  async artifactContent(id: string, revision: number): Promise<Blob> {
    return (await this.ok('GET', `/api/artifacts/${enc(id)}/${revision}/content`)).blob();
  }
  saveArtifact(id: string, revision: number, path: string): Promise<ArtifactView> {
    return this.json('POST', `/api/artifacts/${enc(id)}/${revision}/save`, { path });
  }
  markArtifact(id: string, revision: number, act: ArtifactAct, check?: string): Promise<ArtifactView> {
    return this.json('POST', `/api/artifacts/${enc(id)}/${revision}/${act}`, check ? { check } : {});
  }

  async models(): Promise<ModelsView> {
    return modelsOf(await this.json<ModelsView>('GET', '/api/models'));
  }
  async chooseModel(ref: ModelRef): Promise<ModelsView> {
    return modelsOf(await this.json<ModelsView>('POST', '/api/models/choose', ref));
  }
  settings(): Promise<Settings> {
    return this.json('GET', '/api/settings');
  }
  saveSettings(settings: Settings): Promise<Settings> {
    return this.json('PUT', '/api/settings', settings);
  }
  async doctor(): Promise<DoctorView> {
    const d = await this.json<DoctorView>('GET', '/api/doctor');
    return { checks: d.checks ?? [] };
  }
  search(text: string): Promise<SearchHit[]> {
    return this.list(`/api/search?q=${enc(text)}`);
  }
}

function changesOf(c: ChangesView): ChangesView {
  return {
    ...c,
    files: (c.files ?? []).map((f) => ({
      ...f,
      hunks: (f.hunks ?? []).map((h) => ({ ...h, lines: h.lines ?? [] })),
    })),
  };
}

function reviewOf(a: ReviewAnswer): ReviewAnswer {
  return { ...a, changes: changesOf(a.changes) };
}

function modelsOf(m: ModelsView): ModelsView {
  return { ...m, models: m.models ?? [], providers: m.providers ?? [] };
}

async function failure(method: Method, path: string, res: Response): Promise<ApiError> {
  const detail = `${method} ${path}: ${res.status}`;
  let code: ErrorCode = 'internal';
  let message = res.statusText;
  let hint = '';
  try {
    const body = (await res.json()) as { code?: ErrorCode; message?: string; hint?: string };
    if (body.code) code = body.code;
    message = body.message ?? message;
    hint = body.hint ?? hint;
  } catch {
    // The body is not JSON: a proxy in between, or a server that is going down.
  }
  return new ApiError(code, message || `HTTP ${res.status}`, hint, detail);
}
