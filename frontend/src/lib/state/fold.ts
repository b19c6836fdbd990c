import type {
  ApprovalRequested,
  ArtifactRef,
  Attachment,
  Budget,
  CallID,
  Event,
  FileImage,
  GrantScope,
  LayerDecision,
  Mode,
  ModelRef,
  ModelState,
  Outcome,
  PlanItem,
  RunID,
  Survival,
  ToolOutput,
  Usage,
} from '../api/types.gen';

/** Where a tool call stands. `waits` is for the person, `unknown` needs a decision. */
export type CallState = 'requested' | 'waits' | 'executing' | 'done' | 'failed' | 'refused' | 'unknown';

/** A tool call as the events about it add up. */
export interface Call {
  id: CallID;
  name: string;
  input: string;
  malformed: string;
  state: CallState;
  run: RunID;
  requestedAt: string;
  startedAt: string;
  finishedAt: string;
  where: string;
  attempt: number;
  durationMs: number;
  recovered: boolean;
  output: ToolOutput | null;
  /** Why it failed, was refused, or what is known of it; with the next step. */
  message: string;
  hint: string;
  layers: LayerDecision[];
  /** The effect as it was digested. */
  argv: string[];
  network: string;
  files: FileImage[];
  /** The events this row is made of, for opening it down to the record. */
  seqs: number[];
}

/** An approval and its answer; `state` open means the person is asked. */
export interface Approval {
  request: ApprovalRequested;
  seq: number;
  at: string;
  state: 'open' | 'granted' | 'denied' | 'expired';
  by: string;
  note: string;
  scope: GrantScope | null;
}

export interface Queued {
  id: string;
  text: string;
  attachments: Attachment[];
  steer: boolean;
  at: string;
}

/** A remark between messages: something changed that the person may want to see in its place. */
export type Note =
  | { what: 'model'; model: ModelRef }
  | { what: 'mode'; mode: Mode }
  | { what: 'budget'; budget: Budget }
  | { what: 'renamed'; title: string }
  | { what: 'consent'; revoked: boolean; reason: string }
  | { what: 'compacted'; before: number; after: number; elided: number; dropped: number }
  | { what: 'continued'; reason: string }
  | { what: 'cancelling' }
  | { what: 'reviewed'; verdict: 'accepted' | 'rejected'; path: string; hunks: number }
  | { what: 'restored'; files: string[] }
  | { what: 'adopted'; how: string; paths: string[]; commit: string }
  | {
      what: 'artifact';
      act: 'promoted' | 'validated' | 'adopted' | 'withdrawn';
      artifact: ArtifactRef;
      text: string;
    }
  | { what: 'grant'; scope: GrantScope }
  | { what: 'revoked'; scope: string }
  | { what: 'moved' };

interface Placed {
  key: string;
  seq: number;
  at: string;
}

/** One entry of the conversation, in the order of the record. */
export type Item = Placed &
  (
    | { type: 'user'; text: string; attachments: Attachment[]; fromQueue: boolean }
    | {
        type: 'answer';
        messageId: string;
        /** pending: the model was asked; live pieces carry this message id. */
        state: 'pending' | 'done' | 'failed';
        text: string;
        thinking: string;
        recorded: boolean;
        cut: boolean;
        model: ModelRef;
        usage: Usage | null;
        failure: { state: ModelState; message: string; hint: string; retry: boolean } | null;
      }
    | { type: 'call'; callId: CallID }
    | {
        type: 'ending';
        outcome: Outcome;
        reason: string;
        steps: number;
        usage: Usage;
        startedAt: string;
      }
    | { type: 'interrupted'; reason: string; found: Survival | null; unknown: CallID[] }
    | { type: 'note'; note: Note }
  );

export interface RunFacts {
  id: RunID;
  mode: Mode;
  model: ModelRef;
  budget: Budget;
  startedAt: string;
  finishedAt: string;
  steps: number;
  usage: Usage;
  calls: number;
  survival: Survival | null;
}

/** A session as far as the events read so far tell it. Values are never changed in place. */
export interface Fold {
  firstSeq: number;
  lastSeq: number;
  items: readonly Item[];
  calls: ReadonlyMap<CallID, Call>;
  approvals: ReadonlyMap<string, Approval>;
  queue: readonly Queued[];
  plan: readonly PlanItem[];
  run: RunFacts | null;
  /** What the last request to the model held, of how much it can hold. */
  context: { used: number; limit: number } | null;
  /** Standing permissions of this session. */
  grants: readonly GrantScope[];
  recorded: boolean;
}

