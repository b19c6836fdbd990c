import type { Live } from '../api/types.gen';

/** What streams for one message or call before it is committed. */
export interface LiveText {
  text: string;
  thinking: string;
  status: string;
  /** Bytes of UTF-8 received or skipped so far, of the text and of the thinking. */
  offset: number;
  thinkingOffset: number;
  /** A piece was missed: what stands here has a hole until the committed event comes. */
  holed: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Keep this much of a running command's output; the committed result has the rest. */
const keep = 64 * 1024;

/** Adds a piece by its offsets: repeated bytes are skipped, a hole is marked and kept visible. */
export function mergeLive(old: LiveText | undefined, piece: Live): LiveText {
  const base = old ?? { text: '', thinking: '', status: '', offset: 0, thinkingOffset: 0, holed: false };
  const text = join(base.text, base.offset, piece.text ?? '', piece.offset);
  const thinking = join(base.thinking, base.thinkingOffset, piece.thinking ?? '', piece.thinkingOffset ?? 0);
  return {
    text: text.whole,
    thinking: thinking.whole,
    status: piece.text || piece.thinking ? '' : (piece.status ?? base.status),
    offset: text.offset,
    thinkingOffset: thinking.offset,
    holed: base.holed || text.holed || thinking.holed,
  };
}

function join(
  have: string,
  known: number,
  piece: string,
  offset: number,
): { whole: string; offset: number; holed: boolean } {
  if (piece === '') return { whole: have, offset: known, holed: false };
  const end = offset + byteLength(piece);
  if (end <= known) return { whole: have, offset: known, holed: false };
  if (offset < known) piece = decoder.decode(encoder.encode(piece).subarray(known - offset));
  const holed = offset > known;
  const whole = (holed && have !== '' ? `${have}\n…\n` : have) + piece;
  return { whole: whole.length > 2 * keep ? whole.slice(-keep) : whole, offset: end, holed };
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
