/** A chord of one or more strokes, e.g. "mod+k", "g i", "shift+mod+r", "?". */
export type Keys = string;

interface Stroke {
  key: string;
  mod: boolean;
  shift: boolean;
  alt: boolean;
}

function parseStroke(text: string): Stroke {
  const parts = text.toLowerCase().split('+');
  const key = text.endsWith('+') ? '+' : (parts.at(-1) ?? '');
  return { key, mod: parts.includes('mod'), shift: parts.includes('shift'), alt: parts.includes('alt') };
}

/** How a stroke of the keyboard is written in `Keys`. */
export function strokeOf(e: KeyboardEvent, mac: boolean): string {
  const key = e.key.length === 1 ? e.key.toLowerCase() : e.key.toLowerCase();
  const letter = /^[a-z]$/.test(key);
  const parts: string[] = [];
  // Signs such as "?" need Shift on some layouts only: it is part of the sign.
  if (e.shiftKey && (letter || key.length > 1)) parts.push('shift');
  if (e.altKey) parts.push('alt');
  if (mac ? e.metaKey : e.ctrlKey) parts.push('mod');
  else if (e.ctrlKey || e.metaKey) parts.push('other');
  parts.push(key === ' ' ? 'space' : key);
  return parts.join('+');
}

/** The same chord in one spelling, so that chords can be compared. */
export function normalise(keys: Keys): string {
  return keys
    .split(' ')
    .map((text) => {
      const s = parseStroke(text);
      return [s.shift ? 'shift' : '', s.alt ? 'alt' : '', s.mod ? 'mod' : '', s.key]
        .filter(Boolean)
        .join('+');
    })
    .join(' ');
}

const macSigns: Record<string, string> = { mod: '⌘', shift: '⇧', alt: '⌥' };
const names: Record<string, string> = {
  enter: '↵',
  escape: 'Esc',
  arrowup: '↑',
  arrowdown: '↓',
  arrowleft: '←',
  arrowright: '→',
  space: 'Space',
};

/** A chord as keycaps: one list per stroke. */
export function keycaps(keys: Keys, mac: boolean): string[][] {
  return keys.split(' ').map((text) => {
    const s = parseStroke(text);
    const mods = [s.shift ? 'shift' : '', s.alt ? 'alt' : '', s.mod ? 'mod' : ''].filter(Boolean);
    const caps = mac
      ? mods.map((m) => macSigns[m] ?? m)
      : mods.reverse().map((m) => (m === 'mod' ? 'Ctrl' : m === 'alt' ? 'Alt' : 'Shift'));
    const plain =
      names[s.key] ??
      (s.key.length === 1 && (mods.length > 0 || text !== s.key) ? s.key.toUpperCase() : s.key);
    return [...caps, plain];
  });
}