export const emptyFold: Fold = {
  firstSeq: 0,
  lastSeq: 0,
  items: [],
  calls: new Map(),
  approvals: new Map(),
  queue: [],
  plan: [],
  run: null,
  context: null,
  grants: [],
  recorded: false,
};

const noUsage: Usage = { inputTokens: 0, outputTokens: 0 };

/**
 * The events of the conversation: those on the path from the last one to the root.
 * What a person went back behind is another branch; it stays in the record.
 */
export function onPath(events: readonly Event[]): readonly Event[] {
  let want = events.at(-1)?.id;
  const path: Event[] = [];
  for (let i = events.length - 1; i >= 0; i--) {
    const e = events[i] as Event;
    if (e.id !== want) continue;
    path.push(e);
    want = e.parent;
    // Before a root or a store without parents nothing is left out.
    if (want === undefined || want === '') want = events[i - 1]?.id;
  }
  return path.length === events.length ? events : path.reverse();
}

/** Adds one event. Events that were already added are ignored; order is by seq. */
export function reduce(state: Fold, event: Event): Fold {
  return reduceAll(state, [event]);
}

/** Adds events in order, copying the containers once. */
export function reduceAll(state: Fold, events: readonly Event[]): Fold {
  const fresh = events.filter((e) => e.seq > state.lastSeq);
  if (fresh.length === 0) return state;
  const draft = new Draft(state);
  for (const e of fresh) {
    draft.apply(e);
    if (draft.firstSeq === 0) draft.firstSeq = e.seq;
    draft.lastSeq = e.seq;
  }
  return draft.finish();
}

/** The containers of a fold while events are added; the entries themselves are replaced, not changed. */
class Draft {
  firstSeq: number;
  lastSeq: number;
  private readonly items: Item[];
  private readonly calls: Map<CallID, Call>;
  private readonly approvals: Map<string, Approval>;
  private readonly answers = new Map<string, number>();
  private queue: Queued[];
  private plan: readonly PlanItem[];
  private run: RunFacts | null;
  private context: Fold['context'];
  private grants: GrantScope[];
  private recorded: boolean;

  constructor(from: Fold) {
    this.firstSeq = from.firstSeq;
    this.lastSeq = from.lastSeq;
    this.items = [...from.items];
    this.calls = new Map(from.calls);
    this.approvals = new Map(from.approvals);
    this.queue = [...from.queue];
    this.plan = from.plan;
    this.run = from.run;
    this.context = from.context;
    this.grants = [...from.grants];
    this.recorded = from.recorded;
    // Only the tail can still be waiting for its answer.
    for (let i = Math.max(0, this.items.length - 400); i < this.items.length; i++) {
      const item = this.items[i];
      if (item?.type === 'answer') this.answers.set(item.messageId, i);
    }
  }

  finish(): Fold {
    return {
      firstSeq: this.firstSeq,
      lastSeq: this.lastSeq,
      items: this.items,
      calls: this.calls,
      approvals: this.approvals,
      queue: this.queue,
      plan: this.plan,
      run: this.run,
      context: this.context,
      grants: this.grants,
      recorded: this.recorded,
    };
  }

