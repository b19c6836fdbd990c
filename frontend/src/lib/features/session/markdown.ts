import { t } from '../../i18n';
import { MarkdownRenderer } from '../../ui/markdown/render';

/** One renderer for all answers, so that what was rendered once is not rendered again. */
export const answers = new MarkdownRenderer({ image: t.session.image });
