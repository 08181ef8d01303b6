// A field of a ProxyPolicy as operators write it, from its message: one function per kind of policy.
import { formatDuration } from '../../base/format-duration.ts';
import { readJsonObject } from '../../base/json-object.ts';
import {
  type Authorization,
  AuthorizationAction,
  type ClaimToHeader,
  type ClientRegistration,
  type Cors,
  type Identity,
  type IdpEndpoints,
  type IssuedTokens,
  type JwtAuthentication,
  type KeySource,
  LoginFlow,
  type McpAuthentication,
  type McpAuthorization,
  type Policy,
  RegistrationMode,
  type RequiredClaim,
} from '../../ir/gen/config_pb.ts';
import type { PolicyKind, PolicyMessage } from '../../ir/policy-kinds.ts';
import { describeMode } from '../authentication/authentication-mode.ts';
import type { YamlValue } from './format-yaml.ts';
import { listOrNone, readReference, textOrNone } from './resource-words.ts';

type Describers = { readonly [Kind in PolicyKind]: (message: PolicyMessage<Kind>, namespace: string) => YamlValue };

const describers: Describers = {
  'traffic.cors': describeCors,
  'traffic.publicAccess': () => true,
  'traffic.jwtAuthentication': describeJwtAuthentication,
  'backend.mcp.authentication': describeMcpAuthentication,
  'traffic.authorization': describeRules,
  'backend.mcp.authorization': describeMcpAuthorization,
};

/** Describes the content of a policy of this kind; references are seen from its namespace. */
export function describePolicyField(kind: PolicyKind, { spec }: Policy, namespace: string): YamlValue {
  const describe = describers[kind] as (message: Policy['spec']['value'], namespace: string) => YamlValue;
  return describe(spec.value, namespace);
}

/** CORS settings; a filter of an HTTPRoute has the same fields. */
export function describeCors(cors: Cors): YamlValue {
  return {
    allowOrigins: listOrNone(cors.allowOrigins),
    allowCredentials: cors.allowCredentials,
    allowMethods: listOrNone(cors.allowMethods),
    allowHeaders: listOrNone(cors.allowHeaders),
    exposeHeaders: listOrNone(cors.exposeHeaders),
    maxAge: cors.maxAgeSeconds,
  };
}

const actions: Readonly<Record<number, string>> = {
  [AuthorizationAction.ALLOW]: 'Allow',
  [AuthorizationAction.DENY]: 'Deny',
  [AuthorizationAction.REQUIRE]: 'Require',
};

function describeRules({ action, expressions }: Authorization): { readonly [name: string]: YamlValue } {
  return { action: actions[action] ?? 'unknown', policy: { matchExpressions: expressions } };
}

function describeMcpAuthorization({ rules, scopes }: McpAuthorization): YamlValue {
  return {
    ...(rules === undefined ? {} : describeRules(rules)),
    scopes: listOrNone(
      scopes.map((entry) => ({
        methods: listOrNone(entry.methods),
        tools: listOrNone(entry.tools),
        scopes: entry.scopes,
      })),
    ),
  };
}

function describeJwtAuthentication(message: JwtAuthentication, namespace: string): YamlValue {
  return {
    mode: describeMode(message.mode),
    providers: message.providers.map((provider) => ({
      name: provider.name,
      issuer: provider.issuer,
      audiences: listOrNone(provider.audiences),
      jwks: describeKeys(provider.keys, provider.ca, namespace),
      requiredClaims: describeClaims(provider.requiredClaims),
      clockSkew: formatDuration(provider.clockSkewMs),
    })),
    location: describeLocation(message),
    forwardToken: message.forwardToken,
    claimsToHeaders: describeClaimHeaders(message.claimsToHeaders),
  };
}

function describeLocation({ location }: JwtAuthentication): YamlValue {
  switch (location?.location.case) {
    case 'header': {
      const { name, prefix } = location.location.value;
      return { header: { name, prefix } };
    }
    case 'cookie':
      return { cookie: { name: location.location.value } };
    case 'queryParameter':
      return { queryParameter: { name: location.location.value } };
    default:
      return undefined;
  }
}

const flows: Readonly<Record<number, string>> = {
  [LoginFlow.AUTO]: 'Auto',
  [LoginFlow.FACADE]: 'Facade',
  [LoginFlow.BROKER]: 'Broker',
  [LoginFlow.DIRECT]: 'Direct',
  [LoginFlow.ISSUER]: 'Issuer',
};