  apply(e: Event): void {
    switch (e.kind) {
      case 'session.created':
      case 'session.archived':
      case 'gate.decided':
      case 'budget.reserved':
      case 'budget.settled':
      case 'workspace.based':
      case 'file.written':
      case 'files.changed':
      case 'tool_call.requested':
      case 'tool_call.refused':
      case 'tool_call.intent':
      case 'tool_call.executing':
      case 'tool_call.completed':
      case 'tool_call.failed':
      case 'tool_call.unknown':
      case 'tool_call.resolved':
        return this.applyCall(e);
      case 'approval.requested':
      case 'approval.granted':
      case 'approval.denied':
      case 'approval.expired':
        return this.applyApproval(e);
      case 'session.renamed':
        // The first message names the session: that is no news.
        if (e.causedBy) return;
        return this.note(e, { what: 'renamed', title: e.payload.title });
      case 'leaf.moved':
        this.answers.clear();
        return this.note(e, { what: 'moved' });
      case 'model.selected':
        return this.note(e, { what: 'model', model: e.payload.model });
      case 'mode.changed':
        if (this.run) this.run = { ...this.run, mode: e.payload.mode };
        return this.note(e, { what: 'mode', mode: e.payload.mode });
      case 'message.sent':
        this.queue = this.queue.filter((q) => q.id !== e.payload.messageId);
        this.items.push({
          type: 'user',
          ...placed(e, e.payload.messageId),
          text: e.payload.text,
          attachments: e.payload.attachments ?? [],
          fromQueue: e.payload.fromQueue ?? false,
        });
        return;
      case 'message.queued':
        this.queue.push({
          id: e.payload.messageId,
          text: e.payload.text,
          attachments: e.payload.attachments ?? [],
          steer: e.payload.steer ?? false,
          at: e.createdAt,
        });
        return;
      case 'message.unqueued':
        this.queue = this.queue.filter((q) => q.id !== e.payload.messageId);
        return;
      case 'model_call.started':
        this.context = { used: e.payload.contextTokens, limit: e.payload.contextLimit };
        return this.answer(e.payload.messageId, {
          type: 'answer',
          ...placed(e, e.payload.messageId),
          messageId: e.payload.messageId,
          state: 'pending',
          text: '',
          thinking: '',
          recorded: false,
          cut: false,
          model: e.payload.model,
          usage: null,
          failure: null,
        });
      case 'message.completed':
        this.recorded ||= e.payload.recorded ?? false;
        if (this.run) {
          this.run = { ...this.run, steps: this.run.steps + 1, usage: add(this.run.usage, e.payload.usage) };
        }
        return this.answer(e.payload.messageId, {
          type: 'answer',
          ...placed(e, e.payload.messageId),
          messageId: e.payload.messageId,
          state: 'done',
          text: e.payload.text,
          thinking: e.payload.thinking ?? '',
          recorded: e.payload.recorded ?? false,
          cut: e.payload.finish === 'length',
          model: e.payload.model,
          usage: e.payload.usage,
          failure: null,
        });
      case 'model_call.failed': {
        const { messageId, state, message, hint = '', partial = '', retry } = e.payload;
        return this.answer(messageId, {
          type: 'answer',
          ...placed(e, messageId),
          messageId,
          state: 'failed',
          text: partial,
          thinking: '',
          recorded: false,
          cut: false,
          model: { provider: '', name: '' },
          usage: null,
          failure: { state, message, hint, retry },
        });
      }
      case 'run.started':
        this.run = {
          id: e.run ?? '',
          mode: e.payload.mode,
          model: e.payload.model,
          budget: e.payload.budget,
          startedAt: e.createdAt,
          finishedAt: '',
          steps: 0,
          usage: noUsage,
          calls: 0,
          survival: null,
        };
        this.plan = [];
        return;
      case 'run.continued':
        // An answered approval stands in its own row.
        if (e.payload.reason === 'approved') return;
        return this.note(e, { what: 'continued', reason: e.payload.reason });
      case 'run.cancel_requested':
        return this.note(e, { what: 'cancelling' });
      case 'run.interrupted':
        this.dropPending();
        if (this.run) this.run = { ...this.run, survival: e.payload.found ?? null };
        this.items.push({
          type: 'interrupted',
          ...placed(e, e.id),
          reason: e.payload.reason,
          found: e.payload.found ?? null,
          unknown: e.payload.unknown ?? [],
        });
        return;
      case 'run.finished':
        this.dropPending();
        this.items.push({
          type: 'ending',
          ...placed(e, e.id),
          outcome: e.payload.outcome,
          reason: e.payload.reason ?? '',
          steps: e.payload.steps,
          usage: e.payload.usage,
          startedAt: this.run?.startedAt ?? '',
        });
        if (this.run) {
          this.run = { ...this.run, finishedAt: e.createdAt, steps: e.payload.steps, usage: e.payload.usage };
        }
        return;
      case 'context.compacted':
        return this.note(e, {
          what: 'compacted',
          before: e.payload.beforeTokens,
          after: e.payload.afterTokens,
          elided: e.payload.elided?.length ?? 0,
          dropped: e.payload.dropped?.length ?? 0,
        });
      case 'grant.revoked':
        this.grants = this.grants.filter((g) => g.id !== e.payload.scope);
        return this.note(e, { what: 'revoked', scope: e.payload.scope });
      case 'sandbox.consented':
        return this.note(e, {
          what: 'consent',
          revoked: e.payload.revoked ?? false,
          reason: e.payload.reason,
        });
      case 'plan.updated':
        this.plan = e.payload.items ?? [];
        return;
      case 'budget.set':
        if (this.run) this.run = { ...this.run, budget: e.payload.budget };
        return this.note(e, { what: 'budget', budget: e.payload.budget });
      case 'hunk.accepted':
        return this.reviewed(e, 'accepted', e.payload.path, e.payload.hunks);
      case 'hunk.rejected':
        return this.reviewed(e, 'rejected', e.payload.file.path, e.payload.hunks);
      case 'workspace.restored':
        return this.note(e, { what: 'restored', files: (e.payload.files ?? []).map((f) => f.path) });
      case 'workspace.adopted':
        return this.note(e, {
          what: 'adopted',
          how: e.payload.how,
          paths: e.payload.paths ?? [],
          commit: e.payload.commit ?? '',
        });
      case 'artifact.promoted':
        if (e.payload.callId) return; // the call's row says it
        return this.note(e, {
          what: 'artifact',
          act: 'promoted',
          artifact: e.payload.artifact,
          text: e.payload.source,
        });
      case 'artifact.validated':
        return this.note(e, {
          what: 'artifact',
          act: 'validated',
          artifact: e.payload.artifact,
          text: e.payload.check,
        });
      case 'artifact.adopted':
        return this.note(e, {
          what: 'artifact',
          act: 'adopted',
          artifact: e.payload.artifact,
          text: e.payload.savedTo ?? '',
        });
      case 'artifact.withdrawn':
        return this.note(e, { what: 'artifact', act: 'withdrawn', artifact: e.payload.artifact, text: '' });
      default:
        // A kind this page does not know yet: the record view still shows it.
        return ignore(e);
    }
  }

