// Microsoft Entra ID: metadata of version 2 for issuers of version 1 and 2; no registration; `resource` is an error; PKCE works but is not listed.
import type { JsonObject } from '../../../../base/json-object.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import { appendOpenidConfiguration } from './metadata-urls.ts';

/** The issuer of version 1 tokens lives on hosts that publish no version 2 metadata. */
const loginHosts: Readonly<Record<string, string>> = {
  'sts.windows.net': 'login.microsoftonline.com',
  'sts.microsoftonline.us': 'login.microsoftonline.us',
  'sts.chinacloudapi.cn': 'login.partner.microsoftonline.cn',
};

export const entra: ProviderPreset = {
  name: 'Entra',
  metadataUrls: (issuer) => {
    const tenant = readTenant(issuer);
    return [appendOpenidConfiguration(tenant === undefined ? issuer : `${tenant}/v2.0`)];
  },
  acceptsIssuer: (configured, found) => {
    const tenant = readTenant(configured);
    return tenant !== undefined && tenant === readTenant(found);
  },
  resourceParameter: 'none',
  refreshScope: 'offline_access',
  supportsPkce: true,
  hasNoRegistration: true,
  needsBroker: 'Entra has no dynamic registration and refuses `resource`',
  forwardRemarks: ['Entra registers no clients: use registration.mode Shared with an app registration of its own.'],
  remarks: [
    'Ask for a scope of your API in authorizationRequest.extraScopes (api://.../access), or tokens are for Microsoft Graph and cannot be validated.',
    'Set audiences to the application ID (version 2 tokens) or the application ID URI (version 1 tokens).',
  ],
  identity: {
    acceptsMetadataIssuer: (configured, found) =>
      entra.acceptsIssuer!(configured, found) || isTemplateOf(configured, found),
    acceptsIdTokenIssuer,
    // `sub` differs from application to application; `upn`, `email` and `preferred_username` change hands.
    readSubject: ({ tid, oid }) => (isGuid(tid) && isGuid(oid) ? `${tid}/${oid}`.toLowerCase() : undefined),
    subjectMembers: 'tid and oid',
    // Unless the owner of the domain is verified, any tenant can write any address (optional claims email and xms_edov of the app registration).
    vouchesForEmail: ({ xms_edov: verified }) => [true, 'true', 1, '1'].includes(verified as string),
    // Of many tenants, group names are whatever each tenant calls its groups.
    organizations: (issuer) => (findAudience(issuer) === undefined ? undefined : 'tid'),
    // It accepts tokens for Microsoft Graph only, and has less than the ID token.
    hasUserinfo: false,
  },
};

/** The tenant of personal Microsoft accounts. */
const consumers = '9188040d-6c67-4c5b-b112-36a304b66dad';

/** Whom an issuer of many tenants lets in; undefined: it is that of one tenant. */
function findAudience(issuer: string): 'common' | 'organizations' | 'consumers' | undefined {
  const name = readTenant(issuer)?.split('/').at(-1);
  return name === 'common' || name === 'organizations' || name === 'consumers' ? name : undefined;
}

/** The metadata of many tenants has a template for an issuer, that of personal accounts their tenant. */
function isTemplateOf(configured: string, found: string): boolean {
  const audience = findAudience(configured);
  if (audience === undefined) return false;
  const tenant = audience === 'consumers' ? consumers : encodeURI('{tenantid}').toLowerCase();
  return readTenant(found) === readTenant(configured)!.replace(/[^/]+$/, tenant);
}

/** The issuer names the tenant of the user: the configured one, or where many log in, one of those that are let in. */
function acceptsIdTokenIssuer(configured: string, { iss, tid }: JsonObject): boolean {
  if (typeof iss !== 'string' || !isGuid(tid)) return false;
  const found = readTenant(iss);
  const tenant = tid.toLowerCase();
  const audience = findAudience(configured);
  if (audience === undefined) return found === readTenant(configured) && found?.endsWith(`/${tenant}`) === true;
  if (audience !== 'common' && (audience === 'consumers') !== (tenant === consumers)) return false;
  return found === readTenant(configured)!.replace(/[^/]+$/, tenant);
}

function isGuid(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);
}

/** Login host and tenant: https://login.microsoftonline.com/{tenant}. Undefined when the issuer is not of this form. */
function readTenant(issuer: string): string | undefined {
  const url = URL.parse(issuer);
  if (url === null) return undefined;
  const match = /^\/([^/]+)(?:\/v2\.0)?\/?$/.exec(url.pathname);
  if (match === null) return undefined;
  const host = loginHosts[url.host] ?? url.host;
  return `${url.protocol}//${host}/${match[1]!.toLowerCase()}`;
}
