/** Splits a stream of bytes into lines of JSON. Cut lines and cut UTF-8 wait for their rest. */
export class NdjsonParser<T> {
  private readonly decoder = new TextDecoder();
  private rest = '';

  push(chunk: Uint8Array): T[] {
    return this.take(this.decoder.decode(chunk, { stream: true }));
  }

  /** The last line when the stream ended without a newline. */
  end(): T[] {
    const last = this.take(this.decoder.decode() + '\n');
    this.rest = '';
    return last;
  }

  private take(text: string): T[] {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    const out: T[] = [];
    for (const line of lines) if (line.trim() !== '') out.push(JSON.parse(line) as T);
    return out;
  }
}