  private applyCall(e: Event): void {
    switch (e.kind) {
      case 'tool_call.requested':
        this.calls.set(e.payload.callId, {
          id: e.payload.callId,
          name: e.payload.name,
          input: e.payload.input,
          malformed: e.payload.malformed ?? '',
          state: 'requested',
          run: e.run ?? '',
          requestedAt: e.createdAt,
          startedAt: '',
          finishedAt: '',
          where: '',
          attempt: 0,
          durationMs: 0,
          recovered: false,
          output: null,
          message: '',
          hint: '',
          layers: [],
          argv: [],
          network: '',
          files: [],
          seqs: [e.seq],
        });
        this.items.push({ type: 'call', ...placed(e, e.payload.callId), callId: e.payload.callId });
        if (this.run) this.run = { ...this.run, calls: this.run.calls + 1 };
        return;
      case 'gate.decided':
        return this.call(e.payload.callId, e.seq, { layers: e.payload.layers ?? [] });
      case 'tool_call.refused':
        return this.call(e.payload.callId, e.seq, {
          state: 'refused',
          finishedAt: e.createdAt,
          message: e.payload.reason,
        });
      case 'tool_call.intent':
        return this.call(e.payload.callId, e.seq, {
          attempt: e.payload.attempt,
          argv: e.payload.effect.argv ?? [],
          network: e.payload.effect.network ?? '',
          files: e.payload.effect.files ?? [],
        });
      case 'tool_call.executing':
        return this.call(e.payload.callId, e.seq, {
          state: 'executing',
          startedAt: e.createdAt,
          where: e.payload.where,
          attempt: e.payload.attempt,
        });
      case 'tool_call.completed':
        return this.call(e.payload.callId, e.seq, {
          state: 'done',
          finishedAt: e.createdAt,
          output: e.payload.output,
          durationMs: e.payload.durationMs,
          recovered: e.payload.recovered ?? false,
          message: '',
        });
      case 'tool_call.failed':
        return this.call(e.payload.callId, e.seq, {
          state: 'failed',
          finishedAt: e.createdAt,
          message: e.payload.message,
          hint: e.payload.hint ?? '',
        });
      case 'tool_call.unknown':
        return this.call(e.payload.callId, e.seq, { state: 'unknown', message: e.payload.known });
      case 'tool_call.resolved':
        return this.call(e.payload.callId, e.seq, {
          state:
            e.payload.resolution === 'retry'
              ? 'requested'
              : e.payload.resolution === 'done'
                ? 'done'
                : 'refused',
          message: e.payload.note ?? '',
        });
      case 'file.written':
      case 'files.changed':
        return this.call(e.payload.callId, e.seq, {});
    }
  }

