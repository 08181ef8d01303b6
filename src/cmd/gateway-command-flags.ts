// The flags of `gateway`.
import { type CommandFlags, defineFlags, type FlagValues } from './flags.ts';
import { findGatewayFlagProblems, gatewayFlags } from './gateway-flags.ts';

const gatewayCommandFlagTable = defineFlags({
  controller: {
    type: 'string',
    env: 'MCP_GATEHOUSE_CONTROLLER',
    placeholder: 'URL',
    help: 'Where the controller is: http://host:port or https://host:port',
  },
  gateway: {
    type: 'string',
    env: 'MCP_GATEHOUSE_GATEWAY',
    placeholder: 'NAMESPACE/NAME',
    help: 'The Gateway that this process serves',
  },
  nodeId: {
    type: 'string',
    env: 'MCP_GATEHOUSE_NODE_ID',
    placeholder: 'NAME',
    help: 'The name of this process: on Kubernetes, of its pod. When absent: the name of the host',
  },
  controllerCa: {
    type: 'string',
    env: 'MCP_GATEHOUSE_CONTROLLER_CA',
    placeholder: 'PATH',
    help: "With https: the file with the CA that signed the controller's certificate. When absent: the system's roots",
  },
  controllerToken: {
    type: 'string',
    env: 'MCP_GATEHOUSE_CONTROLLER_TOKEN',
    placeholder: 'PATH',
    help: 'The file with the token that proves who this process is; read again for every connection',
  },
  snapshotFile: {
    type: 'string',
    env: 'MCP_GATEHOUSE_SNAPSHOT_FILE',
    placeholder: 'PATH',
    help: 'Where to keep the configuration for a restart without a controller. It holds private keys. When absent: nowhere',
  },
  maxStaleness: {
    type: 'duration',
    min: 1_000,
    max: 604_800_000,
    env: 'MCP_GATEHOUSE_MAX_STALENESS',
    help: 'How long the gateway may be without a controller before it is stale: not ready. When absent: for any time',
  },
  onStale: {
    type: 'enum',
    values: ['unready', 'close'],
    env: 'MCP_GATEHOUSE_ON_STALE',
    help: 'With --max-staleness: close also answers every request with 503 and ends open streams. When absent: unready',
  },
  ...gatewayFlags,
});

export const gatewayCommandFlags: CommandFlags<typeof gatewayCommandFlagTable> = {
  name: 'gateway',
  summary:
    'Serves MCP traffic, configured by a controller. On Kubernetes the controller starts this for every Gateway.',
  usage: '--controller URL --gateway NAMESPACE/NAME [flags]',
  flags: gatewayCommandFlagTable,
  commonFlags: [
    'controller',
    'gateway',
    'nodeId',
    'controllerCa',
    'controllerToken',
    'snapshotFile',
    'adminPort',
    'logLevel',
    'workers',
  ],
  examples: [
    'mcp-gatehouse gateway --controller http://proxy.proxy-system:9978 --gateway default/public --controller-token /var/run/token',
  ],
};

type GatewayCommandValues = FlagValues<typeof gatewayCommandFlagTable>;

/** The flags, checked. */
export type GatewayCommandSettings = GatewayCommandValues & {
  readonly controller: string;
  readonly gateway: string;
  readonly nodeId: string;
};

/** Checks what the types of flags cannot. One line for each mistake. */
export function checkGatewayCommandFlags(
  values: GatewayCommandValues,
  hostname: string,
):
  | { readonly ok: true; readonly settings: GatewayCommandSettings }
  | { readonly ok: false; readonly problems: readonly string[] } {
  const { controller, gateway } = values;
  const nodeId = values.nodeId ?? hostname;
  const problems = [
    findControllerProblem(controller),
    findGatewayProblem(gateway),
    isName(nodeId)
      ? undefined
      : `--node-id must be a name of at most 253 characters without a slash, not ${JSON.stringify(nodeId)}`,
    values.controllerCa !== undefined && controller?.startsWith('http:') === true
      ? '--controller-ca goes with a --controller that begins with https'
      : undefined,
    values.onStale !== undefined && values.maxStaleness === undefined
      ? '--on-stale goes with --max-staleness, which says when a gateway is stale'
      : undefined,
    ...findGatewayFlagProblems(values),
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0 || controller === undefined || gateway === undefined) return { ok: false, problems };
  return { ok: true, settings: { ...values, controller: new URL(controller).origin, gateway, nodeId } };
}

function findControllerProblem(controller: string | undefined): string | undefined {
  if (controller === undefined) return 'say where the controller is: --controller URL, or MCP_GATEHOUSE_CONTROLLER';
  const url = URL.parse(controller);
  const isOrigin =
    (url?.protocol === 'http:' || url?.protocol === 'https:') &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '';
  return isOrigin
    ? undefined
    : `--controller must be http://host:port or https://host:port, not ${JSON.stringify(controller)}`;
}

function findGatewayProblem(gateway: string | undefined): string | undefined {
  if (gateway === undefined) return 'say which Gateway to serve: --gateway NAMESPACE/NAME, or MCP_GATEHOUSE_GATEWAY';
  const names = gateway.split('/');
  return names.length === 2 && names.every((name) => isName(name) && !/\s/.test(name))
    ? undefined
    : `--gateway must be NAMESPACE/NAME, not ${JSON.stringify(gateway)}`;
}

function isName(text: string): boolean {
  return text !== '' && text.length <= 253 && !text.includes('/');
}
