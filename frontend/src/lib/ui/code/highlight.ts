/** The roles a piece of code can have; tokens.css has a colour for each. */
export type Role = 'plain' | 'comment' | 'keyword' | 'string' | 'number' | 'name';

export interface Piece {
  text: string;
  role: Role;
}

interface Language {
  keywords: ReadonlySet<string>;
  line: string[];
  block: [string, string] | null;
  quotes: string;
  /** Words may hold digits and signs (file names): numbers are not marked. */
  loose?: boolean;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const cLike = (keywords: string): Language => ({
  keywords: words(keywords),
  line: ['//'],
  block: ['/*', '*/'],
  quotes: '"\'`',
});
const hashed = (keywords: string): Language => ({
  keywords: words(keywords),
  line: ['#'],
  block: null,
  quotes: '"\'',
});

const python = hashed(
  'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case self',
);
const script = cLike(
  'as async await break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield',
);
const go = cLike(
  'break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var',
);
const rust = cLike(
  'as async await break const continue crate else enum false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while',
);
const cFamily = cLike(
  'auto bool break case catch char class const continue default delete do double else enum extern false final float for if import int interface long namespace new null nullptr override private protected public return short signed sizeof static struct super switch template this throw true try typedef union unsigned using virtual void volatile while',
);
const shell = hashed(
  'if then else elif fi for while until do done case esac in function return export local set cd echo exit',
);
const sql: Language = {
  keywords: words(
    'select from where and or not insert into values update set delete create table index view drop alter add primary key foreign references join left right inner outer on group by order having limit offset as distinct union all null is in like between case when then else end',
  ),
  line: ['--'],
  block: ['/*', '*/'],
  quotes: '\'"',
};
const data = hashed('true false null yes no on off');
const json: Language = { keywords: words('true false null'), line: [], block: null, quotes: '"' };
const css: Language = {
  keywords: words('important media supports import layer keyframes'),
  line: [],
  block: ['/*', '*/'],
  quotes: '"\'',
};

const languages: Record<string, Language> = {
  py: python,
  python,
  js: script,
  mjs: script,
  ts: script,
  tsx: script,
  jsx: script,
  javascript: script,
  typescript: script,
  svelte: script,
  go,
  golang: go,
  rs: rust,
  rust,
  c: cFamily,
  h: cFamily,
  cpp: cFamily,
  cc: cFamily,
  java: cFamily,
  cs: cFamily,
  kt: cFamily,
  swift: cFamily,
  sh: shell,
  bash: shell,
  shell,
  zsh: shell,
  makefile: shell,
  dockerfile: shell,
  sql,
  yaml: data,
  yml: data,
  toml: data,
  ini: data,
  cfg: data,
  json,
  css,
};

/** The language of a file or of a code fence; null: leave it plain. */
export function languageOf(nameOrTag: string): string | null {
  const tag = nameOrTag.toLowerCase().trim();
  if (tag in languages) return tag;
  const file = tag.slice(tag.lastIndexOf('/') + 1);
  if (file in languages) return file;
  const ext = file.slice(file.lastIndexOf('.') + 1);
  return ext in languages ? ext : null;
}

const longest = 2_000;

/** Splits one line of code into pieces. A line does not know what began above it: good enough for diffs and short blocks. */
export function highlight(line: string, language: string | null): Piece[] {
  const lang = language === null ? undefined : languages[language];
  if (!lang || line.length > longest) return [{ text: line, role: 'plain' }];
  const out: Piece[] = [];
  let plain = '';
  const push = (text: string, role: Role) => {
    if (plain) out.push({ text: plain, role: 'plain' });
    plain = '';
    out.push({ text, role });
  };
  let i = 0;
  const trimmed = line.trimStart();
  if (
    lang.block &&
    trimmed.startsWith('*') &&
    (trimmed[1] === ' ' || trimmed[1] === '/' || trimmed.length === 1)
  ) {
    return [{ text: line, role: 'comment' }];
  }
  while (i < line.length) {
    const rest = line.slice(i);
    const ch = line[i] ?? '';
    if (lang.line.some((c) => rest.startsWith(c))) {
      push(rest, 'comment');
      break;
    }
    if (lang.block && rest.startsWith(lang.block[0])) {
      const end = rest.indexOf(lang.block[1], 2);
      const text = end < 0 ? rest : rest.slice(0, end + lang.block[1].length);
      push(text, 'comment');
      i += text.length;
      continue;
    }
    if (lang.quotes.includes(ch)) {
      let j = i + 1;
      while (j < line.length && line[j] !== ch) j += line[j] === '\\' ? 2 : 1;
      const text = line.slice(i, Math.min(line.length, j + 1));
      push(text, 'string');
      i += text.length;
      continue;
    }
    const number = lang.loose ? null : /^\d[\w.]*/.exec(rest);
    if (number) {
      push(number[0], 'number');
      i += number[0].length;
      continue;
    }
    const word = (lang.loose ? /^[\w./-]+/ : /^[A-Za-z_$][\w$]*/).exec(rest);
    if (word) {
      const text = word[0];
      const key = lang === sql ? text.toLowerCase() : text;
      if (lang.keywords.has(key)) push(text, 'keyword');
      else if (rest[text.length] === '(') push(text, 'name');
      else plain += text;
      i += text.length;
      continue;
    }
    plain += ch;
    i++;
  }
  if (plain) out.push({ text: plain, role: 'plain' });
  return out;
}
