import { expect, it } from 'vitest';
import { parseCsv } from './csv';

it.each<[string, string, string[][]]>([
  [
    'plain',
    'a,b\n1,2\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'quotes, commas and lines within',
    '"a ""x""","b,c"\n"one\ntwo",3',
    [
      ['a "x"', 'b,c'],
      ['one\ntwo', '3'],
    ],
  ],
  [
    'semicolons and Windows lines',
    'a;b\r\n1,5;2\r\n',
    [
      ['a', 'b'],
      ['1,5', '2'],
    ],
  ],
  [
    'tabs',
    'a\tb\n1\t2',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'an empty cell at the end',
    'a,b\n1,',
    [
      ['a', 'b'],
      ['1', ''],
    ],
  ],
  ['nothing', '', []],
])('reads %s', (_, text, rows) => expect(parseCsv(text, 100).rows).toEqual(rows));

it('stops at its limit and says so', () => {
  expect(parseCsv('a\n1\n2\n3\n', 2)).toEqual({ rows: [['a'], ['1']], more: true });
});
