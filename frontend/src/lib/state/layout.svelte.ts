export type PaneTab = 'changes' | 'run' | 'artifacts';

interface Kept {
  sidebar: boolean;
  sidebarWidth: number;
  pane: boolean;
  paneWidth: number;
  tab: PaneTab;
  sideBySide: boolean;
  folded: string[];
}

const key = 'worksite.layout';
const initial: Kept = {
  sidebar: true,
  sidebarWidth: 232,
  pane: true,
  paneWidth: 420,
  tab: 'changes',
  sideBySide: false,
  folded: [],
};

export const sidebarLimits = { min: 180, max: 360 };
export const paneLimits = { min: 360, max: 900 };

/** What is open and how wide: remembered on this machine, never sent anywhere. */
export class Layout {
  sidebar = $state(initial.sidebar);
  sidebarWidth = $state(initial.sidebarWidth);
  pane = $state(initial.pane);
  paneWidth = $state(initial.paneWidth);
  tab = $state<PaneTab>(initial.tab);
  sideBySide = $state(initial.sideBySide);
  /** Workspaces whose sessions are folded away. */
  folded = $state<string[]>([]);
  /** The window's width; below the limits, side bar and pane float over the conversation. */
  width = $state(1280);
  /** Open only while floating, so that a narrow window starts with the conversation. */
  floating = $state<'sidebar' | 'pane' | null>(null);

  readonly paneFloats = $derived(this.width < 1100);
  readonly sidebarFloats = $derived(this.width < 860);
  readonly sidebarShown = $derived(this.sidebarFloats ? this.floating === 'sidebar' : this.sidebar);
  readonly paneShown = $derived(this.paneFloats ? this.floating === 'pane' : this.pane);

  constructor(private readonly storage: Storage) {
    try {
      const kept = { ...initial, ...(JSON.parse(storage.getItem(key) ?? '{}') as Partial<Kept>) };
      this.sidebar = kept.sidebar;
      this.sidebarWidth = clamp(kept.sidebarWidth, sidebarLimits);
      this.pane = kept.pane;
      this.paneWidth = clamp(kept.paneWidth, paneLimits);
      this.tab = kept.tab;
      this.sideBySide = kept.sideBySide;
      this.folded = kept.folded;
    } catch {
      // What was kept is damaged: the defaults do.
    }
  }

  save(): void {
    const kept: Kept = {
      sidebar: this.sidebar,
      sidebarWidth: this.sidebarWidth,
      pane: this.pane,
      paneWidth: this.paneWidth,
      tab: this.tab,
      sideBySide: this.sideBySide,
      folded: this.folded,
    };
    this.storage.setItem(key, JSON.stringify(kept));
  }

  toggleSidebar(): void {
    if (this.sidebarFloats) this.floating = this.floating === 'sidebar' ? null : 'sidebar';
    else this.sidebar = !this.sidebar;
    this.save();
  }

  togglePane(): void {
    if (this.paneFloats) this.floating = this.floating === 'pane' ? null : 'pane';
    else this.pane = !this.pane;
    this.save();
  }

  showTab(tab: PaneTab): void {
    this.tab = tab;
    if (this.paneFloats) this.floating = 'pane';
    else this.pane = true;
    this.save();
  }

  resizeSidebar(width: number): void {
    this.sidebarWidth = clamp(width, sidebarLimits);
  }

  resizePane(width: number): void {
    this.paneWidth = clamp(width, paneLimits);
  }

  toggleFolded(id: string): void {
    this.folded = this.folded.includes(id) ? this.folded.filter((f) => f !== id) : [...this.folded, id];
    this.save();
  }
}

function clamp(value: number, { min, max }: { min: number; max: number }): number {
  return Math.min(max, Math.max(min, Math.round(value)));
}
