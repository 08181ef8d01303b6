// Microsoft Entra ID: metadata of version 2 for issuers of version 1 and 2; no registration; `resource` is an error; PKCE works but is not listed.
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
};

/** Login host and tenant: https://login.microsoftonline.com/{tenant}. Undefined when the issuer is not of this form. */
function readTenant(issuer: string): string | undefined {
  const url = URL.parse(issuer);
  if (url === null) return undefined;
  const match = /^\/([^/]+)(?:\/v2\.0)?\/?$/.exec(url.pathname);
  if (match === null) return undefined;
  const host = loginHosts[url.host] ?? url.host;
  return `${url.protocol}//${host}/${match[1]!.toLowerCase()}`;
}
