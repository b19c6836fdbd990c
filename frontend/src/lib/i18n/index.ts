import { en } from './en';
import * as format from './format';

/** The shape every language must fill. */
export type Catalogue = typeof en;

/** The texts of the interface. */
export const t: Catalogue = en;

export { format };
