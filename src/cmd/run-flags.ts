// The flags of `run`.
import { defaultWatchTimes } from '../sources/files/watch-files.ts';
import { type CommandFlags, defineFlags } from './flags.ts';
import { gatewayFlags } from './gateway-flags.ts';

const runFlagTable = defineFlags({
  file: {
    type: 'paths',
    short: 'f',
    env: 'MCP_GATEWAY_FILES',
    placeholder: 'PATH',
    help: 'A file or folder with resources; may be given several times',
  },
  target: {
    type: 'string',
    env: 'MCP_GATEWAY_TARGET',
    placeholder: 'URL',
    help: 'Short form for one MCP server: its URL',
  },
  port: { type: 'port', env: 'MCP_GATEWAY_PORT', help: 'With --target: the port to listen on (default 3000)' },
  transport: {
    type: 'enum',
    values: ['streamable-http', 'sse'],
    env: 'MCP_GATEWAY_TRANSPORT',
    help: 'With --target: what the server speaks (default streamable-http)',
  },
  print: { type: 'boolean', help: 'With --target: print the resources that it stands for, and exit' },
  address: {
    type: 'string',
    env: 'MCP_GATEWAY_ADDRESS',
    placeholder: 'IP',
    help: 'Listen on this address whatever the Gateways say',
  },
  reloadSettle: {
    type: 'duration',
    default: defaultWatchTimes.settle,
    min: 1,
    max: 60_000,
    env: 'MCP_GATEWAY_RELOAD_SETTLE',
    help: 'With -f: how long changed files must stay as they are before they are read',
  },
  ...gatewayFlags,
});

export const runCommandFlags: CommandFlags<typeof runFlagTable> = {
  command: 'mcp-gateway run',
  summary: 'Serves MCP traffic, configured by files or, for one server, by --target.',
  usage: '(-f PATH... | --target URL [--port N]) [flags]',
  flags: runFlagTable,
  positionals: 'file',
  examples: [
    'mcp-gateway run --target http://127.0.0.1:3001/mcp',
    'mcp-gateway run --target http://127.0.0.1:3001/mcp --print > gateway.yaml',
    'mcp-gateway run -f gateway.yaml',
  ],
};
