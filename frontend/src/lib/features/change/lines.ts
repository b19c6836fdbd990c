import type { DiffLine, FileChange, Hunk } from '../../api/types.gen';
import { pairLines, wordChanges, type Span } from '../../ui/code/words';

/** One side of a shown line. */
export interface Side {
  number: number;
  text: string;
  op: string;
  noNl: boolean;
}

/** One row of the review list. */
export type DiffRow =
  | { type: 'file'; key: string; file: FileChange; folded: boolean }
  | { type: 'remark'; key: string; file: FileChange }
  | { type: 'hunk'; key: string; file: FileChange; hunk: Hunk }
  | {
      type: 'line';
      key: string;
      file: FileChange;
      hunk: Hunk;
      line: DiffLine;
      old: number;
      new: number;
      partner: string | null;
    }
  | { type: 'pair'; key: string; file: FileChange; hunk: Hunk; left: Side | null; right: Side | null };

/** All rows of a review; a folded file is its heading only. */
export function diffRows(
  files: readonly FileChange[],
  folded: ReadonlySet<string>,
  sideBySide: boolean,
): DiffRow[] {
  const rows: DiffRow[] = [];
  for (const file of files) {
    const isFolded = folded.has(file.path);
    rows.push({ type: 'file', key: `f|${file.path}`, file, folded: isFolded });
    if (isFolded) continue;
    if (file.hunks.length === 0) rows.push({ type: 'remark', key: `r|${file.path}`, file });
    for (const hunk of file.hunks) {
      const base = `${file.path}|${hunk.id}`;
      rows.push({ type: 'hunk', key: `h|${base}`, file, hunk });
      if (sideBySide) pushPairs(rows, base, file, hunk);
      else pushLines(rows, base, file, hunk);
    }
  }
  return rows;
}

function pushLines(rows: DiffRow[], base: string, file: FileChange, hunk: Hunk): void {
  const pairs = pairLines(hunk.lines.map((l) => l.op));
  let before = hunk.oldStart;
  let after = hunk.newStart;
  hunk.lines.forEach((line, i) => {
    const partner = pairs.get(i);
    rows.push({
      type: 'line',
      key: `l|${base}|${i}`,
      file,
      hunk,
      line,
      old: line.op === '+' ? 0 : before,
      new: line.op === '-' ? 0 : after,
      partner: partner === undefined ? null : (hunk.lines[partner]?.text ?? null),
    });
    if (line.op !== '+') before++;
    if (line.op !== '-') after++;
  });
}

function pushPairs(rows: DiffRow[], base: string, file: FileChange, hunk: Hunk): void {
  let before = hunk.oldStart;
  let after = hunk.newStart;
  let n = 0;
  const push = (left: Side | null, right: Side | null) =>
    rows.push({ type: 'pair', key: `p|${base}|${n++}`, file, hunk, left, right });
  const { lines } = hunk;
  for (let i = 0; i < lines.length;) {
    const line = lines[i] as DiffLine;
    if (line.op !== '-' && line.op !== '+') {
      const side = { text: line.text, op: ' ', noNl: line.noNl ?? false };
      push({ ...side, number: before++ }, { ...side, number: after++ });
      i++;
      continue;
    }
    const left: Side[] = [];
    const right: Side[] = [];
    for (; lines[i]?.op === '-'; i++) left.push(side(lines[i] as DiffLine, before++));
    for (; lines[i]?.op === '+'; i++) right.push(side(lines[i] as DiffLine, after++));
    for (let k = 0; k < Math.max(left.length, right.length); k++) push(left[k] ?? null, right[k] ?? null);
  }
}

function side(line: DiffLine, number: number): Side {
  return { number, text: line.text, op: line.op, noNl: line.noNl ?? false };
}

/** The changed words of one line against its partner; null when there is none. */
export function lineSpans(op: string, text: string, partner: string | null): Span[] | null {
  if (partner === null) return null;
  const changes = op === '-' ? wordChanges(text, partner) : wordChanges(partner, text);
  return (op === '-' ? changes?.before : changes?.after) ?? null;
}