function describeMcpAuthentication(message: McpAuthentication, namespace: string): YamlValue {
  const extra = { extraScopes: listOrNone(message.extraScopes), extraParameters: message.extraParameters };
  const hasExtra = message.extraScopes.length > 0 || Object.keys(message.extraParameters).length > 0;
  return {
    mode: describeMode(message.mode),
    issuer: message.issuer,
    metadataUrl: textOrNone(message.metadataUrl),
    audiences: listOrNone(message.audiences),
    jwks: describeKeys(message.keys, message.ca, namespace),
    allowInsecureHttp: message.allowInsecureHttp ? true : undefined,
    provider: textOrNone(message.provider),
    flow: flows[message.flow] ?? 'Auto',
    endpoints: describeEndpoints(message.endpoints),
    identity: describeIdentity(message.identity),
    tokens: describeIssuedTokens(message.issuedTokens),
    registration: message.registration === undefined ? undefined : describeRegistration(message.registration),
    authorizationRequest: hasExtra ? extra : undefined,
    clientIdMetadataDocuments: {
      enabled: describeDocuments(message),
      allowedDomains: listOrNone(message.clientIdMetadataDomains),
    },
    requiredScopes: listOrNone(message.requiredScopes),
    requiredClaims: describeClaims(message.requiredClaims),
    clockSkew: formatDuration(message.clockSkewMs),
    resourceMetadata: describeResourceMetadata(message),
    forwardToken: message.forwardToken,
    claimsToHeaders: describeClaimHeaders(message.claimsToHeaders),
    sessionBinding: message.sessionBinding,
  };
}

function describeEndpoints(message: IdpEndpoints | undefined): YamlValue {
  if (message === undefined) return undefined;
  const { authorization, token, userinfo } = message;
  return { authorization, token, userinfo: textOrNone(userinfo) };
}

function describeIdentity(message: Identity | undefined): YamlValue {
  if (message === undefined) return undefined;
  const { claims, subject, allow } = message;
  return {
    claims: Object.keys(claims).length === 0 ? undefined : claims,
    subject: textOrNone(subject),
    allow:
      allow === undefined
        ? undefined
        : {
            domains: listOrNone(allow.domains),
            organizations: listOrNone(allow.organizations),
            emails: listOrNone(allow.emails),
            subjects: listOrNone(allow.subjects),
          },
  };
}

function describeIssuedTokens(message: IssuedTokens | undefined): YamlValue {
  if (message === undefined) return undefined;
  const { lifetimeMs, refreshLifetimeMs, claims, scopes } = message;
  return {
    lifetime: formatDuration(lifetimeMs),
    refreshLifetime: formatDuration(Number(refreshLifetimeMs)),
    claims: listOrNone(claims),
    scopes:
      scopes.length === 0 ? undefined : scopes.map((grant) => ({ scopes: grant.scopes, when: textOrNone(grant.when) })),
  };
}

function describeResourceMetadata({ resource, resourceMetadata }: McpAuthentication): YamlValue {
  const read = resourceMetadata === '' ? undefined : readJsonObject(resourceMetadata);
  const members = read?.ok === true ? (read.value as { readonly [name: string]: YamlValue }) : {};
  return resource === '' && Object.keys(members).length === 0
    ? undefined
    : { resource: textOrNone(resource), ...members };
}

function describeRegistration(message: ClientRegistration): YamlValue {
  const credentials = message.initialAccessTokenFrom;
  return {
    mode: message.mode === RegistrationMode.SHARED ? 'Shared' : 'Forward',
    endpoint: textOrNone(message.endpoint),
    initialAccessTokenRef: describeEntry(message.initialAccessToken),
    initialAccessTokenFrom:
      credentials === undefined
        ? undefined
        : {
            clientCredentials: {
              clientId: credentials.clientId,
              clientSecretRef: describeEntry(credentials.clientSecret),
              scope: textOrNone(credentials.scope),
            },
          },
    clientId: textOrNone(message.clientId),
    clientSecretRef: describeEntry(message.clientSecret),
    allowedRedirectUris: listOrNone(message.allowedRedirectUris),
    trustedRedirectUris: listOrNone(message.trustedRedirectUris),
    limits: { perMinute: message.perMinute, maxBodyBytes: message.maxBodyBytes },
    allowInsecureHttp: message.allowInsecureHttp ? true : undefined,
  };
}

/** An entry of a Secret of the same namespace. */
function describeEntry(key: string): YamlValue {
  const [, , name = '', entry = ''] = key.split('/');
  return key === '' ? undefined : { name, key: entry };
}

function describeKeys(keys: KeySource | undefined, ca: string, namespace: string): YamlValue {
  const { source, cacheDurationMs = 0, allowInsecureHttp = false } = keys ?? {};
  return {
    url: source?.case === 'url' ? source.value : undefined,
    inline: source?.case === 'inline' ? source.value : undefined,
    ...(source?.case === 'backend'
      ? { backendRef: readReference(source.value.backend, namespace), path: source.value.path }
      : {}),
    cacheDuration: formatDuration(cacheDurationMs),
    caCertificateRef: ca === '' ? undefined : readReference(ca, namespace),
    allowInsecureHttp: allowInsecureHttp ? true : undefined,
  };
}

/** Values are JSON texts. */
function describeClaims(claims: readonly RequiredClaim[]): YamlValue {
  if (claims.length === 0) return undefined;
  return Object.fromEntries(
    claims.map(({ name, values }) => {
      const all = values.map((value) => JSON.parse(value) as YamlValue);
      return [name, all.length === 1 ? all[0] : all];
    }),
  );
}

function describeClaimHeaders(entries: readonly ClaimToHeader[]): YamlValue {
  return listOrNone(entries.map(({ claim, header }) => ({ claim, header })));
}

/** As in the resource: absent is offered while documents can be fetched. */
function describeDocuments(message: McpAuthentication): boolean | undefined {
  if (!message.clientIdMetadataDocuments) return false;
  return message.clientIdMetadataAlways ? true : undefined;
}
