// backend.mcp.authentication of a ProxyPolicy: OAuth 2.0 in front of an MCP server.
import { create } from '@bufbuild/protobuf';
import type { McpAuthentication as McpAuthenticationSpec } from '../../api/mcp-authentication.ts';
import type { McpAuthentication, Secret } from '../../ir/gen/config_pb.ts';
import {
  AuthenticationMode,
  ClientCredentialsSchema,
  ClientRegistrationSchema,
  KeyBackendSchema,
  KeySourceSchema,
  LoginFlow,
  McpAuthenticationSchema,
  RegistrationMode,
  UpstreamProtocol,
} from '../../ir/gen/config_pb.ts';
import { convertToMilliseconds } from '../milliseconds.ts';
import { proxyGroup } from '../references.ts';
import type { SecretEntryReference, SecretResolution } from '../secrets.ts';
import { resolveCaCertificates, resolveSecretEntry } from '../secrets.ts';
import type { FieldSurroundings, PolicyField } from './policy-field.ts';
import { convertResourceMetadata } from './resource-metadata.ts';
import { findNamelessRoutes } from './resource-name.ts';

const modes = {
  Strict: AuthenticationMode.STRICT,
  Optional: AuthenticationMode.OPTIONAL,
  Permissive: AuthenticationMode.PERMISSIVE,
};
const flows = {
  Auto: LoginFlow.AUTO,
  Facade: LoginFlow.FACADE,
  Broker: LoginFlow.BROKER,
  Direct: LoginFlow.DIRECT,
};

/** backend.mcp.authentication. */
export const mcpAuthenticationField: PolicyField = {
  name: 'mcp-authentication',
  translate(policy, surroundings) {
    const spec = policy.spec.backend?.mcp.authentication;
    if (spec === undefined) return undefined;
    const references = new References(policy.metadata.namespace, surroundings);
    const value = createAuthentication(spec, references);
    const problems = [...references.problems];
    if (value.resource === '')
      problems.push(
        ...findNamelessRoutes(surroundings).map((problem) => `${place}.resourceMetadata.resource: ${problem}`),
      );
    if (problems.length > 0) return { valid: false, problems };
    const { secrets, backends } = references;
    return { valid: true, spec: { case: 'mcpAuthentication', value }, secrets, backends };
  },
};

const place = 'spec.backend.mcp.authentication';

/** Follows references, and remembers where they led and what was wrong with them. */
class References {
  readonly #namespace: string;
  readonly #surroundings: FieldSurroundings;
  readonly secrets: Secret[] = [];
  readonly backends: string[] = [];
  readonly problems: string[] = [];

  constructor(namespace: string, surroundings: FieldSurroundings) {
    this.#namespace = namespace;
    this.#surroundings = surroundings;
  }

  refuse(field: string, message: string): void {
    this.problems.push(`${place}.${field}: ${message}`);
  }

  /** The key of the message with the entry; empty when there is none. */
  followEntry(field: string, reference: SecretEntryReference | undefined): string {
    if (reference === undefined) return '';
    return this.#keep(field, resolveSecretEntry(this.#surroundings.index, this.#namespace, reference));
  }

  /** The key of the message with the trust anchors; empty when there are none. */
  followCa(field: string, reference: NonNullable<McpAuthenticationSpec['jwks']>['caCertificateRef']): string {
    if (reference === undefined) return '';
    return this.#keep(field, resolveCaCertificates(this.#surroundings.index, this.#namespace, reference));
  }

  /** The key of the backend that has the keys. */
  followService(
    field: string,
    reference: NonNullable<NonNullable<McpAuthenticationSpec['jwks']>['backendRef']>,
  ): string {
    const from = { group: proxyGroup, kind: 'ProxyPolicy', namespace: this.#namespace };
    const resolution = this.#surroundings.backends.resolve(from, reference);
    if (!resolution.found) {
      this.refuse(field, resolution.problem.message);
      return '';
    }
    const { key, kind } = resolution.backend;
    if (kind.case === 'http' && kind.value.protocol === UpstreamProtocol.H2C) {
      const name = `${reference.namespace ?? this.#namespace}/${reference.name}`;
      this.refuse(
        field,
        `port ${reference.port} of Service ${name} has appProtocol kubernetes.io/h2c; keys are fetched with HTTP/1.1`,
      );
    }
    this.backends.push(key);
    return key;
  }

  #keep(field: string, resolution: SecretResolution): string {
    if (!resolution.found) {
      this.refuse(field, resolution.message);
      return '';
    }
    this.secrets.push(resolution.secret);
    return resolution.secret.key;
  }
}

