/** Numbers and times as words. The locale is the catalogue's. */
const locale = 'en-GB';

const integers = new Intl.NumberFormat(locale);
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });
const clockTime = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });

export function count(n: number): string {
  return integers.format(n);
}

/** "1 file", "3 files". */
export function plural(n: number, one: string, many: string): string {
  return `${integers.format(n)} ${n === 1 ? one : many}`;
}

export function bytes(n: number): string {
  if (n < 1_000) return `${n} B`;
  if (n < 1_000_000) return `${(n / 1_000).toFixed(n < 10_000 ? 1 : 0)} kB`;
  if (n < 1_000_000_000) return `${(n / 1_000_000).toFixed(n < 10_000_000 ? 1 : 0)} MB`;
  return `${(n / 1_000_000_000).toFixed(1)} GB`;
}

/** A large count, short: 1,240 → "1.2k". */
export function short(n: number): string {
  if (n < 1_000) return String(n);
  if (n < 10_000) return `${(n / 1_000).toFixed(1)}k`;
  if (n < 1_000_000) return `${Math.round(n / 1_000)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

/** How long something took: "9 ms", "1.8 s", "4:07". */
export function took(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return elapsed(ms);
}

/** A running time: "0:42", "1:02:03". */
export function elapsed(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000));
  const two = (n: number) => String(n).padStart(2, '0');
  const h = Math.floor(s / 3_600);
  return h > 0
    ? `${h}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`
    : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/** A time as people say it: "now", "4 min", "14:05", "3 Nov". */
export function relative(at: string, now: number): string {
  const t = Date.parse(at);
  if (Number.isNaN(t)) return '';
  const minutes = Math.floor((now - t) / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min`;
  if (new Date(t).toDateString() === new Date(now).toDateString()) return clockTime.format(t);
  return day.format(t);
}

/** The same within a sentence: "4 min ago". Used in markup. @public */
export function ago(at: string, now: number): string {
  const text = relative(at, now);
  return text.endsWith('min') ? `${text} ago` : text;
}

/** The exact time, for hovering. Used in markup. @public */
export function exactly(at: string): string {
  const t = Date.parse(at);
  return Number.isNaN(t) ? '' : exact.format(t);
}
