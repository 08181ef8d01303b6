// Backends as rules see them: whether they are usable, and their policies. An unchanged view is the same object in the next compilation, so
// rules that read it are not compiled again. Endpoints are not part of a view: their changes do not affect rules.
import type { BackendPolicies } from '../runtime-config.ts';
import { arePoliciesSame, type PolicyIndex } from './compile-policies.ts';
import type { Lookup } from './recorded-reads.ts';

export interface BackendView {
  /** usable, or broken and reported already, or not there at all. */
  readonly state: 'usable' | 'broken' | 'missing';
  readonly policies: BackendPolicies;
}

/** The views of one compilation, created on first use. */
export class BackendViews implements Lookup<BackendView> {
  readonly #readState: (key: string) => BackendView['state'];
  readonly #policies: PolicyIndex;
  readonly #views = new Map<string, BackendView>();
  #before: ReadonlyMap<string, BackendView> | undefined;

  constructor(readState: (key: string) => BackendView['state'], policies: PolicyIndex, before?: BackendViews) {
    this.#readState = readState;
    this.#policies = policies;
    if (before !== undefined) this.#before = before.#views;
  }

  get(key: string): BackendView {
    let view = this.#views.get(key);
    if (view === undefined) {
      view = this.#create(key);
      this.#views.set(key, view);
    }
    return view;
  }

  /** Ends the compilation: releases the previous views. */
  seal(): void {
    this.#before = undefined;
  }

  #create(key: string): BackendView {
    const state = this.#readState(key);
    const policies = this.#policies.findForBackend(key);
    const before = this.#before?.get(key);
    const isSame = before !== undefined && before.state === state && arePoliciesSame(before.policies, policies);
    return isSame ? before : { state, policies };
  }
}
