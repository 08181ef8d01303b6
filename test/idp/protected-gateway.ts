// Gateways with MCP authentication, configured by files as users write them.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, type GatewayRunOptions, runGateway } from '../kit/run-gateway.ts';

/** A protected MCP server. */
export interface ProtectedBackend {
  /** The path at the gateway: /tickets */
  readonly path: string;
  /** The port of the MCP server on loopback. */
  readonly port: number;
  /** The path there. Default /mcp. */
  readonly targetPath?: string;
  readonly protocol?: 'StreamableHTTP' | 'SSE';
  /** `spec.backend.mcp.authentication`; undefined: not protected. */
  readonly authentication: Readonly<Record<string, unknown>> | undefined;
}

/** What the gateway serves. */
export interface ProtectedGatewayOptions {
  readonly backends: readonly ProtectedBackend[];
  /** Entries of the Secret `idp`. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Where the key for sealing is; one of its own when absent. */
  readonly sealKeyFile?: string;
  readonly flags?: readonly string[];
  readonly listener?: object;
  /** Where clients come, when that is not the gateway itself: policies name their resources there. */
  readonly origin?: string;
}

/** It runs. */
export type ProtectedGateway = GatewayRun;

/** Starts one in this process. */
export function startProtectedGateway(options: ProtectedGatewayOptions): Promise<ProtectedGateway> {
  return runGateway(describeProtectedGateway(options));
}

/** What to run it with. */
export function describeProtectedGateway(options: ProtectedGatewayOptions): GatewayRunOptions {
  const { sealKeyFile, flags = [] } = options;
  return {
    resources: (port) => formatResources(port, options),
    flags: ['--log-format', 'json', ...(sealKeyFile === undefined ? [] : ['--seal-key-file', sealKeyFile]), ...flags],
  };
}

/** The resources of such a gateway. */
export function formatResources(port: number, options: ProtectedGatewayOptions): object[] {
  const { backends, secrets, listener, origin } = options;
  return [
    gatewayResource(port, listener),
    ...(secrets === undefined
      ? []
      : [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'idp' }, type: 'Opaque', stringData: secrets }]),
    ...backends.flatMap(({ path, port: target, targetPath = '/mcp', protocol = 'StreamableHTTP', authentication }) => {
      const name = path.slice(1).replaceAll('/', '-') || 'root';
      return [
        routeResource(name, [ruleTo(path, name)]),
        backendResource(name, target, targetPath, {
          targets: [{ name, static: { host: '127.0.0.1', port: target, path: targetPath, protocol } }],
        }),
        ...(authentication === undefined ? [] : [policyResource(name, nameResource(authentication, origin, path))]),
      ];
    }),
  ];
}

function nameResource(
  authentication: Readonly<Record<string, unknown>>,
  origin: string | undefined,
  path: string,
): object {
  if (origin === undefined) return authentication;
  const { resourceMetadata } = authentication as { readonly resourceMetadata?: object };
  return { ...authentication, resourceMetadata: { resource: `${origin}${path}`, ...resourceMetadata } };
}

/** A ProxyPolicy with MCP authentication for a ProxyBackend. */
export function policyResource(backend: string, authentication: object): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: backend },
    spec: {
      targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: backend }],
      backend: { mcp: { authentication } },
    },
  };
}

/** A key file that several gateways can share. */
export function createSealKeyFile(): { readonly path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-key-'));
  const path = join(folder, 'seal-keys');
  writeFileSync(path, `current: ${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
