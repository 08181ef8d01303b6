// For tests of the flow Issuer without sockets: a protected resource whose tokens the gateway issues, an identity provider, and a client that logs in.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { createPublicKey } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { createSigningKey, readSigningKey } from '../../../base/signing-key.ts';
import { type McpAuthenticationSchema, LoginFlow, RegistrationMode } from '../../../ir/gen/config_pb.ts';
import type { Store } from '../../../store/store.ts';
import type { IdpMetadata, MetadataState } from '../../config/idp-connection.ts';
import { type ProviderPreset, standardPreset } from '../../config/provider-preset.ts';
import type { SigningKey, SigningKeys } from '../../config/token-issuer.ts';
import { authorizeEndpoint } from '../login/endpoints/authorize.ts';
import { callbackEndpoint } from '../login/endpoints/callback.ts';
import { registerEndpoint } from '../login/endpoints/register.ts';
import { tokenEndpoint } from '../login/endpoints/token.ts';
import { createTokenIssuer } from '../login/issuer/create-token-issuer.ts';
import { createIssuedTokens } from '../login/issuer/issued-token-validator.ts';
import type { OAuthAnswer } from '../login/oauth-endpoint.ts';
import { readRequiredClaims } from '../token/required-claims.ts';
import { createPkce, idpIssuer, readLocation, TestBroker, TestBrowser } from './broker-fixture.ts';
import { FakeIdp } from './fake-idp.ts';

export const redirectUri = 'http://127.0.0.1:33418/callback';

export interface IssuerOptions {
  readonly message?: Omit<MessageInitShape<typeof McpAuthenticationSchema>, 'registration'>;
  readonly metadata?: Partial<IdpMetadata>;
  readonly metadataState?: MetadataState;
  readonly preset?: ProviderPreset;
  /** Null: none are configured. */
  readonly signingKeys?: SigningKeys | null;
  readonly store?: Store;
  readonly keys?: readonly Uint8Array[];
  readonly asksForConsent?: boolean;
  readonly noSealer?: boolean;
  readonly clock?: Clock;
  readonly path?: string;
}

/** A key of the gateway's own. */
export function createTestKey(): SigningKey {
  const { kid, privateKey: pkcs8 } = createSigningKey();
  const privateKey = readSigningKey(pkcs8)!;
  return { kid, privateKey, publicKey: createPublicKey(privateKey) };
}

/** Keys of which the first one signs. */
export function arrangeKeys(...keys: readonly SigningKey[]): SigningKeys {
  return { keys, active: keys[0] };
}

/** A gateway that issues tokens. */
export class TestIssuer {
  readonly idp: FakeIdp;
  readonly broker: TestBroker;
  readonly signingKeys: SigningKeys | undefined;

  constructor(options: IssuerOptions = {}, idp?: FakeIdp) {
    const signingKeys =
      options.signingKeys === null ? undefined : (options.signingKeys ?? arrangeKeys(createTestKey()));
    this.signingKeys = signingKeys;
    this.idp = idp ?? new FakeIdp(() => this.broker.nowMs);
    this.broker = new TestBroker({
      message: {
        flow: LoginFlow.ISSUER,
        requiredScopes: ['tickets'],
        clockSkewMs: 60_000,
        identity: {},
        issuedTokens: {
          lifetimeMs: 900_000,
          refreshLifetimeMs: 2_592_000_000n,
          claims: ['email', 'groups'],
          scopes: [{ scopes: ['tickets'] }, { scopes: ['admin'], when: '"admins" in jwt.groups' }],
        },
        ...options.message,
      },
      registration: { mode: RegistrationMode.SHARED, clientId: 'gateway-client' },
      asksForConsent: options.asksForConsent ?? false,
      sharedClientSecret: 'shared-secret',
      metadata: { userinfo_endpoint: `${idpIssuer}/userinfo`, jwks_uri: `${idpIssuer}/jwks`, ...options.metadata },
      preset: options.preset ?? standardPreset,
      idp: { keys: this.idp.keys, getFlow: () => ({ flow: 'Issuer', reason: 'the policy asks for Issuer' }) },
      fetch: this.idp.fetch,
      ...(options.metadataState !== undefined && { metadataState: options.metadataState }),
      ...(options.keys !== undefined && { keys: options.keys }),
      ...(options.noSealer !== undefined && { noSealer: options.noSealer }),
      ...(options.path !== undefined && { path: options.path }),
      createIssuer: ({ message, sealer, preset, now }) => ({
        issuer: createTokenIssuer(message, {
          signingKeys,
          sealer,
          store: options.store,
          preset,
          clock: options.clock ?? { now, setTimer: () => () => {} },
        }),
        tokens: createIssuedTokens({
          signingKeys,
          idp: message.issuer,
          clockSkewMs: message.clockSkewMs,
          requiredClaims: readRequiredClaims(message.requiredClaims),
          now,
        }),
      }),
    });
  }

