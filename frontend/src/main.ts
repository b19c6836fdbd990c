import { mount } from 'svelte';
import { Client } from '$lib/api/client';
import { platform, takeToken } from '$lib/api/platform';
import { Registry } from '$lib/commands/registry.svelte';
import { t } from '$lib/i18n';
import { App } from '$lib/state/app.svelte';
import '$lib/styles/fonts.css';
import '$lib/styles/tokens.css';
import '$lib/styles/base.css';
import Root from './App.svelte';

const target = document.getElementById('app');
if (!target) throw new Error('index.html has no #app');

const shell = platform(window);
const app = new App({
  client: new Client({
    fetch: (input, init) => fetch(input, init),
    token: takeToken(window),
    offline: t.offline,
  }),
  platform: shell,
  page: window,
  words: t.announce,
});

mount(Root, { target, props: { app, commands: new Registry(shell.mac) } });
