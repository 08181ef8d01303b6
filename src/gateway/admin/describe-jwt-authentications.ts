// JWT authentication as it is in force: policies, where tokens are found, and the providers with where their keys come from.
// For /config, /routes, and `check`.
import type { RuntimeConfig } from '../config/runtime-config.ts';
import type { KeySource } from '../../ir/gen/config_pb.ts';
import { describeMode } from '../authentication/authentication-mode.ts';
import type { JwtProviderConfig } from '../config/jwt-authentication-config.ts';
import type { TokenLocation } from '../authentication/token/find-token.ts';
import { formatBackendName } from '../request/backend-name.ts';

/** One ProxyPolicy's JWT authentication. */
export interface DescribedJwtAuthentication {
  /** namespace/name. */
  readonly policy: string;
  readonly mode: 'Strict' | 'Optional' | 'Permissive';
  /** "header authorization after "Bearer "", "cookie token". */
  readonly location: string;
  readonly providers: readonly DescribedJwtProvider[];
}

/** An issuer whose tokens are accepted. */
export interface DescribedJwtProvider {
  readonly name: string;
  readonly issuer: string;
  /** Empty: any. */
  readonly audiences: readonly string[];
  /** Where the keys come from: a URL, "inline", "file keys.json", "Service default/idp:80 at /keys". */
  readonly keys: string;
  /** False: its tokens are answered 503. */
  readonly keysLoaded: boolean;
  /** Why the newest attempt to load them failed; null when it did not. */
  readonly keysProblem: string | null;
}

/** Describes all of them, in the order of their policies. */
export function describeJwtAuthentications({ jwtAuthentications }: RuntimeConfig): DescribedJwtAuthentication[] {
  return jwtAuthentications
    .map(({ source, message, location, providers }): DescribedJwtAuthentication => ({
      policy: source,
      mode: describeMode(message.mode),
      location: describeLocation(location),
      providers: [...providers.values()].map(describeProvider),
    }))
    .toSorted((left, right) => left.policy.localeCompare(right.policy));
}

function describeProvider({ message, hasKeys, describeKeys }: JwtProviderConfig): DescribedJwtProvider {
  const { name, issuer, audiences, keys } = message;
  const problem = describeKeys().problem ?? null;
  return { name, issuer, audiences, keys: describeOrigin(keys), keysLoaded: hasKeys, keysProblem: problem };
}

function describeLocation(location: TokenLocation): string {
  if (location.kind === 'cookie') return `cookie ${location.name}`;
  if (location.kind === 'queryParameter') return `query parameter ${location.name}`;
  const { name, prefix } = location;
  return prefix === '' ? `header ${name}` : `header ${name} after ${JSON.stringify(prefix)}`;
}

function describeOrigin(keys: KeySource | undefined): string {
  switch (keys?.source.case) {
    case 'url':
      return keys.source.value;
    case 'backend':
      return `${formatBackendName(keys.source.value.backend)} at ${keys.source.value.path}`;
    default:
      return keys === undefined || keys.file === '' ? 'inline' : `file ${keys.file}`;
  }
}
