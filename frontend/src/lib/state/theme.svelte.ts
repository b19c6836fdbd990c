export type ThemeChoice = 'system' | 'light' | 'dark' | 'contrast';
export type Theme = 'light' | 'dark' | 'contrast';

const key = 'worksite.theme';
export const themeChoices: readonly ThemeChoice[] = ['system', 'light', 'dark', 'contrast'];

/** The colours of the page. Kept here too, so that the first paint is already right. */
export class ThemeState {
  choice = $state<ThemeChoice>('system');
  private readonly dark: MediaQueryList;
  private readonly more: MediaQueryList;
  private systemDark = $state(false);
  private systemMore = $state(false);

  readonly theme: Theme = $derived(
    this.choice !== 'system'
      ? this.choice
      : this.systemMore
        ? 'contrast'
        : this.systemDark
          ? 'dark'
          : 'light',
  );

  constructor(private readonly page: Window) {
    this.choice = parseTheme(page.localStorage.getItem(key) ?? '');
    this.dark = page.matchMedia('(prefers-color-scheme: dark)');
    this.more = page.matchMedia('(prefers-contrast: more)');
    this.systemDark = this.dark.matches;
    this.systemMore = this.more.matches;
    this.dark.addEventListener('change', () => this.follow());
    this.more.addEventListener('change', () => this.follow());
    this.apply();
  }

  choose(choice: ThemeChoice): void {
    this.choice = choice;
    this.page.localStorage.setItem(key, choice);
    this.apply();
  }

  private follow(): void {
    this.systemDark = this.dark.matches;
    this.systemMore = this.more.matches;
    this.apply();
  }

  private apply(): void {
    this.page.document.documentElement.dataset.theme = this.theme;
  }
}

export function parseTheme(text: string): ThemeChoice {
  return themeChoices.find((c) => c === text) ?? 'system';
}
