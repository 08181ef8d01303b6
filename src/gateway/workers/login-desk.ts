// The shared state of the logins of all workers, kept in one process: limits, client documents, and registrations at the IdP.
import type { GuardedFetcher } from '../../base/fetch-json.ts';
import type { Log } from '../../base/log.ts';
import { createDocumentCache, type DocumentCache } from '../authentication/login/clients/client-id-metadata.ts';
import { findDocumentEgress } from '../authentication/login/clients/document-egress.ts';
import { lifetimeMs, maxRemembered } from '../authentication/login/clients/document-registration.ts';
import type { ClientDocumentResult, DocumentRegistrationResult } from '../config/shared-logins.ts';
import { createAddressLimiter, type AddressLimiter } from '../authentication/login/clients/address-limiter.ts';
import type { RegistrationClaim, SupervisorCalls } from './worker-calls.ts';

/** The calls of one worker that are answered here. */
export type LoginCalls = Pick<
  SupervisorCalls,
  | 'takeRegistration'
  | 'loadDocument'
  | 'canFetchDocuments'
  | 'claimRegistration'
  | 'settleRegistration'
  | 'forgetRegistration'
>;

interface Known {
  readonly result: DocumentRegistrationResult;
  readonly expiresAtMs: number;
}

interface UnderWay {
  readonly worker: object;
  /** Undefined: there is no result, and the next one may try. */
  readonly settled: PromiseWithResolvers<DocumentRegistrationResult | undefined>;
}

/** One for all workers. */
export class LoginDesk {
  readonly #fetcher: GuardedFetcher;
  readonly #now: () => number;
  readonly #log: Log | undefined;
  readonly #limiters = new Map<string, AddressLimiter>();
  readonly #documents: DocumentCache = createDocumentCache();
  readonly #known = new Map<string, Known>();
  readonly #underWay = new Map<string, UnderWay>();

  constructor(fetcher: GuardedFetcher, now: () => number = Date.now, log?: Log) {
    this.#fetcher = fetcher;
    this.#log = log;
    this.#now = now;
  }

  /** The calls that a worker can make; `worker` identifies it until it ends. */
  serve(worker: object): LoginCalls {
    return {
      takeRegistration: ({ id, address, perMinute }) => this.#findLimiter(id).take(address, perMinute, this.#now()),
      loadDocument: (asked): Promise<ClientDocumentResult> =>
        this.#documents.load({ ...asked, now: this.#now, log: this.#log }, this.#fetcher),
      canFetchDocuments: () => findDocumentEgress(this.#fetcher).isOpen(this.#now()),
      claimRegistration: (name) => this.#claim(worker, name),
      settleRegistration: ({ name, result }) => this.#settle(worker, name, result),
      forgetRegistration: (name) => void this.#known.delete(name),
    };
  }

  /** A worker has ended: other workers may take over what it had begun. */
  leave(worker: object): void {
    for (const [name, underWay] of this.#underWay)
      if (underWay.worker === worker) this.#settle(worker, name, undefined);
  }

  /** The connection to this IdP is closed. */
  forgetIdp(id: string): void {
    this.#limiters.delete(id);
  }

  #findLimiter(id: string): AddressLimiter {
    let limiter = this.#limiters.get(id);
    if (limiter === undefined) this.#limiters.set(id, (limiter = createAddressLimiter()));
    return limiter;
  }

  async #claim(worker: object, name: string): Promise<RegistrationClaim> {
    for (;;) {
      const known = this.#known.get(name);
      if (known !== undefined && this.#now() < known.expiresAtMs) return { kind: 'known', result: known.result };
      const underWay = this.#underWay.get(name);
      if (underWay === undefined) {
        this.#underWay.set(name, { worker, settled: Promise.withResolvers() });
        return { kind: 'yours' };
      }
      // Logins that start at the same time share the outcome, good or not.
      const result = await underWay.settled.promise;
      if (result !== undefined) return { kind: 'known', result };
    }
  }

  #settle(worker: object, name: string, result: DocumentRegistrationResult | undefined): void {
    const underWay = this.#underWay.get(name);
    if (underWay?.worker !== worker) return;
    this.#underWay.delete(name);
    if (result?.ok === true) {
      this.#known.delete(name);
      this.#known.set(name, { result, expiresAtMs: this.#now() + lifetimeMs });
      if (this.#known.size > maxRemembered) this.#known.delete(this.#known.keys().next().value!);
    }
    underWay.settled.resolve(result);
  }
}
