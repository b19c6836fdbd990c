/** Reads comma-, semicolon- or tab-separated text (RFC 4180 quoting), at most `limit` rows. */
export function parseCsv(text: string, limit: number): { rows: string[][]; more: boolean } {
  const head = text.slice(0, text.search(/\r?\n|$/));
  const separator = [',', ';', '\t'].reduce(
    (best, s) => (head.split(s).length > head.split(best).length ? s : best),
    ',',
  );
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const ch = text[i];
    if (quoted) {
      if (ch !== '"') cell += ch;
      else if (text[i + 1] === '"') {
        cell += '"';
        i++;
      } else quoted = false;
    } else if (ch === '"' && cell === '') quoted = true;
    else if (ch === separator) {
      row.push(cell);
      cell = '';
    } else if (ch === '\n') {
      row.push(cell.replace(/\r$/, ''));
      rows.push(row);
      row = [];
      cell = '';
      if (rows.length >= limit) return { rows, more: i + 1 < text.length };
    } else cell += ch;
  }
  if (cell !== '' || row.length > 0) {
    row.push(cell);
    rows.push(row);
  }
  return { rows, more: false };
}
