import { asApiError, type ApiError } from '../api/error';
import type { Client } from '../api/client';
import type { Picked } from '../api/platform';
import type { Attachment, Budget, Mode, ModelRef, Receipt } from '../api/types.gen';

/** What the person is about to send: kept per session while the page lives. */
export class Draft {
  private words = $state('');
  attachments = $state.raw<Attachment[]>([]);
  /** Names of files that are being copied into the workspace. */
  uploading = $state.raw<string[]>([]);
  error = $state.raw<ApiError | null>(null);
  sending = $state(false);
  /** The budget of the next run; null leaves it to the settings. */
  budget = $state.raw<Budget | null>(null);
  /** For a session that does not exist yet. */
  mode = $state<Mode>('ask');
  model = $state.raw<ModelRef | null>(null);

  readonly empty = $derived(this.words.trim() === '' && this.attachments.length === 0);

  private readonly key: string;

  /** `session` resolves to the id to send to, making the session when there is none. */
  constructor(
    private readonly client: Client,
    private readonly session: () => Promise<string>,
    private readonly storage?: Storage,
    name = '',
  ) {
    this.key = `worksite.draft.${name}`;
    this.words = storage?.getItem(this.key) ?? '';
  }

  /** Kept on this machine until it is sent: a reload or a crash takes no words away. */
  get text(): string {
    return this.words;
  }
  set text(text: string) {
    this.words = text;
    if (text === '') this.storage?.removeItem(this.key);
    else this.storage?.setItem(this.key, text);
  }

  /** Copies files into the session's workspace; what fails is told and left out. */
  async attach(picked: Picked): Promise<void> {
    const names = 'files' in picked ? picked.files.map((f) => f.name) : picked.paths.map(baseName);
    this.uploading = [...this.uploading, ...names];
    this.error = null;
    try {
      const id = await this.session();
      if ('paths' in picked) {
        this.add(await this.client.attachPaths(id, picked.paths));
      } else {
        for (const file of picked.files) this.add([await this.client.attach(id, file.name, file)]);
      }
    } catch (thrown) {
      this.error = asApiError(thrown);
    } finally {
      this.uploading = this.uploading.filter((n) => !names.includes(n));
    }
  }

  remove(attachment: Attachment): void {
    this.attachments = this.attachments.filter((a) => a !== attachment);
  }

  /** Sends, and empties the draft only when the message is durable. Null: it was not accepted. */
  async send(steer: boolean): Promise<Receipt | null> {
    if (this.empty || this.sending || this.uploading.length > 0) return null;
    const { text, attachments, budget } = this;
    this.sending = true;
    this.error = null;
    try {
      const id = await this.session();
      const receipt = await this.client.send(id, {
        text,
        ...(attachments.length > 0 ? { attachments } : {}),
        ...(steer ? { steer } : {}),
        ...(budget ? { budget } : {}),
      });
      this.text = '';
      this.attachments = [];
      return receipt;
    } catch (thrown) {
      this.error = asApiError(thrown);
      return null;
    } finally {
      this.sending = false;
    }
  }

  private add(list: Attachment[]): void {
    this.attachments = [...this.attachments, ...list];
  }
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}
