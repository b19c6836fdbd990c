import type { Command } from '$lib/commands/registry.svelte';
import { t } from '$lib/i18n';
import type { App } from '$lib/state/app.svelte';
import { themeChoices } from '$lib/state/theme.svelte';
import type { Mode } from '$lib/api/types.gen';

/** What only the components on the screen can do. */
export interface Screen {
  palette: (searching: boolean) => void;
  keys: () => void;
  archived: () => void;
  focusConversation: () => void;
  focusComposer: () => void;
  focusReview: () => void;
  attach: () => void;
  toEnd: () => void;
  toStart: () => void;
  openFolder: () => void;
  rename: () => void;
  remove: () => void;
  exportRecord: () => void;
  /** Closes the topmost layer that is no dialog or menu; false when there is none. */
  closeLayer: () => boolean;
  /** Whether the review has the keyboard. */
  reviewing: () => boolean;
}

/** Every action of the page. */
export function pageCommands(app: App, screen: Screen): Command[] {
  const c = t.commands;
  const g = t.groups;
  const session = () => app.session;
  const noSession = () => (app.session ? '' : c.offNoSession);
  const noChanges = () => (app.changes && app.changes.files.length > 0 ? '' : c.offNoChanges);
  const noHunk = () => noChanges() || (app.changes?.cursor ? '' : c.offNoHunk);
  const busy = () => ['working', 'waits'].includes(app.session?.view.run?.state ?? '');
  const review = screen.reviewing;

  const step = (by: 1 | -1) => {
    const list = app.sessionList;
    const at = list.findIndex((s) => s.id === app.session?.id);
    const next = list[Math.min(list.length - 1, Math.max(0, at + by))];
    if (next) app.openSession(next.id);
  };
  const decide = (verdict: 'accept' | 'reject', whole: boolean) => {
    const cursor = app.changes?.cursor;
    if (cursor) void app.changes?.decide(verdict, cursor.path, whole ? undefined : cursor.hunk || undefined);
  };

  return [
    { id: 'go.inbox', title: c.inbox, group: g.go, keys: ['g i'], run: () => app.go({ at: 'inbox' }) },
    {
      id: 'go.conversation',
      title: c.conversation,
      group: g.go,
      keys: ['g c'],
      off: noSession,
      run: () => {
        const s = session();
        if (s) app.openSession(s.id);
        screen.focusConversation();
      },
    },
    {
      id: 'go.review',
      title: c.review,
      group: g.go,
      keys: ['g r'],
      off: noSession,
      run: () => {
        app.layout.showTab('changes');
        screen.focusReview();
      },
    },
    {
      id: 'go.run',
      title: c.runPane,
      group: g.go,
      keys: ['g u'],
      off: noSession,
      run: () => app.layout.showTab('run'),
    },
    {
      id: 'go.artifacts',
      title: c.artifacts,
      group: g.go,
      keys: ['g a'],
      run: () =>
        app.session && app.place.at === 'session'
          ? app.layout.showTab('artifacts')
          : app.go({ at: 'artifacts' }),
    },
    {
      id: 'go.settings',
      title: c.settings,
      group: g.go,
      keys: ['g s', 'mod+,'],
      run: () => app.go({ at: 'settings' }),
    },
    { id: 'go.doctor', title: c.doctor, group: g.go, keys: ['g d'], run: () => app.go({ at: 'doctor' }) },
    { id: 'go.home', title: c.home, group: g.go, keys: ['g h'], run: () => app.go({ at: 'home' }) },
    {
      id: 'go.next',
      title: c.nextSession,
      group: g.go,
      keys: ['alt+arrowdown'],
      inText: true,
      run: () => step(1),
    },
    {
      id: 'go.previous',
      title: c.previousSession,
      group: g.go,
      keys: ['alt+arrowup'],
      inText: true,
      run: () => step(-1),
    },

    {
      id: 'session.new',
      title: c.newSession,
      group: g.session,
      keys: ['mod+n', 'n'],
      off: () => (app.workspaces.length > 0 ? '' : c.offNoWorkspace),
      run: () => {
        const id = app.workspace?.id ?? app.workspaces[0]?.id;
        if (id) app.go({ at: 'new', workspace: id });
        screen.focusComposer();
      },
    },
    { id: 'workspace.open', title: c.openFolder, group: g.session, keys: ['mod+o'], run: screen.openFolder },
    {
      id: 'session.compose',
      title: c.focusComposer,
      group: g.session,
      keys: ['i'],
      run: screen.focusComposer,
    },
    { id: 'session.attach', title: c.attach, group: g.session, keys: ['mod+u'], run: screen.attach },
    {
      id: 'session.newest',
      title: c.newest,
      group: g.session,
      keys: ['shift+g', 'end'],
      off: noSession,
      run: screen.toEnd,
    },
    {
      id: 'session.oldest',
      title: c.oldest,
      group: g.session,
      keys: ['g g'],
      off: noSession,
      run: screen.toStart,
    },
    { id: 'session.rename', title: c.rename, group: g.session, off: noSession, run: screen.rename },
    {
      id: 'session.archive',
      title: c.archive,
      group: g.session,
      off: noSession,
      run: () => {
        const s = session();
        if (!s) return;
        void app.attempt(async () => app.putSession(await app.client.patchSession(s.id, { archived: true })));
        app.go({ at: 'home' });
      },
    },
    { id: 'session.archived', title: c.archived, group: g.session, run: screen.archived },
    {
      id: 'session.export',
      title: c.exportSession,
      group: g.session,
      off: noSession,
      run: screen.exportRecord,
    },
    { id: 'session.delete', title: c.deleteSession, group: g.session, off: noSession, run: screen.remove },
    ...(['plan', 'ask', 'edits', 'auto'] as Mode[]).map((m): Command => ({
      id: `session.mode.${m}`,
      title: c.mode(m),
      group: g.session,
      off: noSession,
      run: () => {
        const s = session();
        if (s) void app.attempt(async () => app.putSession(await app.client.patchSession(s.id, { mode: m })));
      },
    })),

    {
      id: 'run.stop',
      title: c.stop,
      group: g.run,
      keys: ['shift+mod+.'],
      inText: true,
      off: () => (busy() ? '' : c.offNoRun),
      run: () => {
        const s = session();
        if (s) void app.attempt(() => app.client.cancel(s.id));
      },
    },
    {
      id: 'run.retry',
      title: c.retry,
      group: g.run,
      off: () =>
        noSession() ||
        (['failed', 'stopped'].includes(session()?.view.run?.state ?? '') ? '' : c.offNotFailed),
      run: () => {
        const s = session();
        if (s) void app.attempt(() => app.client.retry(s.id));
      },
    },
    {
      id: 'run.continue',
      title: c.continue,
      group: g.run,
      off: () =>
        noSession() ||
        (busy()
          ? c.offRunning
          : ['interrupted', 'unknown'].includes(session()?.view.run?.state ?? '')
            ? ''
            : c.offNothing),
      run: () => {
        const s = session();
        if (s) void app.attempt(() => app.client.continueRun(s.id));
      },
    },

    {
      id: 'review.accept',
      title: c.acceptHunk,
      group: g.review,
      keys: ['a'],
      when: review,
      off: noHunk,
      run: () => decide('accept', false),
    },
    {
      id: 'review.reject',
      title: c.rejectHunk,
      group: g.review,
      keys: ['r'],
      when: review,
      off: noHunk,
      run: () => decide('reject', false),
    },
    {
      id: 'review.next',
      title: c.nextHunk,
      group: g.review,
      keys: ['j'],
      when: review,
      off: noChanges,
      run: () => app.changes?.move(1),
    },
    {
      id: 'review.previous',
      title: c.previousHunk,
      group: g.review,
      keys: ['k'],
      when: review,
      off: noChanges,
      run: () => app.changes?.move(-1),
    },
    {
      id: 'review.nextFile',
      title: c.nextFile,
      group: g.review,
      keys: ['shift+j'],
      when: review,
      off: noChanges,
      run: () => app.changes?.moveFile(1),
    },
    {
      id: 'review.previousFile',
      title: c.previousFile,
      group: g.review,
      keys: ['shift+k'],
      when: review,
      off: noChanges,
      run: () => app.changes?.moveFile(-1),
    },
    {
      id: 'review.acceptFile',
      title: c.acceptFile,
      group: g.review,
      keys: ['shift+a'],
      when: review,
      off: noHunk,
      run: () => decide('accept', true),
    },
    {
      id: 'review.rejectFile',
      title: c.rejectFile,
      group: g.review,
      keys: ['shift+r'],
      when: review,
      off: noHunk,
      run: () => decide('reject', true),
    },
    {
      id: 'review.undo',
      title: c.undo,
      group: g.review,
      keys: ['u'],
      when: review,
      off: () => t.change.undoOff,
      run: () => undefined,
    },
    {
      id: 'review.sideBySide',
      title: c.sideBySide,
      group: g.review,
      keys: ['x'],
      when: () => app.place.at === 'session' && app.place.review,
      run: () => {
        app.layout.sideBySide = !app.layout.sideBySide;
        app.layout.save();
      },
    },
    {
      id: 'review.whole',
      title: c.reviewWhole,
      group: g.review,
      keys: ['shift+mod+r'],
      inText: true,
      off: noSession,
      run: () => {
        const s = session();
        if (!s) return;
        app.go({ at: 'session', id: s.id, review: !(app.place.at === 'session' && app.place.review) });
        screen.focusReview();
      },
    },
    {
      id: 'review.commit',
      title: c.commit,
      group: g.review,
      off: () => noSession() || ((app.changes?.view?.accepted ?? 0) > 0 ? '' : t.change.commitOff),
      run: () => void app.changes?.commit(),
    },

    {
      id: 'view.sidebar',
      title: c.sidebar,
      group: g.view,
      keys: ['mod+b'],
      inText: true,
      run: () => app.layout.toggleSidebar(),
    },
    {
      id: 'view.pane',
      title: c.pane,
      group: g.view,
      keys: ['mod+j'],
      inText: true,
      off: noSession,
      run: () => app.layout.togglePane(),
    },
    ...themeChoices.map((choice): Command => ({
      id: `view.theme.${choice}`,
      title: c.theme(t.settings.themes[choice] ?? choice),
      group: g.view,
      run: () => {
        app.theme.choose(choice);
        const s = app.settings;
        if (s) {
          void app.attempt(async () => {
            app.settings = await app.client.saveSettings({ ...s, theme: choice });
          });
        }
      },
    })),

    {
      id: 'help.palette',
      title: c.palette,
      group: g.help,
      keys: ['mod+k'],
      inText: true,
      hidden: true,
      run: () => screen.palette(false),
    },
    {
      id: 'help.search',
      title: c.search,
      group: g.help,
      keys: ['mod+f', '/'],
      run: () => screen.palette(true),
    },
    { id: 'help.keys', title: c.keys, group: g.help, keys: ['?'], run: screen.keys },
    {
      id: 'help.notify',
      title: c.notify,
      group: g.help,
      when: () => app.platform.askToNotify !== undefined,
      run: () => void app.platform.askToNotify?.(),
    },
    {
      id: 'view.close',
      title: c.closeLayer,
      group: g.view,
      keys: ['escape'],
      hidden: true,
      inText: true,
      run: () => void screen.closeLayer(),
    },
  ];
}