  private applyApproval(e: Event): void {
    switch (e.kind) {
      case 'approval.requested':
        this.approvals.set(e.payload.approvalId, {
          request: e.payload,
          seq: e.seq,
          at: e.createdAt,
          state: 'open',
          by: '',
          note: '',
          scope: null,
        });
        return this.call(e.payload.callId, e.seq, { state: 'waits' });
      case 'approval.granted':
        if (e.payload.scope) {
          this.grants.push(e.payload.scope);
          this.note(e, { what: 'grant', scope: e.payload.scope });
        }
        this.settle(e.payload.approvalId, {
          state: 'granted',
          by: e.payload.by,
          scope: e.payload.scope ?? null,
        });
        return this.call(e.payload.callId, e.seq, { state: 'requested' });
      case 'approval.denied':
        this.settle(e.payload.approvalId, { state: 'denied', by: e.payload.by, note: e.payload.note ?? '' });
        return this.call(e.payload.callId, e.seq, { state: 'refused', message: e.payload.note ?? '' });
      case 'approval.expired':
        this.settle(e.payload.approvalId, { state: 'expired', note: e.payload.reason });
        return this.call(e.payload.callId, e.seq, { state: 'refused', message: e.payload.reason });
    }
  }

  private settle(id: string, change: Partial<Approval>): void {
    const old = this.approvals.get(id);
    if (old) this.approvals.set(id, { ...old, ...change });
  }

  private call(id: CallID, seq: number, change: Partial<Call>): void {
    const old = this.calls.get(id);
    // A refusal after a denial keeps the person's words.
    if (!old) return;
    const message =
      change.state === 'refused' && old.state === 'refused' && old.message ? old.message : change.message;
    this.calls.set(id, {
      ...old,
      ...change,
      ...(message === undefined ? {} : { message }),
      seqs: [...old.seqs, seq],
    });
  }

  private answer(messageId: string, item: Item): void {
    const at = this.answers.get(messageId);
    const old = at === undefined ? undefined : this.items[at];
    if (at !== undefined && old?.type === 'answer' && old.messageId === messageId) {
      this.items[at] = item;
      return;
    }
    this.answers.set(messageId, this.items.length);
    this.items.push(item);
  }

  /** Nothing streams any more: answers that were asked for and never came are not shown as pending. */
  private dropPending(): void {
    for (let i = this.items.length - 1; i >= 0; i--) {
      const item = this.items[i];
      if (item?.type === 'answer' && item.state === 'pending') this.items.splice(i, 1);
      if (item?.type === 'user') break;
    }
    this.answers.clear();
  }

  private note(e: Event, note: Note): void {
    const last = this.items.at(-1);
    // Settings that are turned to and fro without a word in between leave one note.
    if (
      last?.type === 'note' &&
      last.note.what === note.what &&
      (note.what === 'mode' || note.what === 'model')
    ) {
      this.items.pop();
    }
    this.items.push({ type: 'note', ...placed(e, e.id), note });
  }

  private reviewed(
    e: Event,
    verdict: 'accepted' | 'rejected',
    path: string,
    hunks: string[] | undefined,
  ): void {
    const last = this.items.at(-1);
    const count = hunks?.length ?? 0;
    if (
      last?.type === 'note' &&
      last.note.what === 'reviewed' &&
      last.note.verdict === verdict &&
      last.note.path === path
    ) {
      const note: Note = { ...last.note, hunks: count === 0 ? 0 : last.note.hunks + count };
      this.items[this.items.length - 1] = { ...last, note };
      return;
    }
    this.note(e, { what: 'reviewed', verdict, path, hunks: count });
  }
}

function placed(e: Event, key: string): Placed {
  return { key, seq: e.seq, at: e.createdAt };
}

function ignore(_event: never): void {}

function add(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: (a.cachedTokens ?? 0) + (b.cachedTokens ?? 0),
    durationMs: (a.durationMs ?? 0) + (b.durationMs ?? 0),
  };
}
