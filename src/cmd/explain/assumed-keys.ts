// Validators for a request that is only explained. Keys that stand in the files verify tokens as they do in a gateway. Keys that would have to be
// fetched are replaced by stand-ins, and tokens signed again with these: all but the signature is judged by the gateway's own code.
import { clone } from '@bufbuild/protobuf';
import type { FetchOutcome, GuardedFetcher } from '../../base/fetch-json.ts';
import { type JwtAuthentication, JwtAuthenticationSchema, type KeySource } from '../../ir/gen/config_pb.ts';
import type { JwtAuthenticationConfig } from '../../gateway/config/jwt-authentication-config.ts';
import type {
  AcquireJwtAuthentication,
  JwtAuthenticationInput,
} from '../../gateway/authentication/jwt/jwt-authentication-registry.ts';
import type { ConnectIdp, IdpConnection, IdpConnectionOptions } from '../../gateway/config/idp-connection.ts';
import type { createIssuedTokens } from '../../gateway/authentication/login/issuer/issued-token-validator.ts';
import { readCompactToken } from '../../gateway/authentication/token/read-compact-token.ts';
import type { AcceptedAudiences, TokenValidator } from '../../gateway/authentication/token/verified-token.ts';
import type { Credential } from './credential.ts';
import { getStandInKeys, isStandInKeySet, type StandInKeys } from './stand-in-keys.ts';

/** What was not checked about a token, because it could not be. */
export interface SignatureNote {
  /** namespace/name of the policy, of several that share an issuer all. */
  readonly policy: string;
  readonly issuer: string;
  /** checked: with keys that are at hand. unchecked: its keys were not fetched. assumed: there is no token, only claims. */
  readonly state: 'checked' | 'unchecked' | 'assumed';
  /** Where the keys are, for people. */
  readonly keys: string;
  /** Claims that were filled in, because --claims does not have them. */
  readonly assumedClaims: readonly string[];
}

type CreateIssuedTokens = typeof createIssuedTokens;

/** Stands in for identity providers. */
export class AssumedKeys {
  readonly #credential: Credential;
  readonly #now: () => number;
  readonly #keys: StandInKeys = getStandInKeys();
  readonly #notes = new Map<string, SignatureNote>();
  /** What is sent in place of claims. */
  readonly #placeholders = new Set<string>();

  constructor(credential: Credential, now: () => number = Date.now) {
    this.#credential = credential;
    this.#now = now;
  }

