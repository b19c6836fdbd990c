import type { Approval, Call, Fold, Item } from './fold';

/** What a tool does, for folding rows of one kind and for their words. */
export type Family = 'read' | 'search' | 'edit' | 'write' | 'run' | 'plan' | 'artifact' | 'other';

/** One row of the conversation as it is shown. */
export type Row =
  | { type: 'item'; key: string; seq: number; item: Exclude<Item, { type: 'call' }> }
  | {
      type: 'call';
      key: string;
      seq: number;
      call: Call;
      approval: Approval | null;
      nested: boolean;
      newestPlan: boolean;
    }
  | {
      type: 'group';
      key: string;
      seq: number;
      family: 'look' | 'edit' | 'run';
      calls: Call[];
      open: boolean;
    };

const families: Record<string, Family> = {
  read: 'read',
  ls: 'search',
  glob: 'search',
  grep: 'search',
  edit: 'edit',
  write: 'write',
  bash: 'run',
  plan: 'plan',
  save_artifact: 'artifact',
};

export function familyOf(tool: string): Family {
  return families[tool] ?? 'other';
}

/** How a call may fold with its neighbours, and from how many on. */
function folding(call: Call): { family: 'look' | 'edit' | 'run'; from: number } | null {
  if (call.state !== 'done' || call.malformed !== '') return null;
  if ((call.output?.exitCode ?? 0) !== 0 || call.output?.timedOut || call.output?.signal) return null;
  switch (familyOf(call.name)) {
    case 'read':
    case 'search':
      return { family: 'look', from: 2 };
    case 'edit':
    case 'write':
      return { family: 'edit', from: 4 };
    case 'run':
      return { family: 'run', from: 4 };
    default:
      return null;
  }
}

// Rows of entries that did not change are the same objects as before.
const itemRows = new WeakMap<Item, Extract<Row, { type: 'item' }>>();
const callRows = new WeakMap<Call, Extract<Row, { type: 'call' }>>();

/** Turns a fold into rows. `isOpen` says which groups the person opened. */
export function rowsOf(fold: Fold, isOpen: (key: string) => boolean): Row[] {
  const rows: Row[] = [];
  const approvals = new Map<string, Approval>();
  for (const a of fold.approvals.values()) approvals.set(a.request.callId, a);
  let newestPlan = '';
  for (const item of fold.items) {
    if (item.type === 'call' && fold.calls.get(item.callId)?.name === 'plan') newestPlan = item.callId;
  }
  const callRow = (call: Call, seq: number, nested: boolean): Row => {
    const approval = approvals.get(call.id) ?? null;
    const newest = call.id === newestPlan;
    const known = callRows.get(call);
    // The same row again is not drawn again.
    if (known && known.approval === approval && known.nested === nested && known.newestPlan === newest)
      return known;
    const row = { type: 'call' as const, key: call.id, seq, call, approval, nested, newestPlan: newest };
    callRows.set(call, row);
    return row;
  };

  const { items } = fold;
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (!item) continue;
    if (item.type !== 'call') {
      // An answer that only called tools has nothing to read.
      if (item.type === 'answer' && item.state === 'done' && item.text.trim() === '' && item.thinking === '')
        continue;
      let row = itemRows.get(item);
      if (!row) itemRows.set(item, (row = { type: 'item', key: item.key, seq: item.seq, item }));
      rows.push(row);
      continue;
    }
    const first = fold.calls.get(item.callId);
    if (!first) continue;
    const fold1 = folding(first);
    if (!fold1) {
      rows.push(callRow(first, item.seq, false));
      continue;
    }
    const calls: Call[] = [first];
    const seqs: number[] = [item.seq];
    let j = i + 1;
    for (; j < items.length; j++) {
      const next = items[j];
      if (!next) break;
      if (next.type === 'answer' && next.state === 'done' && next.text.trim() === '' && next.thinking === '')
        continue;
      if (next.type !== 'call') break;
      const call = fold.calls.get(next.callId);
      if (!call || folding(call)?.family !== fold1.family) break;
      calls.push(call);
      seqs.push(next.seq);
    }
    if (calls.length < fold1.from) {
      calls.forEach((call, n) => rows.push(callRow(call, seqs[n] ?? item.seq, false)));
    } else {
      const key = `group:${first.id}`;
      const open = isOpen(key);
      rows.push({ type: 'group', key, seq: item.seq, family: fold1.family, calls, open });
      if (open) calls.forEach((call, n) => rows.push(callRow(call, seqs[n] ?? item.seq, true)));
    }
    i = j - 1;
  }
  return rows;
}

/** The arguments of a call, or null when they are no JSON object. */
export function argumentsOf(call: Call): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(call.input);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** What a call is about: a path, a command, a pattern. */
export function objectOf(call: Call): string {
  const args = argumentsOf(call) ?? {};
  const text = (...keys: string[]): string => {
    for (const key of keys) if (typeof args[key] === 'string') return args[key];
    return '';
  };
  switch (familyOf(call.name)) {
    case 'run':
      return text('command');
    case 'search':
      return text('pattern', 'path') || '.';
    case 'artifact':
      return text('name', 'path');
    case 'plan':
      return '';
    default:
      return text('path', 'file_path', 'url', 'name');
  }
}
