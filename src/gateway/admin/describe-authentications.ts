// MCP authentication as it is in force: policies, identity providers, the chosen flow and why, and the protected resources with their metadata URLs.
// For /config, /routes, and `check`.
import type { ListenerConfig, PortConfig, RuntimeConfig } from '../config/runtime-config.ts';
import { RegistrationMode } from '../../ir/gen/config_pb.ts';
import { formatEndpointPath } from '../../ir/endpoint-paths.ts';
import { describeMode } from '../authentication/authentication-mode.ts';
import type { FlowChoice } from '../config/idp-connection.ts';
import { type DescribedIssuedTokens, describeIssuedTokens } from './describe-issued-tokens.ts';
import { describeWhoGetsIn } from './describe-who-gets-in.ts';
import type { McpAuthenticationConfig, ProtectedResource, ResourceHost } from '../config/protected-resource.ts';

/** One ProxyPolicy's MCP authentication. */
export interface DescribedAuthentication {
  /** namespace/name. */
  readonly policy: string;
  readonly mode: 'Strict' | 'Optional' | 'Permissive';
  readonly issuer: string;
  /** Null: not known before the identity provider's metadata is. */
  readonly flow: FlowChoice | null;
  /** Who gets in, where the gateway issues the tokens; null in other flows. */
  readonly whoGetsIn: string | null;
  /** False: every request is answered 503. */
  readonly keysLoaded: boolean;
  /** Null: the gateway issues none. */
  readonly issuedTokens: DescribedIssuedTokens | null;
  readonly resources: readonly DescribedResource[];
}

/** A protected MCP URL. */
export interface DescribedResource {
  /** As clients see it; `*` stands for whatever host they use. */
  readonly url: string;
  readonly listener: string;
  /** Key of the backend. */
  readonly backend: string;
  /** Where its metadata is: of the resource, of the authorization server. */
  readonly metadataUrls: readonly string[];
  /** The redirect URIs that the client of the gateway must have at the identity provider; empty where clients are registered by the gateway, or log in directly. */
  readonly callbackUrls: readonly string[];
}

/** Describes all of them, in the order of their policies. */
export function describeAuthentications(runtime: RuntimeConfig): DescribedAuthentication[] {
  const resources = new Map<McpAuthenticationConfig, Map<string, DescribedResource>>();
  for (const port of runtime.ports.values()) {
    for (const [, listener] of port.listeners.entries()) {
      for (const [, { resources: ofHost }] of listener.protection.entries()) {
        for (const resource of ofHost.values()) {
          const described = describeResource(resource, port, listener);
          const known = resources.get(resource.config) ?? new Map<string, DescribedResource>();
          known.set(`${described.listener} ${described.url}`, described);
          resources.set(resource.config, known);
        }
      }
    }
  }
  return runtime.authentications
    .map((config): DescribedAuthentication => ({
      policy: config.source,
      whoGetsIn: describeWhoGetsIn(config.message),
      mode: describeMode(config.message.mode),
      issuer: config.message.issuer,
      flow: config.idp.getFlow() ?? null,
      keysLoaded: config.tokens.hasKeys,
      issuedTokens: describeIssuedTokens(config.issuer),
      resources: [...(resources.get(config)?.values() ?? [])],
    }))
    .toSorted((left, right) => left.policy.localeCompare(right.policy));
}

/** "Broker (why)", or that it is not known yet. */
export function formatFlow(flow: FlowChoice | null): string {
  return flow === null ? 'not known until the identity provider answers' : `${flow.flow}: ${flow.reason}`;
}

function describeResource(resource: ProtectedResource, port: PortConfig, listener: ListenerConfig): DescribedResource {
  const { path, config, backend } = resource;
  const base = formatBase(port, resource);
  return {
    url: config.message.resource === '' ? `${base}${path === '' ? '/' : path}` : config.message.resource,
    listener: listener.key,
    backend,
    metadataUrls: ['oauth-protected-resource', 'oauth-authorization-server'].map(
      (name) => `${base}/.well-known/${name}${path}`,
    ),
    callbackUrls: needsCallback(config) ? listCallbacks(resource, port, base) : [],
  };
}

/** The client was made by hand. */
function needsCallback({ message }: McpAuthenticationConfig): boolean {
  return message.registration?.mode === RegistrationMode.SHARED;
}

/** On loopback it has the name that the browser uses. */
function listCallbacks({ host, path }: ProtectedResource, { port, protocol }: PortConfig, base: string): string[] {
  const callback = formatEndpointPath(path, 'callback');
  const scheme = protocol === 'HTTPS' ? 'https' : 'http';
  const names = host.kind === 'loopback' ? [...new Set([base, `${scheme}://localhost:${port}`])] : [base];
  return names.map((each) => `${each}${callback}`);
}

/** Where an identity provider has to send people back to, by issuer: what has to be entered there by hand. */
export function listCallbackUrls(
  authentications: readonly DescribedAuthentication[],
): ReadonlyMap<string, readonly string[]> {
  const urls = new Map<string, Set<string>>();
  for (const { issuer, resources } of authentications)
    for (const url of resources.flatMap(({ callbackUrls }) => callbackUrls))
      urls.set(issuer, (urls.get(issuer) ?? new Set()).add(url));
  return new Map(Array.from(urls, ([issuer, each]) => [issuer, [...each]]));
}

function formatBase({ address, port, protocol }: PortConfig, { host }: ProtectedResource): string {
  if (host.kind === 'configured') return host.origin;
  const scheme = protocol === 'HTTPS' ? 'https' : 'http';
  const isDefaultPort = port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${formatHost(host, address)}${isDefaultPort ? '' : `:${port}`}`;
}

function formatHost(host: Exclude<ResourceHost, { kind: 'configured' }>, address: string): string {
  if (host.kind === 'exact') return host.hostname;
  if (host.kind === 'asked') return '*';
  return address.includes(':') ? `[${address}]` : address;
}
