// Descope: the issuer of an MCP server has a path of its own below the project's, and tokens may name either.
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import { appendAuthorizationServer, appendOpenidConfiguration } from './metadata-urls.ts';

export const descope: ProviderPreset = {
  name: 'Descope',
  // The host's root serves no metadata, so the forms with the path at the end are not tried.
  metadataUrls: (issuer) => [appendAuthorizationServer(issuer), appendOpenidConfiguration(issuer)],
  acceptsIssuer: (configured, found) => {
    const project = readProject(configured);
    return project !== undefined && project === readProject(found);
  },
  remarks: [
    'Take the issuer of the MCP server resource, with /v1/apps/agentic/ in its path: only that one registers clients.',
    'When tokens name the project as their issuer, set issuer to that and metadataUrl to the metadata of the MCP server.',
  ],
};

/** Origin and project of https://api.descope.com/v1/apps/{project} and .../v1/apps/agentic/{project}/{server}. */
function readProject(issuer: string): string | undefined {
  const url = URL.parse(issuer);
  if (url === null) return undefined;
  const match = /^\/v1\/apps\/(?:agentic\/([^/]+)\/[^/]+|([^/]+))\/?$/.exec(url.pathname);
  if (match === null) return undefined;
  return `${url.origin}/${match[1] ?? match[2]!}`;
}
