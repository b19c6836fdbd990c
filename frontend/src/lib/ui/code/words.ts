/** A piece of a changed line; `changed` marks what differs from its partner. */
export interface Span {
  text: string;
  changed: boolean;
}

const splitter = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
const mostTokens = 400;

/**
 * The words that differ between an old and a new line. Null when the lines share
 * so little that marking words would only make noise.
 */
export function wordChanges(before: string, after: string): { before: Span[]; after: Span[] } | null {
  const a = before.match(splitter) ?? [];
  const b = after.match(splitter) ?? [];
  if (a.length === 0 || b.length === 0 || a.length > mostTokens || b.length > mostTokens) return null;
  const keepA = new Array<boolean>(a.length).fill(false);
  const keepB = new Array<boolean>(b.length).fill(false);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) {
    keepA[head] = keepB[head] = true;
    head++;
  }
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  ) {
    keepA[a.length - 1 - tail] = keepB[b.length - 1 - tail] = true;
    tail++;
  }
  longestCommon(a.slice(head, a.length - tail), b.slice(head, b.length - tail), (i, j) => {
    keepA[head + i] = true;
    keepB[head + j] = true;
  });
  const shared = a.reduce((n, token, i) => n + (keepA[i] && token.trim() ? token.length : 0), 0);
  const size = Math.max(before.replace(/\s/g, '').length, after.replace(/\s/g, '').length);
  if (shared < size * 0.3) return null;
  return { before: spans(a, keepA), after: spans(b, keepB) };
}

/** Pairs of a run of removed lines with the added lines after it: the first with the first, and so on. */
export function pairLines(ops: readonly string[]): Map<number, number> {
  const pairs = new Map<number, number>();
  for (let i = 0; i < ops.length;) {
    if (ops[i] !== '-') {
      i++;
      continue;
    }
    let removed = i;
    while (ops[removed] === '-') removed++;
    let added = removed;
    while (ops[added] === '+') added++;
    const n = Math.min(removed - i, added - removed);
    for (let k = 0; k < n; k++) {
      pairs.set(i + k, removed + k);
      pairs.set(removed + k, i + k);
    }
    i = added;
  }
  return pairs;
}

function longestCommon(
  a: readonly string[],
  b: readonly string[],
  keep: (i: number, j: number) => void,
): void {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] =
        a[i] === b[j]
          ? (table[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(table[(i + 1) * width + j] ?? 0, table[i * width + j + 1] ?? 0);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) keep(i++, j++);
    else if ((table[(i + 1) * width + j] ?? 0) >= (table[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
}

function spans(tokens: readonly string[], keep: readonly boolean[]): Span[] {
  const out: Span[] = [];
  tokens.forEach((text, i) => {
    let changed = !keep[i];
    // Space between two changed words belongs to the change.
    if (!changed && /^\s+$/.test(text) && i > 0 && !keep[i - 1] && i + 1 < tokens.length && !keep[i + 1])
      changed = true;
    const last = out.at(-1);
    if (last && last.changed === changed) last.text += text;
    else out.push({ text, changed });
  });
  return out;
}
