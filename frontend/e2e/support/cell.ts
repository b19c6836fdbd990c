import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const repository = resolve(import.meta.dirname, '../../..');
const binary = process.env.WORKSITE_BIN ?? join(repository, 'bin/worksite');

/** A running `worksite serve` with a data folder of its own. */
export class Cell {
  readonly home = mkdtempSync(join(tmpdir(), 'worksite-e2e-'));
  /** Kept over restarts, so that a page outlives them. */
  readonly token = randomBytes(16).toString('hex');
  private port = 0;
  private child: ChildProcess | null = null;

  get url(): string {
    return `http://127.0.0.1:${this.port}/#token=${this.token}`;
  }

  constructor() {
    writeFileSync(join(this.home, '.gitconfig'), '[user]\n\tname = A Person\n\temail = person@example.org\n');
  }

  /** Starts the server, on the same port as before when it ran already. */
  async start(options: { pause?: number; token?: string } = {}): Promise<void> {
    if (!existsSync(binary)) throw new Error(`${binary} is not there: run make build`);
    const child = spawn(
      binary,
      ['serve', '--listen', `127.0.0.1:${this.port}`, '--pause', String(options.pause ?? 1)],
      {
        env: {
          PATH: process.env.PATH ?? '',
          HOME: this.home,
          WORKSITE_HOME: join(this.home, 'data'),
          WORKSITE_TOKEN: options.token ?? this.token,
          WORKSITE_ALLOW_ROOT: '1',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.child = child;
    let said = '';
    this.port = await new Promise<number>((done, fail) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        said += String(chunk);
        const port = /http:\/\/[^:]+:(\d+)\//.exec(said)?.[1];
        if (port) done(Number(port));
      });
      child.stderr?.on('data', (chunk: Buffer) => (said += String(chunk)));
      child.once('exit', (code) => fail(new Error(`worksite serve ended with ${code}: ${said}`)));
    });
  }

  /** Ends the server and waits until it is gone. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await gone;
    this.child = null;
  }

  async close(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.home, { recursive: true, force: true });
  }

  /** Calls the API as a second client would. */
  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const res = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!res.ok) throw new Error(`${method} ${path}: ${res.status} ${await res.text()}`);
    return (await res.json()) as T;
  }

  /** Writes a session of about n events into the data folder; the server must not run. */
  seed(n: number): string {
    const made = spawnSync(
      'go',
      ['run', './backend/internal/seed', '-home', join(this.home, 'data'), '-events', String(n)],
      { cwd: repository, encoding: 'utf8' },
    );
    if (made.status !== 0) throw new Error(made.stderr);
    return made.stdout.trim();
  }

  /** The same while the server runs, at a rate: the session's id at once, the end later. */
  seeding(events: number, rate: number): { session: Promise<string>; done: Promise<void> } {
    const child = spawn(
      'go',
      [
        'run',
        './backend/internal/seed',
        '-home',
        join(this.home, 'data'),
        '-events',
        `${events}`,
        '-rate',
        `${rate}`,
      ],
      { cwd: repository, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const session = new Promise<string>((done) =>
      child.stdout.once('data', (chunk: Buffer) => done(String(chunk).trim())),
    );
    const done = new Promise<void>((done, fail) => {
      child.once('exit', (code) => (code === 0 ? done() : fail(new Error(`seed ended with ${code}`))));
    });
    return { session, done };
  }
}
