// The flags of `mcp-gatehouse explain`.
import { adminTokenFileFlag } from '../gateway-flags.ts';
import { type CommandFlags, defineFlags, type FlagValues } from '../flags.ts';
import { filesFlag, inferenceExtensionFlag } from '../resource-flags.ts';
import { denyUnprotectedFlag } from '../protection-flags.ts';
import { allowUnattachedFlag } from '../unattached-policies.ts';
import { latestProtocolVersion } from './mcp-message.ts';

const explainFlagTable = defineFlags({
  file: filesFlag,
  inferenceExtension: inferenceExtensionFlag,
  denyUnprotected: { ...denyUnprotectedFlag, help: 'With -f: judge as run --deny-unprotected does' },
  allowUnattached: { ...allowUnattachedFlag, help: 'With -f: judge as run --allow-unattached does' },
  fromCluster: { type: 'boolean', help: 'In place of files: the resources of a Kubernetes cluster, read once' },
  namespace: {
    type: 'string',
    short: 'n',
    placeholder: 'NAMESPACE',
    help: 'With --from-cluster: read this namespace only; all of them when absent',
  },
  context: {
    type: 'string',
    placeholder: 'NAME',
    help: 'With --from-cluster: the context of the kubeconfig; its current one when absent',
  },
  kubeconfig: {
    type: 'string',
    placeholder: 'FILE',
    help: 'With --from-cluster: the kubeconfig; otherwise KUBECONFIG, or ~/.kube/config',
  },
  gateway: {
    type: 'string',
    placeholder: 'NAMESPACE/NAME',
    help: 'With --from-cluster: the Gateway, where the URL does not tell which',
  },
  request: { type: 'string', placeholder: 'REQUEST', help: "Method and URL, such as 'POST https://host/mcp'" },
  token: { type: 'string', placeholder: 'FILE', help: 'The file with the access token; - is standard input' },
  claims: {
    type: 'string',
    placeholder: 'FILE',
    help: 'In place of a token: a JSON object with claims, which are taken as verified',
  },
  tool: { type: 'strings', placeholder: 'NAME', help: 'Call this tool; with several, a table of what may be called' },
  prompt: { type: 'strings', placeholder: 'NAME', help: 'The same with a prompt' },
  resource: { type: 'strings', placeholder: 'URI', help: 'The same with a resource' },
  toolsFrom: {
    type: 'string',
    placeholder: 'FILE',
    help: 'A table of these tools: the JSON of a tools/list answer, or a list of names',
  },
  method: { type: 'string', placeholder: 'MCP_METHOD', help: 'Send this MCP message, such as tools/list' },
  arguments: { type: 'string', placeholder: 'JSON', help: 'Arguments of the tool or prompt: a JSON object' },
  body: { type: 'string', placeholder: 'FILE', help: 'Send this body, as it is' },
  protocolVersion: {
    type: 'string',
    default: latestProtocolVersion,
    placeholder: 'VERSION',
    help: 'The MCP version of the message',
  },
  header: { type: 'strings', placeholder: "'NAME: VALUE'", help: 'Send this header too' },
  source: { type: 'string', default: '127.0.0.1', placeholder: 'ADDRESS', help: 'The IP address of the client' },
  listener: {
    type: 'string',
    placeholder: 'NAME',
    help: 'The listener, where the URL does not tell which: https, or public/https with the Gateway',
  },
  backend: { type: 'string', placeholder: 'NAME', help: 'Of a rule that splits requests by weight: this backend' },
  online: { type: 'boolean', help: 'Fetch the keys of identity providers, and check the signature of the token' },
  requestId: {
    type: 'string',
    placeholder: 'ID',
    help: 'In place of all of the above: ask a running gateway about a request that happened',
  },
  admin: {
    type: 'string',
    default: 'http://127.0.0.1:15000',
    placeholder: 'URL',
    help: 'The admin port of a running gateway: with --request-id the one to ask, with --request whose configuration counts',
  },
  adminTokenFile: adminTokenFileFlag,
  json: { type: 'boolean', help: 'Print one JSON object on standard output, and nothing else' },
});

export const explainCommandFlags: CommandFlags<typeof explainFlagTable> = {
  name: 'explain',
  usage:
    "(-f PATH... | --from-cluster | --admin URL) --request 'POST https://host/mcp' [--token FILE | --claims FILE] [--tool NAME...] | --request-id ID",
  summary: `Says what a gateway with these resources would do with a request, and why: the listener and the rule, each policy and where it is attached, each
expression with its value and what it saw, and the exact answer that the client would get, or how the request would be forwarded. It is the
code of the gateway itself that decides. The request is sent nowhere, and identity providers are asked only with --online.

Without --online the signature of a token is checked where the policy has the keys inline; otherwise it counts as good, and the report says so.

Exit code: 0 the request is let through, 1 it is denied (of several tools: one of them), 2 wrong usage, or resources that cannot be read.
The members of --json are in docs/explain.md.`,
  flags: explainFlagTable,
  commonFlags: [
    'file',
    'fromCluster',
    'request',
    'token',
    'claims',
    'tool',
    'toolsFrom',
    'method',
    'online',
    'requestId',
    'json',
  ],
  positionals: 'file',
  examples: [
    "mcp-gatehouse explain -f gateway.yaml --request 'POST https://mcp.example.com/mcp' --claims alice.json --tool ticket_close",
    "mcp-gatehouse explain -f gateway.yaml --request 'POST https://mcp.example.com/mcp' --token - --tools-from tools.json < token.txt",
    "mcp-gatehouse explain --from-cluster --request 'POST https://mcp.example.com/mcp' --claims alice.json --tool ticket_close",
    'mcp-gatehouse explain --request-id 5f0c7f1e-5d2b-4c39-9f43-0c9c1a8a2f6b',
  ],
};

export type ExplainValues = FlagValues<typeof explainFlagTable>;
