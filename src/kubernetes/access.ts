// How the API server is reached and who we are there. Tokens and certificates rotate, so they are read again from time to time.
import { type Clock, systemClock } from '../base/clock.ts';

/** What goes with every request. */
export interface Access {
  /** The value of the Authorization header. */
  readonly authorization: string | undefined;
  /** Further headers, such as Impersonate-User. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly tls: TlsAccess | undefined;
}

/** How TLS is spoken with the API server. PEM. */
export interface TlsAccess {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name to expect in the server's certificate when it is not the host of the URL. */
  readonly servername?: string | undefined;
  /** False: any certificate will do, as the kubeconfig asks. */
  readonly rejectUnauthorized?: boolean | undefined;
}

/** Reads it; `fresh`: the server did not take what was read before. */
export type ReadAccess = (fresh: boolean) => Promise<Access>;

/** The credentials cannot be read: a file that is gone, a plugin that fails. */
export class CredentialsError extends Error {
  readonly code = 'kubernetes_credentials';
}

const maxAgeMs = 10_000;

/** Reads at most every ten seconds, unless it must be fresh; those who ask meanwhile share one reading. */
export function rememberAccess(read: ReadAccess, clock: Clock = systemClock): ReadAccess {
  let last: { readonly access: Access; readonly atMs: number } | undefined;
  let reading: Promise<Access> | undefined;
  return (fresh) => {
    if (reading !== undefined) return reading;
    if (!fresh && last !== undefined && clock.now() - last.atMs < maxAgeMs) return Promise.resolve(last.access);
    reading = read(fresh)
      .then((access) => {
        last = { access, atMs: clock.now() };
        return access;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
}
