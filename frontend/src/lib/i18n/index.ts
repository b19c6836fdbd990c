import { en } from './en';

/** The shape every language must fill. */
export type Catalogue = typeof en;

/** The texts of the interface. */
export const t: Catalogue = en;

export * as format from './format';
