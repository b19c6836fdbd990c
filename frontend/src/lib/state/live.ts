import type { Live } from '../api/types.gen';

/** What streams for one message or call before it is committed. */
export interface LiveText {
  text: string;
  thinking: string;
  status: string;
  /** Bytes of UTF-8 text received or skipped so far. */
  offset: number;
  /** A piece was missed: what stands here has a hole until the committed event comes. */
  holed: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Keep this much of a running command's output; the committed result has the rest. */
const keep = 64 * 1024;

/** Adds a piece by its offset: repeated bytes are skipped, a hole is marked and kept visible. */
export function mergeLive(old: LiveText | undefined, piece: Live): LiveText {
  const base = old ?? { text: '', thinking: '', status: '', offset: 0, holed: false };
  let text = piece.text ?? '';
  let size = byteLength(text);
  let holed = base.holed;
  let offset = base.offset;
  if (piece.offset < base.offset && size > 0) {
    const known = base.offset - piece.offset;
    if (known >= size) {
      text = '';
      size = 0;
    } else {
      text = decoder.decode(encoder.encode(text).subarray(known));
      size -= known;
    }
  } else if (piece.offset > base.offset) {
    holed = true;
    offset = piece.offset;
  }
  const whole = base.text + (holed && !base.holed && base.text !== '' ? '\n…\n' : '') + text;
  return {
    text: whole.length > 2 * keep ? whole.slice(-keep) : whole,
    thinking: base.thinking + (piece.thinking ?? ''),
    status: text !== '' || piece.thinking ? '' : (piece.status ?? base.status),
    offset: offset + size,
    holed,
  };
}

/** The last lines of a running command, as a terminal would leave them. */
export function lastLines(text: string, count: number): string[] {
  const lines = text.replace(/\r\n/g, '\n').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.slice(-count).map((line) => line.slice(line.lastIndexOf('\r') + 1));
}

function byteLength(text: string): number {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return encoder.encode(text).length;
  return text.length;
}
