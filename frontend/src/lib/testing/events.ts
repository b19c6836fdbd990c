import type { Event, EventPayloads, Kind } from '../api/types.gen';

/** Builds events of one session as the ledger would number and chain them. */
export class Script {
  private seq = 0;
  readonly events: Event[] = [];

  constructor(
    readonly session = 'ses_1',
    private pos = 0,
  ) {}

  add<K extends Kind>(kind: K, payload: Omit<EventPayloads[K], 'v'>, over: Partial<Event> = {}): Event {
    this.seq++;
    this.pos++;
    const event = {
      pos: this.pos,
      session: this.session,
      seq: this.seq,
      id: `evt_${this.seq}`,
      parent: this.seq > 1 ? `evt_${this.seq - 1}` : undefined,
      run: 'run_1',
      createdAt: new Date(Date.UTC(2026, 0, 1, 12, 0, this.seq)).toISOString(),
      cell: 'cell_1',
      generation: 1,
      payloadHash: '',
      prevHash: '',
      hash: '',
      salt: '',
      sig: '',
      kind,
      payload: { v: 1, ...payload },
      ...over,
    } as unknown as Event;
    this.events.push(event);
    return event;
  }

  message(text: string, id = `msg_${this.seq}`): Event {
    return this.add('message.sent', { messageId: id, text });
  }

  answer(text: string, id = `ans_${this.seq}`): Event {
    return this.add('message.completed', {
      messageId: id,
      text,
      model: { provider: 'practice', name: 'sample' },
      finish: 'stop',
      usage: { inputTokens: 10, outputTokens: 5 },
    });
  }

  /** A whole call, from request to result. */
  call(
    id: string,
    name: string,
    input: object,
    over: Partial<EventPayloads['tool_call.completed']> = {},
  ): void {
    this.request(id, name, input);
    this.add('tool_call.executing', { callId: id, attempt: 1, where: 'this process' });
    this.add('tool_call.completed', {
      callId: id,
      attempt: 1,
      outputHash: '',
      output: { text: 'ok' },
      durationMs: 9,
      ...over,
    });
  }

  request(id: string, name: string, input: object): void {
    this.add('tool_call.requested', { callId: id, name, input: JSON.stringify(input) });
  }
}
