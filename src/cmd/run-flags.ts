// The flags of `run`.
import { identityProviders } from '../api/identity-providers.ts';
import { allowExamples } from './allow-flag.ts';
import { defaultWatchTimes } from '../sources/files/watch-files.ts';
import type { Flag } from './flag-values.ts';
import { type CommandFlags, defineFlags } from './flags.ts';
import { gatewayFlags } from './gateway-flags.ts';
import { denyUnprotectedFlag } from './protection-flags.ts';
import { allowUnattachedFlag } from './unattached-policies.ts';
import { filesFlag, inferenceExtensionFlag } from './resource-flags.ts';

/** The seal key file, for every command that has to do with it. */
export const sealKeyFileFlag = {
  type: 'string',
  env: 'MCP_GATEHOUSE_SEAL_KEY_FILE',
  placeholder: 'PATH',
  help: 'The file with the keys of MCP authentication; made when it is first needed. When absent: mcp-gatehouse/seal-keys in $XDG_STATE_HOME or ~/.local/state',
} as const satisfies Flag;

/** The signing key file, for every command that has to do with it. */
export const signingKeyFileFlag = {
  type: 'string',
  env: 'MCP_GATEHOUSE_SIGNING_KEY_FILE',
  placeholder: 'PATH',
  help: 'The file with the keys of access tokens that the gateway issues itself (flow Issuer); made when it is first needed. When absent: signing-keys beside the seal key file',
} as const satisfies Flag;

const runFlagTable = defineFlags({
  file: { ...filesFlag, help: 'A file or folder with resources; may be given several times' },
  target: {
    type: 'strings',
    env: 'MCP_GATEHOUSE_TARGET',
    placeholder: '[NAME=]URL',
    help: 'Short form for one MCP server: its URL. Given several times, each with a name: all of them as one server, and names of tools begin with that of theirs',
  },
  port: { type: 'port', env: 'MCP_GATEHOUSE_PORT', help: 'With --target: the port to listen on (default 3000)' },
  transport: {
    type: 'enum',
    values: ['streamable-http', 'sse'],
    env: 'MCP_GATEHOUSE_TRANSPORT',
    help: 'With --target: what the server speaks (default streamable-http)',
  },
  issuer: {
    type: 'string',
    env: 'MCP_GATEHOUSE_ISSUER',
    placeholder: 'URL',
    help: 'With --target: let in only who has logged in at this identity provider',
  },
  audience: {
    type: 'strings',
    env: 'MCP_GATEHOUSE_AUDIENCE',
    help: 'With --issuer: what tokens must be for (when absent, the MCP URL that clients use). Identity providers without RFC 8707 need it',
  },
  requiredScope: {
    type: 'strings',
    env: 'MCP_GATEHOUSE_REQUIRED_SCOPE',
    help: 'With --issuer: a scope that every token needs',
  },
  extraScope: {
    type: 'strings',
    env: 'MCP_GATEHOUSE_EXTRA_SCOPE',
    help: 'With --issuer: a scope to ask for in every login, whatever the client asks for',
  },
  provider: {
    type: 'enum',
    values: identityProviders,
    env: 'MCP_GATEHOUSE_PROVIDER',
    help: 'Which identity provider it is, if it is one with quirks. Google, GitHub and GitLab need no --issuer, but --client-id and --allow',
  },
  clientId: {
    type: 'string',
    env: 'MCP_GATEHOUSE_CLIENT_ID',
    help: 'A client that is registered at the identity provider already and stands for all MCP clients, where they cannot register themselves',
  },
  clientSecretFile: {
    type: 'string',
    env: 'MCP_GATEHOUSE_CLIENT_SECRET_FILE',
    placeholder: 'PATH',
    help: 'With --client-id: the file with its secret; none for a public client',
  },
  allow: {
    type: 'strings',
    env: 'MCP_GATEHOUSE_ALLOW',
    placeholder: 'KIND:VALUE',
    help: `With --provider Google, GitHub or GitLab: who gets in, such as ${allowExamples}; may be given several times`,
  },
  print: { type: 'boolean', help: 'With --target: print the resources that it stands for, and exit' },
  address: {
    type: 'string',
    env: 'MCP_GATEHOUSE_ADDRESS',
    placeholder: 'IP',
    help: 'Listen on this address whatever the Gateways say',
  },
  denyUnprotected: denyUnprotectedFlag,
  allowUnattached: allowUnattachedFlag,
  inferenceExtension: inferenceExtensionFlag,
  reloadSettle: {
    type: 'duration',
    default: defaultWatchTimes.settle,
    min: 1,
    max: 60_000,
    env: 'MCP_GATEHOUSE_RELOAD_SETTLE',
    help: 'With -f: how long changed files must stay as they are before they are read',
  },
  sealKeyFile: sealKeyFileFlag,
  signingKeyFile: signingKeyFileFlag,
  ...gatewayFlags,
});

export const runCommandFlags: CommandFlags<typeof runFlagTable> = {
  name: 'run',
  summary: 'Serves MCP traffic, configured by files or, for one server or a few, by --target.',
  usage: '(-f PATH... | --target [NAME=]URL... [--port N] [--issuer URL | --provider NAME]) [flags]',
  flags: runFlagTable,
  commonFlags: [
    'file',
    'target',
    'port',
    'issuer',
    'audience',
    'provider',
    'clientId',
    'clientSecretFile',
    'allow',
    'print',
    'address',
    'logLevel',
  ],
  positionals: 'file',
  examples: [
    'mcp-gatehouse run --target http://127.0.0.1:3001/mcp',
    'mcp-gatehouse run --target tickets=http://127.0.0.1:3001/mcp --target crm=http://127.0.0.1:3002/mcp',
    'mcp-gatehouse run --target http://127.0.0.1:3001/mcp --issuer https://idp.example.com/realms/mcp',
    'mcp-gatehouse run --target http://127.0.0.1:3001/mcp --provider GitHub --client-id ID --client-secret-file PATH --allow org:acme',
    'mcp-gatehouse run --target http://127.0.0.1:3001/mcp --print > gateway.yaml',
    'mcp-gatehouse run -f gateway.yaml',
  ],
};
