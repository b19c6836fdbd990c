import { normalise, strokeOf, type Keys } from './keys';

/** One action of the page. Palette, menus, the key sheet and shortcuts all read it here. */
export interface Command {
  id: string;
  title: string;
  group: string;
  keys?: Keys[];
  /** Whether it exists here at all; out of scope, it is neither listed nor run. */
  when?: () => boolean;
  /** Why it cannot be done now, in words; empty when it can. */
  off?: () => string;
  /** Runs from inside a text field too. Chords with mod always do. */
  inText?: boolean;
  /** Known to the keyboard and the key sheet, but not worth a line in the palette. */
  hidden?: boolean;
  run(): void;
}

const chordPatience = 1_200;

/** The commands there are, and the keyboard that runs them. */
export class Registry {
  private commands = $state.raw<ReadonlyMap<string, Command>>(new Map());
  /** The strokes of a chord that has begun, for showing "g …". */
  pending = $state('');
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly mac: boolean,
    private readonly warn: (text: string) => void = (text) => console.warn(text),
  ) {}

  /** Adds commands; returns their removal. A second command of one id is not taken. */
  register(commands: readonly Command[]): () => void {
    const next = new Map(this.commands);
    const added: Command[] = [];
    for (const c of commands) {
      if (next.has(c.id)) {
        this.warn(`command ${c.id} is registered twice`);
        continue;
      }
      next.set(c.id, c);
      added.push(c);
    }
    this.commands = next;
    return () => {
      const rest = new Map(this.commands);
      for (const c of added) if (rest.get(c.id) === c) rest.delete(c.id);
      this.commands = rest;
    };
  }

  /** Everything that exists here, in the order it was registered. */
  list(): Command[] {
    return [...this.commands.values()].filter((c) => c.when?.() ?? true);
  }

  get(id: string): Command | undefined {
    const c = this.commands.get(id);
    return c && (c.when?.() ?? true) ? c : undefined;
  }

  /** Why a command cannot be run now; empty when it can. */
  off(id: string): string {
    return this.get(id)?.off?.() ?? '';
  }

  run(id: string): boolean {
    const c = this.get(id);
    if (!c || c.off?.()) return false;
    c.run();
    return true;
  }

  /** Handles a key press; true when a command took it. */
  handle(e: KeyboardEvent): boolean {
    if (e.defaultPrevented || e.isComposing || e.keyCode === 229) return false;
    if (['Shift', 'Control', 'Alt', 'Meta', 'Dead', 'Process'].includes(e.key)) return false;
    const text = isText(e.target);
    const stroke = strokeOf(e, this.mac);
    const chord = this.pending ? `${this.pending} ${stroke}` : stroke;
    const candidates = this.list().filter((c) => !text || c.inText || stroke.includes('mod+'));
    const hit = candidates.find((c) => c.keys?.some((k) => normalise(k) === chord));
    this.clearPending();
    if (hit) {
      e.preventDefault();
      if (!hit.off?.()) hit.run();
      return true;
    }
    if (candidates.some((c) => c.keys?.some((k) => normalise(k).startsWith(`${chord} `)))) {
      this.pending = chord;
      this.timer = setTimeout(() => this.clearPending(), chordPatience);
      e.preventDefault();
      return true;
    }
    return false;
  }

  private clearPending(): void {
    clearTimeout(this.timer);
    this.pending = '';
  }
}

function isText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (
    target.isContentEditable ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  )
    return true;
  return (
    target instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  );
}
