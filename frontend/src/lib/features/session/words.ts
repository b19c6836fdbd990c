import { format, t } from '../../i18n';
import type { Call, Note } from '../../state/fold';
import { familyOf, objectOf } from '../../state/rows';
import type { Budget, ModelRef } from '../../api/types.gen';

export function modelName(model: ModelRef): string {
  return model.provider === 'practice' ? t.model.practice : model.name;
}

/** Verb, object and result of a call's one line. */
export function callWords(call: Call): { verb: string; object: string; result: string; bad: boolean } {
  const family = familyOf(call.name);
  const active = call.state === 'executing';
  const words = call.name === 'ls' ? t.call.listed : t.call.verbs[family];
  const form = active ? 'doing' : call.state === 'done' || call.state === 'failed' ? 'did' : 'wanted';
  const verb = family === 'other' ? t.call.called(call.name) : words[form];
  return { verb, object: objectOf(call).split('\n')[0] ?? '', ...result(call) };
}

function result(call: Call): { result: string; bad: boolean } {
  switch (call.state) {
    case 'failed':
      return { result: call.message.split('\n')[0] ?? '', bad: true };
    case 'refused':
      return { result: t.call.states.refused, bad: true };
    case 'unknown':
      return { result: t.call.states.unknown, bad: true };
    case 'requested':
      return { result: t.call.states.requested, bad: false };
    case 'waits':
      return { result: t.call.states.waits, bad: false };
    case 'done': {
      const out = call.output;
      if (out?.timedOut) return { result: t.call.timedOut, bad: true };
      if (out?.signal) return { result: t.call.signal(out.signal), bad: true };
      const code = out?.exitCode;
      if (code !== undefined && code !== 0) return { result: t.call.exit(code), bad: true };
      return { result: out?.summary ?? '', bad: false };
    }
    default:
      return { result: '', bad: false };
  }
}

/** Whether a call opens by itself: when something went wrong that the person should see. */
export function opensItself(call: Call): boolean {
  return call.malformed !== '' || call.state === 'unknown' || (result(call).bad && call.state !== 'refused');
}

export function groupWords(family: 'look' | 'edit' | 'run', calls: readonly Call[]): string {
  const distinct = new Set(calls.map((c) => objectOf(c))).size;
  if (family === 'edit') return t.call.editedFiles(distinct);
  if (family === 'run') return t.call.ranCommands(calls.length);
  if (calls.every((c) => familyOf(c.name) === 'read')) return t.call.readFiles(distinct);
  if (calls.every((c) => familyOf(c.name) === 'search')) return t.call.searched(calls.length);
  return t.call.looked(calls.length);
}

export function budgetWords(b: Budget): string {
  const parts = [
    b.tokens ? t.budget.tokens(b.tokens) : '',
    b.steps ? t.budget.steps(b.steps) : '',
    b.calls ? t.budget.calls(b.calls) : '',
    b.seconds ? t.budget.seconds(b.seconds) : '',
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(', ') : t.budget.none;
}

export function noteWords(note: Note): string {
  const n = t.session.notes;
  switch (note.what) {
    case 'model':
      return n.model(modelName(note.model));
    case 'mode':
      return n.mode(note.mode);
    case 'budget':
      return n.budget(budgetWords(note.budget));
    case 'renamed':
      return n.renamed(note.title);
    case 'consent':
      return note.revoked ? n.consentRevoked : n.consented;
    case 'compacted':
      return n.compacted(note.before, note.after);
    case 'continued':
      return n.continued[note.reason] ?? note.reason;
    case 'cancelling':
      return n.cancelling;
    case 'reviewed':
      return n[note.verdict](note.path, note.hunks);
    case 'restored':
      return n.restored(note.files);
    case 'adopted':
      return note.commit ? n.committed(note.commit) : n.adopted(note.paths.length);
    case 'artifact':
      return n.artifact[note.act](
        `${note.artifact.name} ${t.artifact.revision(note.artifact.revision)}`,
        note.text,
      );
    case 'grant':
      return n.grant(note.scope.words);
    case 'revoked':
      return n.revoked;
    case 'moved':
      return n.moved;
  }
}

/** How long a call took or has been running. */
export function callTime(call: Call, now: number): string {
  if (call.state === 'executing' && call.startedAt) {
    const ms = now - Date.parse(call.startedAt);
    return ms < 1_000 ? '' : format.elapsed(ms);
  }
  return call.state === 'done' && call.durationMs >= 0 ? format.took(call.durationMs) : '';
}
