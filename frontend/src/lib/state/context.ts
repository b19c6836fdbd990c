import { getContext, setContext } from 'svelte';
import type { Registry } from '../commands/registry.svelte';
import type { App } from './app.svelte';

const appKey = Symbol('app');
const commandsKey = Symbol('commands');

export function provideApp(app: App, commands: Registry): void {
  setContext(appKey, app);
  setContext(commandsKey, commands);
}

/** The page's state; components get it here and nowhere else. */
export function useApp(): App {
  return getContext<App>(appKey);
}

export function useCommands(): Registry {
  return getContext<Registry>(commandsKey);
}