  /** What was asked of it so far. */
  get notes(): readonly SignatureNote[] {
    return [...this.#notes.values()];
  }

  /** The text that goes into the request; for claims, a token with them. `issuer` is for claims that name none. */
  makeToken(issuer: string): string | undefined {
    const credential = this.#credential;
    if (credential.kind === 'none') return undefined;
    if (credential.kind === 'token') return credential.text;
    const placeholder = this.#keys.signClaims(this.#completeClaims(credential.claims, issuer, []).claims);
    this.#placeholders.add(placeholder);
    return placeholder;
  }

  /** A connection without network requests. */
  wrapConnect(connectIdp: ConnectIdp): ConnectIdp {
    return (options: IdpConnectionOptions): IdpConnection => {
      const { keys } = options;
      const isReal = this.#credential.kind !== 'claims' && keys.kind === 'inline' && !isStandInKeySet(keys.document);
      const inline = { kind: 'inline', document: this.#keys.document } as const;
      const idp = connectIdp({ ...options, ...(!isReal && { keys: inline }), fetcher: refusingFetcher });
      const place = describeIdpKeys(options);
      return {
        ...idp,
        validator: this.#wrap(idp.validator, options.issuer, place, isReal, options.describeUsers),
      };
    };
  }

  /** The same for tokens that the gateway issues itself: its own keys are never here. */
  wrapIssued(create: CreateIssuedTokens): CreateIssuedTokens {
    return (rules) => {
      // Whichever key the token names stands in for it.
      const kid = this.#findKeyId() ?? 'stand-in';
      const key = { kid, ...this.#keys.own };
      const tokens = create({ ...rules, signingKeys: { keys: [key], active: key } });
      return { ...tokens, validator: this.#wrapOwn(tokens.validator, rules.idp, rules.source ?? '') };
    };
  }

  /** The same for the providers of a JWT authentication. */
  wrapAcquire(acquire: AcquireJwtAuthentication): AcquireJwtAuthentication {
    // The same configuration for the same policy, as the registry has it.
    const known = new WeakMap<JwtAuthenticationConfig, JwtAuthenticationConfig>();
    return (input: JwtAuthenticationInput) => {
      const config = acquire({ ...input, message: this.#replaceKeys(input.message) });
      const before = known.get(config);
      if (before !== undefined) return before;
      const providers = new Map(
        [...config.providers].map(([issuer, provider]) => {
          const original = input.message.providers.find(({ name }) => name === provider.message.name);
          const place = describeKeys(original?.keys, original?.issuer ?? issuer);
          const isReal = this.#isReal(original?.keys);
          const validator = this.#wrap(provider.validator, issuer, place, isReal, () => input.source);
          return [issuer, { ...provider, message: original ?? provider.message, validator }];
        }),
      );
      const wrapped = { ...config, message: input.message, providers };
      known.set(config, wrapped);
      return wrapped;
    };
  }

  #findKeyId(): string | undefined {
    if (this.#credential.kind !== 'token') return undefined;
    const read = readCompactToken(this.#credential.text);
    return read.ok ? read.token.keyId : undefined;
  }

  /** The issuer of such tokens depends on the request, and was judged before. */
  #wrapOwn(validator: TokenValidator, idp: string, policy: string): TokenValidator {
    return {
      validate: (text, audiences) => {
        const credential = this.#credential;
        const note = { policy, issuer: idp, keys: ownKeys };
        if (credential.kind !== 'claims' || !this.#placeholders.has(text)) {
          this.#note({ ...note, state: 'unchecked', assumedClaims: [] });
          return validator.validate(this.#keys.signAgain(text), audiences);
        }
        const read = readCompactToken(text);
        const issuer = read.ok ? String(read.token.claims['iss']) : idp;
        const { claims, assumed } = this.#completeClaims(credential.claims, issuer, audiences);
        const isNamed = claims['idp'] !== undefined;
        this.#note({ ...note, state: 'assumed', assumedClaims: isNamed ? assumed : [...assumed, 'idp'] });
        return validator.validate(this.#keys.signClaims(isNamed ? claims : { ...claims, idp }), audiences);
      },
    };
  }

  #isReal(keys: KeySource | undefined): boolean {
    if (this.#credential.kind === 'claims' || keys?.source.case !== 'inline') return false;
    return !isStandInKeySet(keys.source.value);
  }

  #replaceKeys(message: JwtAuthentication): JwtAuthentication {
    const copy = clone(JwtAuthenticationSchema, message);
    for (const { keys } of copy.providers) {
      if (keys !== undefined && !this.#isReal(keys)) keys.source = { case: 'inline', value: this.#keys.document };
    }
    return copy;
  }

  #wrap(
    validator: TokenValidator,
    issuer: string,
    keys: string,
    isReal: boolean,
    describePolicies: () => string,
  ): TokenValidator {
    return {
      validate: (text, audiences, read) => {
        const credential = this.#credential;
        const note = { policy: describePolicies(), issuer, keys };
        if (credential.kind === 'claims' && this.#placeholders.has(text)) {
          const { claims, assumed } = this.#completeClaims(credential.claims, issuer, audiences);
          this.#note({ ...note, state: 'assumed', assumedClaims: assumed });
          return validator.validate(this.#keys.signClaims(claims), audiences);
        }
        this.#note({ ...note, state: isReal ? 'checked' : 'unchecked', assumedClaims: [] });
        return isReal
          ? validator.validate(text, audiences, read)
          : validator.validate(this.#keys.signAgain(text), audiences);
      },
    };
  }

  #note(note: SignatureNote): void {
    this.#notes.set(`${note.policy} ${note.issuer}`, note);
  }

  /** Claims as a token of this issuer would have them: what they leave out is as it should be, and their time is now. */
  #completeClaims(
    given: Readonly<Record<string, unknown>>,
    issuer: string,
    audiences: AcceptedAudiences,
  ): { readonly claims: Readonly<Record<string, unknown>>; readonly assumed: readonly string[] } {
    const seconds = Math.floor(this.#now() / 1_000);
    const filled: Record<string, unknown> = {};
    if (given['iss'] === undefined) filled['iss'] = issuer;
    if (given['aud'] === undefined && audiences !== 'any' && audiences[0] !== undefined) filled['aud'] = audiences[0];
    const isLater = (name: string): boolean => typeof given[name] === 'number' && given[name] > seconds;
    if (!isLater('exp')) filled['exp'] = seconds + 3_600;
    for (const name of ['nbf', 'iat']) if (isLater(name)) filled[name] = seconds;
    return { claims: { ...given, ...filled }, assumed: Object.keys(filled) };
  }
}

/** Where the keys of issued tokens are, as it follows "the keys are". */
export const ownKeys = "the gateway's own";

/** Answers every call as if the server were unreachable. */
const refusingFetcher: GuardedFetcher = {
  fetch: (): Promise<FetchOutcome> =>
    Promise.resolve({ ok: false, code: 'unreachable', message: 'the identity provider was not asked; --online does' }),
  close: () => Promise.resolve(),
};

function describeIdpKeys({ keys, issuer }: IdpConnectionOptions): string {
  switch (keys.kind) {
    case 'inline':
      return describeInlineKeys(keys.document);
    case 'url':
      return `at ${keys.url}`;
    case 'endpoints':
      return 'at a Service';
    case 'discovered':
      return `at the jwks_uri in the metadata of ${issuer}`;
  }
}

function describeInlineKeys(document: string): string {
  return isStandInKeySet(document) ? 'in the policy, and the gateway does not show them' : 'in the policy';
}

/** Where keys are, as it follows "the keys are". */
export function describeKeys(keys: KeySource | undefined, issuer: string): string {
  switch (keys?.source.case) {
    case 'inline':
      return keys.file === '' ? describeInlineKeys(keys.source.value) : `in the file ${keys.file}`;
    case 'url':
      return `at ${keys.source.value}`;
    case 'backend':
      return `at ${keys.source.value.backend}${keys.source.value.path}`;
    case undefined:
      return `at the jwks_uri in the metadata of ${issuer}`;
  }
}
