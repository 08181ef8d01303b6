// Gateways with MCP authentication, configured by files as users write them.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import {
  type GatewayProcessRun,
  type GatewayRun,
  type GatewayRunOptions,
  runGateway,
  runGatewayProcess,
} from '../kit/run-gateway.ts';

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
}

/** A gateway that runs. */
export type ProtectedGateway<Run extends GatewayRun = GatewayRun> = Run & {
  readonly url: string;
  /** The URL of a protected server as clients see it. */
  urlOf(path: string): string;
  /** The log, record by record. */
  readLog(): Record<string, unknown>[];
};

/** Starts one. */
export function startProtectedGateway(options: ProtectedGatewayOptions): Promise<ProtectedGateway> {
  return start(options, runGateway);
}

/** Starts one as a process of its own. */
export function startProtectedGatewayProcess(
  options: ProtectedGatewayOptions,
): Promise<ProtectedGateway<GatewayProcessRun>> {
  return start(options, runGatewayProcess);
}

async function start<Run extends GatewayRun>(
  options: ProtectedGatewayOptions,
  begin: (options: GatewayRunOptions) => Promise<Run>,
): Promise<ProtectedGateway<Run>> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gateway-auth-'));
  const sealKeyFile = options.sealKeyFile ?? join(folder, 'seal-keys');
  const run = await begin({
    resources: (port) => formatResources(port, options),
    flags: ['--log-format', 'json', '--seal-key-file', sealKeyFile, ...(options.flags ?? [])],
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  const url = `http://127.0.0.1:${run.port}`;
  return {
    ...run,
    url,
    urlOf: (path) => url + path,
    readLog: () =>
      run
        .readOutput()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async stop() {
      const code = await run.stop();
      rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
}

/** The resources of such a gateway. */
export function formatResources(port: number, { backends, secrets, listener }: ProtectedGatewayOptions): object[] {
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
        ...(authentication === undefined ? [] : [policyResource(name, authentication)]),
      ];
    }),
  ];
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
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gateway-key-'));
  const path = join(folder, 'seal-keys');
  writeFileSync(path, `current: ${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