  /** A client registers; its id. */
  async register(name = 'Test client'): Promise<string> {
    const body = JSON.stringify({ redirect_uris: [redirectUri], client_name: name });
    const answer = await this.broker.call(registerEndpoint, { body, contentType: 'application/json' });
    return readBody(answer)['client_id'] as string;
  }

  /** A client logs in up to its code. */
  async logIn(query: Readonly<Record<string, string>> = {}, isRootForm = false): Promise<LoggedIn> {
    const clientId = query['client_id'] ?? (await this.register());
    const { verifier, challenge } = createPkce();
    const browser = new TestBrowser();
    const sent = await this.broker.call(
      authorizeEndpoint,
      {
        query: {
          response_type: 'code',
          redirect_uri: redirectUri,
          code_challenge: challenge,
          code_challenge_method: 'S256',
          state: 'client-state',
          ...query,
          client_id: clientId,
        },
        isRootForm,
      },
      browser,
    );
    const idpUrl = readLocation(sent);
    const returned = await this.broker.call(callbackEndpoint, { query: this.idp.logIn(idpUrl) }, browser);
    const back = readLocation(returned);
    const code = back.searchParams.get('code') ?? '';
    const redeem = {
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    return { clientId, idpUrl, back, redeem };
  }

  /** A token request. */
  ask(form: Readonly<Record<string, string>>, isRootForm = false): Promise<OAuthAnswer> {
    return this.broker.call(tokenEndpoint, { form, isRootForm });
  }

  /** A client logs in and gets its tokens. */
  async getTokens(query: Readonly<Record<string, string>> = {}): Promise<IssuedTokens> {
    const { redeem, clientId } = await this.logIn(query);
    return { clientId, ...readTokens(await this.ask(redeem)) };
  }

  /** A refresh. */
  refresh({ clientId, refreshToken }: Pick<IssuedTokens, 'clientId' | 'refreshToken'>, more: object = {}) {
    return this.ask({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken, ...more });
  }
}

/** A login up to the code. */
export interface LoggedIn {
  readonly clientId: string;
  /** Where the browser was sent to log in. */
  readonly idpUrl: URL;
  /** Where it came back to. */
  readonly back: URL;
  /** The token request that redeems the code. */
  readonly redeem: Readonly<Record<string, string>>;
}

export interface IssuedTokens {
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The JSON of an answer. */
export function readBody(answer: OAuthAnswer): Readonly<Record<string, unknown>> {
  return JSON.parse(answer.body) as Record<string, unknown>;
}

/** The tokens of an answer; throws when it has none. */
export function readTokens(answer: OAuthAnswer): Omit<IssuedTokens, 'clientId'> {
  const body = readBody(answer);
  if (answer.status !== 200) throw new Error(`status ${answer.status}: ${answer.body} (${answer.detail ?? ''})`);
  const { access_token: accessToken, refresh_token: refreshToken = '' } = body as Record<string, string>;
  return { accessToken: accessToken!, refreshToken, body };
}

/** The claims of a token, unverified. */
export function readClaimsOf(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
}
