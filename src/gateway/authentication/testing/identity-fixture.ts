// For tests of who somebody is: an identity provider that is a function, with one key that signs ID tokens.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { createTestKey, signWithJose, type TestKey } from '../../../../test/kit/test-issuer.ts';
import type { FetchOutcome, GuardedRequest } from '../../../base/fetch-json.ts';
import { IdentitySchema, McpAuthenticationSchema } from '../../../ir/gen/config_pb.ts';
import type { Idp, IdpMetadata } from '../../config/idp-connection.ts';
import { type ProviderPreset, standardPreset } from '../../config/provider-preset.ts';
import { type IdentityAsk, type IdentityOutcome, resolveIdentity } from '../login/identity/resolve-identity.ts';
import { createIdentityRules } from '../login/identity/identity-rules.ts';
import { readKeySet } from '../token/key-set.ts';
import type { KeyState } from '../token/key-source.ts';
import { idpIssuer, idpMetadata } from './broker-fixture.ts';

export const clientId = 'gateway';
export const nonce = 'n-0S6';
export const nowMs = Date.UTC(2026, 0, 1);

interface TestProviderOptions {
  readonly preset?: ProviderPreset;
  readonly issuer?: string;
  readonly message?: MessageInitShape<typeof McpAuthenticationSchema>;
  readonly identity?: MessageInitShape<typeof IdentitySchema>;
  readonly tokenClaims?: readonly string[];
  readonly metadata?: Partial<IdpMetadata>;
  /** What URLs answer. */
  readonly answers?: Readonly<Record<string, FetchOutcome>>;
}

const key = createTestKey('ES256', { kid: 'one', alg: 'ES256' });

/** An identity provider and the policy that names it. */
export class TestProvider {
  readonly issuer: string;
  readonly metadata: IdpMetadata;
  readonly config: IdentityAsk['config'];
  readonly fetched: GuardedRequest[] = [];
  readonly key: TestKey = key;
  /** The keys that are known, and what the next fetch finds. */
  keys: KeyState = readKeys(key);
  nextKeys: KeyState | undefined;
  /** Fetches of keys. */
  refetches = 0;

  constructor(options: TestProviderOptions = {}) {
    const { preset = standardPreset, issuer = idpIssuer, identity = {}, tokenClaims = [], answers = {} } = options;
    this.issuer = issuer;
    this.metadata = { ...idpMetadata, issuer, userinfo_endpoint: `${issuer}/userinfo`, ...options.metadata };
    const fetchKeys = (): Promise<void> | undefined => {
      if (this.nextKeys === undefined) return undefined;
      this.refetches += 1;
      this.keys = this.nextKeys;
      this.nextKeys = undefined;
      return Promise.resolve();
    };
    const idp: Idp = {
      issuer,
      getMetadata: () => ({ ok: true, metadata: this.metadata, url: '' }),
      getFlow: () => ({ flow: 'Issuer', reason: 'test' }),
      validator: { validate: () => ({ ok: false, reason: 'token_malformed', detail: 'not used' }) },
      hasKeys: true,
      keys: { getKeys: () => this.keys, load: fetchKeys, refetch: fetchKeys },
      fetcher: {
        fetch: (request) => {
          this.fetched.push(request);
          return Promise.resolve(
            answers[request.url] ?? { ok: false, code: 'unreachable', message: 'nothing is there' },
          );
        },
        close: () => Promise.resolve(),
      },
    };
    this.config = {
      message: create(McpAuthenticationSchema, { issuer, clockSkewMs: 60_000, ...options.message }),
      preset,
      idp,
      ca: undefined,
      issuer: { identity: createIdentityRules(preset, create(IdentitySchema, identity), tokenClaims) },
    };
  }

  /** Claims of an ID token that is fine, but for the changes; undefined takes one out. */
  claims(changes: object = {}): Record<string, unknown> {
    const seconds = nowMs / 1_000;
    return { iss: this.issuer, sub: 'alice', aud: clientId, iat: seconds, exp: seconds + 300, nonce, ...changes };
  }

  /** An ID token that is fine, but for the changes. */
  sign(changes?: object, header: object = {}): Promise<string> {
    return signWithJose(this.key, { alg: 'ES256', kid: 'one', typ: 'JWT', ...header }, this.claims(changes));
  }

  /** Asks who logged in. */
  resolve(answer: object, ask: Partial<IdentityAsk> = {}): Promise<IdentityOutcome> {
    return resolveIdentity({
      config: this.config,
      metadata: this.metadata,
      answer: { access_token: 'at', token_type: 'Bearer', ...answer },
      clientId,
      nonce,
      now: () => nowMs,
      ...ask,
    });
  }

  /** Asks who logged in, with an ID token of these claims. */
  async logIn(changes?: object): Promise<IdentityOutcome> {
    return this.resolve({ id_token: await this.sign(changes) });
  }
}

/** The public part of keys, as a source has it. */
export function readKeys(...keys: readonly TestKey[]): KeyState {
  const read = readKeySet({ keys: keys.map(({ publicJwk }) => publicJwk) });
  if (!read.ok) throw new Error(read.problem);
  return { ok: true, keySet: read.keySet, version: read.keySet.fingerprint };
}
