// The client_id that the gateway issues (RFC 7591 3.2.1): the sealed registration itself. Nothing is stored, so every replica knows
// every client, also after a restart. It is sent in URLs, so it is compact.
import type { ClientPlace } from '../broker-urls.ts';
import type { ClientAuthMethod, IdpClient } from '../../../config/shared-logins.ts';
import { createHash } from 'node:crypto';
import { getZlib } from '../../../../base/node-parts.ts';
import type { Sealer, SealProblem } from '../../../../base/sealed.ts';

/** A registered client. */
export interface RegisteredClient {
  /** Undefined with Shared registration: all use the client of the policy. */
  readonly idpClient: IdpClient | undefined;
  readonly redirectUris: readonly string[];
  /** The client's own name; not verified. */
  readonly name: string | undefined;
  /** Space-separated, as registered. */
  readonly scope: string | undefined;
}

/** The result of opening a client_id. */
type OpenClientResult =
  | { readonly ok: true; readonly client: RegisteredClient }
  /** `elsewhere`: sealed by the gateway for another resource or IdP. */
  | { readonly ok: false; readonly problem: SealProblem | 'elsewhere' };

/** Client ids longer than this do not fit into the URLs that browsers and IdPs take; registration refuses such clients. */
export const maxClientIdLength = 4096;

/** Makes the client_id. Check it against `maxClientIdLength` before it is given out. Without `expiresAtMs` it never expires. */
export function sealClient(sealer: Sealer, place: ClientPlace, client: RegisteredClient, expiresAtMs?: number): string {
  const { idpClient } = client;
  const packed: PackedClient = [
    envelopeVersion,
    digestPlace(place),
    packDescription([client.redirectUris, client.name ?? '', client.scope ?? '']),
    ...(idpClient === undefined
      ? ([] as const)
      : ([idpClient.clientId, authMethods.indexOf(idpClient.authMethod), idpClient.secret ?? ''] as const)),
  ];
  return sealer.seal(purpose, packed, expiresAtMs === undefined ? {} : { expiresAtMs });
}

/** Opens a client_id. */
export function openClient(sealer: Sealer, place: ClientPlace, clientId: string): OpenClientResult {
  const opened = sealer.open<PackedClient>(purpose, clientId);
  if (!opened.ok) return opened;
  const [version, sealedFor, description, idpClientId, authMethod, secret] = opened.value;
  if (version !== envelopeVersion) return { ok: false, problem: 'malformed' };
  if (sealedFor !== digestPlace(place)) return { ok: false, problem: 'elsewhere' };
  const [redirectUris, name, scope] = unpackDescription(description);
  const idpClient: IdpClient | undefined =
    idpClientId === undefined
      ? undefined
      : {
          clientId: idpClientId,
          authMethod: authMethods[authMethod ?? 0] ?? 'none',
          secret: secret === undefined || secret === '' ? undefined : secret,
        };
  return {
    ok: true,
    client: {
      idpClient,
      redirectUris,
      name: name === '' ? undefined : name,
      scope: scope === '' ? undefined : scope,
    },
  };
}

/** A short digest that binds codes, tokens and transactions to a client_id without repeating it. */
export function digestClientId(clientId: string): string {
  return createHash('sha256').update(clientId).digest('base64url').slice(0, 22);
}

const purpose = 'client';
const envelopeVersion = 1;
/** Sealed by index: append only. */
const authMethods: readonly ClientAuthMethod[] = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
];

type PackedClient = readonly [
  version: number,
  place: string,
  /** A string when compressed. */
  description: ClientDescription | string,
  idpClientId?: string,
  authMethod?: number,
  secret?: string,
];

type ClientDescription = readonly [redirectUris: readonly string[], name: string, scope: string];

/** What client registrations tend to have in common. Part of version 1 of the envelope: never to be changed. */
const dictionary = Buffer.from(
  'offline_access email profile openid https://localhost:3000/api/oauth/callback"cursor://anysphere.cursor-mcp/oauth/callback' +
    '"https://vscode.dev/redirect"https://claude.com/api/mcp/auth_callback"https://claude.ai/api/mcp/auth_callback' +
    '"http://[::1]:"http://localhost:"http://127.0.0.1:/oauth/callback"],"/callback"],"',
);

/** Compressed when that is shorter. Only this part, which the client chose: compressing a secret with it would leak the secret through the length. */
function packDescription(description: ClientDescription): ClientDescription | string {
  const text = JSON.stringify(description);
  const compressed = getZlib().deflateRawSync(text, { level: 9, dictionary }).toString('base64url');
  return compressed.length + 2 < text.length ? compressed : description;
}

function unpackDescription(description: ClientDescription | string): ClientDescription {
  if (typeof description !== 'string') return description;
  const text = getZlib().inflateRawSync(Buffer.from(description, 'base64url'), { dictionary }).toString('utf8');
  return JSON.parse(text) as ClientDescription;
}

/** A short digest of the place, for everything that is valid there only. */
export function digestPlace({ issuer, resource }: ClientPlace): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, resource]))
    .digest('base64url')
    .slice(0, 16);
}
