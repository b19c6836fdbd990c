import { expect, it } from 'vitest';
import { NdjsonParser } from './ndjson';

it('puts lines together from any cut, also within a letter', () => {
  const bytes = new TextEncoder().encode('{"a":"grün €"}\n\n{"b":2}\n{"c":3}');
  for (let size = 1; size < 9; size++) {
    const parser = new NdjsonParser<object>();
    const out: object[] = [];
    for (let i = 0; i < bytes.length; i += size) out.push(...parser.push(bytes.subarray(i, i + size)));
    out.push(...parser.end());
    expect(out).toEqual([{ a: 'grün €' }, { b: 2 }, { c: 3 }]);
  }
});
