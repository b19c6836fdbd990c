/** One line of a unified diff as text. */
export interface UnifiedLine {
  op: ' ' | '+' | '-' | '@' | 'file';
  text: string;
}

/** Reads a unified diff, as an approval shows it. Nothing is left out: what is not understood stays as context. */
export function parseUnified(text: string): UnifiedLine[] {
  const out: UnifiedLine[] = [];
  let body = false;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('@@')) {
      body = true;
      out.push({ op: '@', text: line });
    } else if (line.startsWith('diff ') || (!body && (line.startsWith('--- ') || line.startsWith('+++ ')))) {
      body = false;
      out.push({ op: 'file', text: line });
    } else if (body && line.startsWith('--- ')) {
      body = false;
      out.push({ op: 'file', text: line });
    } else if (line.startsWith('+') || line.startsWith('-')) {
      out.push({ op: line[0] as '+' | '-', text: line.slice(1) });
    } else {
      out.push({ op: ' ', text: line.startsWith(' ') ? line.slice(1) : line });
    }
  }
  return out;
}
