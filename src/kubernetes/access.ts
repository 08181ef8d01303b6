// Credentials for the API server. Tokens and certificates rotate, so they are read again from time to time.
import { type Clock, systemClock } from '../base/clock.ts';

/** The credentials that go with every request. */
export interface Access {
  /** The value of the Authorization header. */
  readonly authorization: string | undefined;
  /** Further headers, such as Impersonate-User. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly tls: TlsAccess | undefined;
}

/** TLS settings for the API server. PEM. */
export interface TlsAccess {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name to expect in the server's certificate when it is not the host of the URL. */
  readonly servername?: string | undefined;
  /** False: any certificate is accepted, because the kubeconfig says so. */
  readonly rejectUnauthorized?: boolean | undefined;
}

/** Reads the credentials; `fresh`: the server refused the cached ones. */
export type ReadAccess = (fresh: boolean) => Promise<Access>;

/** The credentials cannot be read: a file is missing, or a plugin fails. */
export class CredentialsError extends Error {
  readonly code = 'kubernetes_credentials';
}

const maxAgeMs = 10_000;

/** Caches the credentials for ten seconds, unless they must be fresh; concurrent callers share one read. */
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
