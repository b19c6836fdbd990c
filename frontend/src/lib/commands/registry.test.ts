import { describe, expect, it, vi } from 'vitest';
import { fuzzy } from './fuzzy';
import { keycaps, normalise } from './keys';
import { Registry, type Command } from './registry.svelte';

function command(id: string, over: Partial<Command> = {}): Command & { run: ReturnType<typeof vi.fn> } {
  return { id, title: id, group: 'g', run: vi.fn(), ...over } as Command & { run: ReturnType<typeof vi.fn> };
}

function press(
  registry: Registry,
  key: string,
  init: KeyboardEventInit = {},
  target: HTMLElement = document.body,
): boolean {
  const e = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...init });
  Object.defineProperty(e, 'target', { value: target });
  return registry.handle(e);
}

describe('Registry', () => {
  it('warns about an id that is taken and keeps the first', () => {
    const warn = vi.fn();
    const registry = new Registry(false, warn);
    const first = command('x');
    registry.register([first]);
    registry.register([command('x')]);
    expect(warn).toHaveBeenCalledWith('command x is registered twice');
    registry.run('x');
    expect(first.run).toHaveBeenCalledOnce();
  });

  it('runs chords, and forgets a chord that goes nowhere', () => {
    const registry = new Registry(false);
    const inbox = command('inbox', { keys: ['g i'] });
    const insert = command('insert', { keys: ['i'] });
    registry.register([inbox, insert]);
    press(registry, 'g');
    expect(registry.pending).toBe('g');
    press(registry, 'i');
    expect(inbox.run).toHaveBeenCalledOnce();
    press(registry, 'g');
    press(registry, 'z');
    press(registry, 'i');
    expect(insert.run).toHaveBeenCalledOnce();
    expect(inbox.run).toHaveBeenCalledOnce();
  });

  it('uses Control or Command, as the system does', () => {
    const registry = new Registry(true);
    const palette = command('palette', { keys: ['mod+k'] });
    registry.register([palette]);
    press(registry, 'k', { ctrlKey: true });
    expect(palette.run).not.toHaveBeenCalled();
    press(registry, 'k', { metaKey: true });
    expect(palette.run).toHaveBeenCalledOnce();
  });

  it('tells j from J and needs no Shift for a sign', () => {
    const registry = new Registry(false);
    const hunk = command('hunk', { keys: ['j'] });
    const file = command('file', { keys: ['shift+j'] });
    const help = command('help', { keys: ['?'] });
    registry.register([hunk, file, help]);
    press(registry, 'J', { shiftKey: true });
    press(registry, '?', { shiftKey: true });
    expect([hunk.run, file.run, help.run].map((f) => f.mock.calls.length)).toEqual([0, 1, 1]);
  });

  // R140: plain letters belong to the text field, and everything to an input method.
  it('leaves letters to a text field and composition to the input method', () => {
    const registry = new Registry(false);
    const accept = command('accept', { keys: ['a'] });
    const palette = command('palette', { keys: ['mod+k'] });
    registry.register([accept, palette]);
    const area = document.createElement('textarea');
    expect(press(registry, 'a', {}, area)).toBe(false);
    expect(press(registry, 'k', { ctrlKey: true }, area)).toBe(true);
    expect(press(registry, 'k', { ctrlKey: true, isComposing: true }, area)).toBe(false);
    expect(accept.run).not.toHaveBeenCalled();
    expect(palette.run).toHaveBeenCalledOnce();
  });

  it('neither lists nor runs what is out of scope, and does not run what is off', () => {
    const registry = new Registry(false);
    let scope = false;
    const a = command('a', { keys: ['a'], when: () => scope });
    const b = command('b', { keys: ['b'], off: () => 'not now' });
    registry.register([a, b]);
    expect(registry.list().map((c) => c.id)).toEqual(['b']);
    press(registry, 'a');
    press(registry, 'b');
    scope = true;
    press(registry, 'a');
    expect(a.run).toHaveBeenCalledOnce();
    expect(b.run).not.toHaveBeenCalled();
    expect(registry.off('b')).toBe('not now');
  });

  it('takes its commands away again', () => {
    const registry = new Registry(false);
    const off = registry.register([command('a')]);
    off();
    expect(registry.list()).toEqual([]);
  });
});

describe('keys', () => {
  it('are shown as the system writes them', () => {
    expect(keycaps('shift+mod+r', true)).toEqual([['⇧', '⌘', 'R']]);
    expect(keycaps('shift+mod+r', false)).toEqual([['Ctrl', 'Shift', 'R']]);
    expect(keycaps('g i', false)).toEqual([['g'], ['i']]);
    expect(keycaps('?', false)).toEqual([['?']]);
  });
  it('have one spelling', () => expect(normalise('mod+shift+R')).toBe(normalise('shift+mod+r')));
});

describe('fuzzy', () => {
  it('prefers the beginning, then whole words, then letters in order', () => {
    const texts = [
      'Review in the whole window',
      'Go to the review',
      'Previewer',
      'Rename everything very early with ink',
    ];
    const order = [...texts].sort((a, b) => fuzzy('review', b) - fuzzy('review', a));
    expect(order.slice(0, 3)).toEqual(texts.slice(0, 3));
    expect(fuzzy('zzz', 'abc')).toBe(0);
    expect(fuzzy('', 'abc')).toBeGreaterThan(0);
  });
});
