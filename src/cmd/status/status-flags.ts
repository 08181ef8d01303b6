// The flags of `mcp-gatehouse status`.
import { type CommandFlags, defineFlags, type FlagValues } from '../flags.ts';
import { adminTokenFileFlag } from '../gateway-flags.ts';

const statusFlagTable = defineFlags({
  namespace: {
    type: 'string',
    short: 'n',
    placeholder: 'NAMESPACE',
    help: 'Look at this namespace; that of the kubeconfig context when absent',
  },
  allNamespaces: { type: 'boolean', short: 'A', help: 'Look at all namespaces' },
  context: { type: 'string', placeholder: 'NAME', help: 'The context of the kubeconfig; its current one when absent' },
  kubeconfig: {
    type: 'string',
    placeholder: 'FILE',
    help: 'The kubeconfig; otherwise KUBECONFIG, or ~/.kube/config',
  },
  controllerNamespace: {
    type: 'string',
    default: 'proxy-system',
    placeholder: 'NAMESPACE',
    help: 'Where the controller is installed, to say how it is',
  },
  admin: {
    type: 'string',
    placeholder: 'URL',
    help: 'Ask a running gateway instead of a cluster, at its admin port: how the servers of its federations are',
  },
  adminTokenFile: adminTokenFileFlag,
  watch: { type: 'boolean', short: 'w', help: 'Stay, and show what changes, until Ctrl-C' },
  output: { type: 'enum', short: 'o', values: ['table', 'json'], default: 'table', help: 'The form of the output' },
  name: {
    type: 'strings',
    placeholder: 'NAME',
    help: 'Only resources of this name, or namespace/name; * stands for anything',
  },
});

export const statusCommandFlags: CommandFlags<typeof statusFlagTable> = {
  name: 'status',
  usage: '[-n NAMESPACE | -A] [--context NAME] [--watch] [-o table|json] [NAME...] | --admin URL [-o table|json]',
  summary: `Shows the GatewayClasses, Gateways, HTTPRoutes, ProxyPolicies, ProxyBackends and InferencePools of a cluster with the conditions that their controller wrote, and of
each that is not well why, and what to do. With --admin, a gateway without a cluster is asked which servers of its federations are up. It reads, and writes nothing.

Exit code: 0 all is well, 1 something is not well or could not be read, 2 wrong usage, or no cluster or gateway to talk to.
The members of -o json are in docs/status.md.`,
  flags: statusFlagTable,
  positionals: 'name',
  examples: [
    'mcp-gatehouse status -A',
    'mcp-gatehouse status -n team --watch',
    'mcp-gatehouse status --admin http://127.0.0.1:15000',
    "mcp-gatehouse status -A 'tickets*' -o json | jq .problems",
  ],
};

export type StatusValues = FlagValues<typeof statusFlagTable>;
