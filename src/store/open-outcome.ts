// What becomes of opening a store.
import type { Store } from './store.ts';

/** A store, or a sentence for whoever starts the program: what is wrong, and what to do. */
export type OpenedStore =
  | { readonly ok: true; readonly store: Store }
  | { readonly ok: false; readonly problem: string };
