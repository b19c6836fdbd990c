import DOMPurify from 'dompurify';
import { Marked, type Token, type TokensList } from 'marked';
import { highlight, languageOf } from '../code/highlight';

/** Words that rendered Markdown itself needs. */
export interface MarkdownWords {
  image(alt: string): string;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const schemes = /^(https?:|mailto:)/i;

/** HTML in the source is shown as text, images are named and not loaded, links keep only safe schemes. */
function makeMarked(words: MarkdownWords): Marked {
  return new Marked({
    gfm: true,
    breaks: false,
    renderer: {
      html: ({ text }) => escape(text),
      image: ({ text }) => `<span class="md-image">${escape(words.image(text))}</span>`,
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        return schemes.test(href) ? `<a href="${escape(href)}" rel="noreferrer">${inner}</a>` : inner;
      },
      code({ text, lang }) {
        const language = languageOf((lang ?? '').split(/\s/)[0] ?? '');
        const body = text
          .split('\n')
          .map((line) =>
            highlight(line, language)
              .map((p) =>
                p.role === 'plain' ? escape(p.text) : `<span class="tok-${p.role}">${escape(p.text)}</span>`,
              )
              .join(''),
          )
          .join('\n');
        return `<pre tabindex="0"><code>${body}</code></pre>`;
      },
      // A head without words is no head to a screen reader.
      tablecell({ tokens, header, align }) {
        const inner = this.parser.parseInline(tokens);
        const tag = header && inner.trim() !== '' ? 'th' : 'td';
        return `<${tag}${align ? ` align="${align}"` : ''}>${inner}</${tag}>\n`;
      },
      checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    },
  });
}

const purify: Parameters<typeof DOMPurify.sanitize>[1] = {
  ALLOWED_TAGS: [
    'a',
    'blockquote',
    'br',
    'code',
    'del',
    'em',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'li',
    'ol',
    'p',
    'pre',
    'span',
    'strong',
    'table',
    'tbody',
    'td',
    'th',
    'thead',
    'tr',
    'ul',
  ],
  ALLOWED_ATTR: ['href', 'rel', 'class', 'start', 'align', 'tabindex'],
  ALLOW_DATA_ATTR: false,
};

/**
 * Renders Markdown block by block, so that while an answer streams only its last
 * block changes and the rest of the page stays as it is. Every block is sanitised.
 */
export class MarkdownRenderer {
  private readonly marked: Marked;
  private readonly cache = new Map<string, string>();

  constructor(words: MarkdownWords) {
    this.marked = makeMarked(words);
  }

  blocks(text: string): string[] {
    const tokens = this.marked.lexer(text);
    const out: string[] = [];
    for (const token of tokens) {
      if (token.type === 'space' || token.type === 'def') continue;
      out.push(this.block(token, tokens));
    }
    return out;
  }

  private block(token: Token, all: TokensList): string {
    const known = this.cache.get(token.raw);
    if (known !== undefined) return known;
    const list: TokensList = Object.assign<Token[], Pick<TokensList, 'links'>>([token], { links: all.links });
    const html = DOMPurify.sanitize(this.marked.parser(list), purify);
    if (this.cache.size > 2_000) this.cache.clear();
    this.cache.set(token.raw, html);
    return html;
  }
}