function createAuthentication(spec: McpAuthenticationSpec, references: References): McpAuthentication {
  const { resource = '', ...published } = spec.resourceMetadata ?? {};
  const metadata = convertResourceMetadata(published);
  for (const problem of metadata.problems) references.refuse('resourceMetadata', problem);
  return create(McpAuthenticationSchema, {
    mode: modes[spec.mode],
    issuer: spec.issuer,
    metadataUrl: spec.metadataUrl ?? '',
    audiences: spec.audiences ?? [],
    ...(spec.jwks === undefined ? {} : { keys: createKeySource(spec.jwks, references) }),
    ca: references.followCa('jwks.caCertificateRef', spec.jwks?.caCertificateRef),
    allowInsecureHttp: spec.allowInsecureHttp,
    provider: spec.provider ?? '',
    flow: flows[spec.flow],
    registration: createRegistration(spec.registration, references),
    extraScopes: spec.authorizationRequest?.extraScopes ?? [],
    extraParameters: sortEntries(spec.authorizationRequest?.extraParameters ?? {}),
    clientIdMetadataDocuments: spec.clientIdMetadataDocuments.enabled,
    clientIdMetadataDomains: spec.clientIdMetadataDocuments.allowedDomains ?? [],
    requiredScopes: spec.requiredScopes ?? [],
    requiredClaims: Object.entries(sortEntries(spec.requiredClaims ?? {})).map(([name, expected]) => ({
      name,
      values: (Array.isArray(expected) ? expected : [expected]).map((each) => JSON.stringify(each)),
    })),
    clockSkewMs: convertToMilliseconds(spec.clockSkew),
    resource,
    resourceMetadata: metadata.text,
    forwardToken: spec.forwardToken,
    claimsToHeaders: (spec.claimsToHeaders ?? []).map(({ claim, header }) => ({ claim, header: header.toLowerCase() })),
    sessionBinding: spec.sessionBinding,
  });
}

function createKeySource(jwks: NonNullable<McpAuthenticationSpec['jwks']>, references: References) {
  const { url, inline, backendRef, path = '', allowInsecureHttp } = jwks;
  const keys = create(KeySourceSchema, {
    cacheDurationMs: convertToMilliseconds(jwks.cacheDuration),
    allowInsecureHttp: url !== undefined && allowInsecureHttp,
  });
  if (url !== undefined) keys.source = { case: 'url', value: url };
  if (inline !== undefined) {
    const problem = findKeySetProblem(inline);
    if (problem !== undefined) references.refuse('jwks.inline', problem);
    keys.source = { case: 'inline', value: inline };
  }
  if (backendRef !== undefined) {
    const backend = references.followService('jwks.backendRef', backendRef);
    keys.source = { case: 'backend', value: create(KeyBackendSchema, { backend, path }) };
  }
  return keys;
}

// Only the shape: which keys are usable is for those to say who use them.
function findKeySetProblem(text: string): string | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return 'is no JSON';
  }
  const keys: unknown = typeof document === 'object' && document !== null && 'keys' in document ? document.keys : [];
  return Array.isArray(keys) && keys.length > 0 ? undefined : 'is no key set: a JSON object whose `keys` has entries';
}

function createRegistration(spec: McpAuthenticationSpec['registration'], references: References) {
  const credentials = spec.initialAccessTokenFrom?.clientCredentials;
  const message = create(ClientRegistrationSchema, {
    mode: spec.mode === 'Shared' ? RegistrationMode.SHARED : RegistrationMode.FORWARD,
    endpoint: spec.endpoint ?? '',
    initialAccessToken: references.followEntry('registration.initialAccessTokenRef', spec.initialAccessTokenRef),
    clientId: spec.clientId ?? '',
    clientSecret: references.followEntry('registration.clientSecretRef', spec.clientSecretRef),
    allowedRedirectUris: spec.allowedRedirectUris ?? [],
    perMinute: spec.limits.perMinute,
    maxBodyBytes: spec.limits.maxBodyBytes,
    allowInsecureHttp: spec.endpoint !== undefined && spec.allowInsecureHttp,
  });
  if (credentials !== undefined) {
    const field = 'registration.initialAccessTokenFrom.clientCredentials.clientSecretRef';
    message.initialAccessTokenFrom = create(ClientCredentialsSchema, {
      clientId: credentials.clientId,
      clientSecret: references.followEntry(field, credentials.clientSecretRef),
      scope: credentials.scope ?? '',
    });
  }
  return message;
}

// The order in which a person wrote them says nothing, and must not make another message.
function sortEntries<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(record).toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)),
  );
}
