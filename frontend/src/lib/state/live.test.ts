import { describe, expect, it } from 'vitest';
import type { Live } from '../api/types.gen';
import { lastLines, mergeLive, type LiveText } from './live';

function merge(...pieces: Partial<Live>[]): LiveText {
  return pieces.reduce<LiveText | undefined>(
    (old, p) => mergeLive(old, { session: 's', id: 'm', offset: 0, ...p }),
    undefined,
  ) as LiveText;
}

// R121: live text is put together by (id, offset).
describe('mergeLive', () => {
  it('appends pieces that fit', () => {
    expect(merge({ text: 'Hel' }, { offset: 3, text: 'lo' }).text).toBe('Hello');
  });
  it('skips what it has', () => {
    expect(merge({ text: 'Hello' }, { offset: 0, text: 'Hello' }).text).toBe('Hello');
    expect(merge({ text: 'Hello' }, { offset: 3, text: 'lo there' }).text).toBe('Hello there');
  });
  it('counts bytes of UTF-8, not letters', () => {
    expect(merge({ text: 'grün' }, { offset: 5, text: '€' }, { offset: 5, text: '€!' })).toMatchObject({
      text: 'grün€!',
      holed: false,
    });
    expect(merge({ text: 'grün€' }, { offset: 2, text: 'ün€ und rot' }).text).toBe('grün€ und rot');
  });
  it('marks a hole and shows where it is', () => {
    const m = merge({ text: 'one' }, { offset: 10, text: 'two' });
    expect(m).toMatchObject({ holed: true, offset: 13 });
    expect(m.text).toBe('one\n…\ntwo');
  });
  it('marks a hole at the beginning too', () => {
    expect(merge({ offset: 7, text: 'late' })).toMatchObject({ text: 'late', holed: true });
  });
  it('keeps thinking apart, by its own offset', () => {
    const m = merge({ thinking: 'hm' }, { thinking: 'hm…', thinkingOffset: 0 }, { text: 'Yes' });
    expect(m).toMatchObject({ thinking: 'hm…', text: 'Yes', holed: false });
  });
  it('shows a status only while nothing streams', () => {
    expect(merge({ status: 'loading' }).status).toBe('loading');
    expect(merge({ status: 'loading' }, { text: 'x' }).status).toBe('');
  });
  it('keeps the end of a command that prints for hours', () => {
    let live: LiveText | undefined;
    for (let i = 0; i < 4_000; i++) {
      live = mergeLive(live, { session: 's', id: 'c', offset: i * 100, text: 'x'.repeat(99) + '\n' });
    }
    expect(live?.offset).toBe(400_000);
    expect(live?.text.length).toBeLessThan(140_000);
  });
});

describe('lastLines', () => {
  it('gives the end, as a terminal would leave it', () => {
    expect(lastLines('a\nb\nc\n', 2)).toEqual(['b', 'c']);
    expect(lastLines('10 %\r50 %\r100 %\n', 6)).toEqual(['100 %']);
    expect(lastLines('a\r\nb', 6)).toEqual(['a', 'b']);
    expect(lastLines('', 6)).toEqual([]);
  });
});
