/** One line of a unified diff as text. */
export interface UnifiedLine {
  op: ' ' | '+' | '-' | '@' | 'file';
  text: string;
}

const hunkHead = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * Reads a unified diff, as an approval shows it. Nothing is left out: what is not
 * understood stays as context. The counts of a hunk's head say where it ends, so that
 * a removed line of dashes is not taken for the head of a file.
 */
export function parseUnified(text: string): UnifiedLine[] {
  const out: UnifiedLine[] = [];
  let removed = Infinity;
  let added = Infinity;
  let body = false;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const inside = body && (removed > 0 || added > 0);
    if (!inside && /^(diff |--- |\+\+\+ )/.test(line)) {
      body = false;
      out.push({ op: 'file', text: line });
    } else if (line.startsWith('@@') && (!inside || removed === Infinity)) {
      const head = hunkHead.exec(line);
      removed = head ? Number(head[1] ?? 1) : Infinity;
      added = head ? Number(head[2] ?? 1) : Infinity;
      body = true;
      out.push({ op: '@', text: line });
    } else if (line.startsWith('-')) {
      removed--;
      out.push({ op: '-', text: line.slice(1) });
    } else if (line.startsWith('+')) {
      added--;
      out.push({ op: '+', text: line.slice(1) });
    } else {
      if (!line.startsWith('\\')) {
        removed--;
        added--;
      }
      out.push({ op: ' ', text: line.startsWith(' ') ? line.slice(1) : line });
    }
  }
  return out;
}
