/** What the window can do and a browser cannot (docs/api.md, bound by the window as `Native`). */
interface Native {
  PickFolder(): Promise<string>;
  PickFiles(): Promise<string[] | null>;
  PickSave(name: string): Promise<string>;
  OpenURL(url: string): Promise<void>;
  OpenPath(path: string): Promise<void>;
  Notify(title: string, text: string): Promise<void>;
  TakeOpened(): Promise<string[] | null>;
}

interface WindowRuntime {
  EventsOn(name: string, fn: (data: unknown) => void): () => void;
}

type Shell = {
  go?: { app?: { Native?: Native } };
  runtime?: WindowRuntime;
};

/** Files a person chose or dropped: as paths where the face knows them, else as contents. */
export type Picked = { paths: string[] } | { files: File[] };

export interface Drop {
  x: number;
  y: number;
  picked: Picked;
}

/** The one place that knows which face the page runs in. */
export interface Platform {
  readonly mac: boolean;
  /** A folder's path; `ask` is used where no native dialog exists. Null: cancelled. */
  pickFolder(ask: () => Promise<string | null>): Promise<string | null>;
  pickFiles(): Promise<Picked | null>;
  /**
   * Lets the person say where to save: the path where the face has a native dialog,
   * 'download' where the browser does it by itself, null when cancelled.
   */
  pickSave(name: string): Promise<string | null>;
  openUrl(url: string): Promise<void>;
  /** Shows a file or folder in the file manager; undefined where that is impossible. */
  openPath?: (path: string) => Promise<void>;
  notify(title: string, text: string): void;
  /** Asks whether notifications may be shown; undefined where nobody needs to be asked. */
  askToNotify?: () => Promise<void>;
  /** Calls back for files dropped anywhere on the page; returns the end of it. */
  onDrop(drop: (drop: Drop) => void): () => void;
  /** Calls back for paths that Worksite was started with, or that a second start handed over. */
  onOpened(opened: (paths: string[]) => void): () => void;
}

export function platform(page: Window): Platform {
  const shell = page as unknown as Shell;
  const native = shell.go?.app?.Native;
  const mac = /Mac|iPhone|iPad/.test(page.navigator.platform);
  return native ? windowPlatform(native, shell.runtime, page, mac) : browserPlatform(page, mac);
}

function windowPlatform(
  native: Native,
  runtime: WindowRuntime | undefined,
  page: Window,
  mac: boolean,
): Platform {
  return {
    mac,
    pickFolder: async () => (await native.PickFolder()) || null,
    async pickFiles() {
      const paths = (await native.PickFiles()) ?? [];
      return paths.length > 0 ? { paths } : null;
    },
    pickSave: async (name) => (await native.PickSave(name)) || null,
    openUrl: (url) => native.OpenURL(url),
    openPath: (path) => native.OpenPath(path),
    // Where the desktop shows no notifications, the page still tells.
    notify: (title, text) => void native.Notify(title, text).catch(() => undefined),
    onDrop(drop) {
      const off = runtime?.EventsOn('files.dropped', (data) => {
        const { x, y, paths } = data as { x: number; y: number; paths: string[] | null };
        if (paths?.length) drop({ x, y, picked: { paths } });
      });
      const stop = swallowDrops(page);
      return () => {
        off?.();
        stop();
      };
    },
    onOpened(opened) {
      const take = () =>
        void native.TakeOpened().then((paths) => {
          if (paths?.length) opened(paths);
        });
      take();
      return runtime?.EventsOn('files.opened', take) ?? (() => undefined);
    },
  };
}

function browserPlatform(page: Window, mac: boolean): Platform {
  return {
    mac,
    pickFolder: (ask) => ask(),
    pickFiles: () =>
      new Promise((done) => {
        const input = page.document.createElement('input');
        input.type = 'file';
        input.multiple = true;
        input.addEventListener('change', () => {
          const files = [...(input.files ?? [])];
          done(files.length > 0 ? { files } : null);
        });
        input.addEventListener('cancel', () => done(null));
        input.click();
      }),
    pickSave: () => Promise.resolve('download'),
    openUrl(url) {
      page.open(url, '_blank', 'noopener,noreferrer');
      return Promise.resolve();
    },
    async askToNotify() {
      if ('Notification' in page) await Notification.requestPermission();
    },
    notify(title, text) {
      if (!('Notification' in page)) return;
      if (Notification.permission === 'granted') new Notification(title, { body: text });
    },
    onDrop(drop) {
      const onDrop = (e: DragEvent) => {
        e.preventDefault();
        const files = [...(e.dataTransfer?.files ?? [])];
        if (files.length > 0) drop({ x: e.clientX, y: e.clientY, picked: { files } });
      };
      page.addEventListener('drop', onDrop);
      const stop = swallowDrops(page);
      return () => {
        page.removeEventListener('drop', onDrop);
        stop();
      };
    },
    onOpened: () => () => undefined,
  };
}

/** Keeps the webview from navigating to a dropped file. */
function swallowDrops(page: Window): () => void {
  const prevent = (e: DragEvent) => e.preventDefault();
  page.addEventListener('dragover', prevent);
  page.addEventListener('drop', prevent);
  return () => {
    page.removeEventListener('dragover', prevent);
    page.removeEventListener('drop', prevent);
  };
}

/** The page's token: from the printed address on first load, then kept for this tab. */
export function takeToken(page: Window): string {
  const key = 'worksite.token';
  const match = /(?:^#|&)token=([^&]+)/.exec(page.location.hash);
  if (match?.[1]) {
    page.sessionStorage.setItem(key, match[1]);
    page.history.replaceState(null, '', page.location.pathname);
  }
  return page.sessionStorage.getItem(key) ?? '';
}

/** Saves bytes through the browser's own download. */
export function download(page: Window, name: string, body: Blob): void {
  const url = URL.createObjectURL(body);
  const a = page.document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
