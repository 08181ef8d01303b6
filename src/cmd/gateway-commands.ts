// The commands around serving traffic: what the image of gateways has.
import { type CommandTable, processIo } from './command-line.ts';

export const gatewayCommands: CommandTable = {
  run: {
    summary: 'Serve MCP traffic, configured by files or by --target',
    run: async (args) => (await import('./run.ts')).runRunCommand(args),
  },
  gateway: {
    summary: 'Serve MCP traffic, configured by a controller: what runs in the pods of a Gateway',
    run: async (args) => (await import('./gateway.ts')).runGatewayCommand(args),
  },
  check: {
    summary: 'Validate files and print what would be served; with --online, ask the identity providers too',
    run: async (args) => (await import('./check.ts')).runCheckCommand(args, processIo()),
  },
  explain: {
    summary: 'Say what becomes of a request, and why: rule, policies, expressions, and the exact answer',
    run: async (args) => (await import('./explain.ts')).runExplainCommand(args, processIo()),
  },
  token: {
    summary: 'Show what is in a token, and which policies would take it; it goes nowhere',
    run: async (args) => (await import('./token.ts')).runTokenCommand(args, processIo()),
  },
  login: {
    summary: 'Act as an MCP client against a protected server, and tell each step of the login',
    run: async (args) => (await import('./login.ts')).runLoginCommand(args, processIo()),
  },
  'admin-token': {
    summary: 'Print the token of the admin port',
    run: async (args) => (await import('./admin-token.ts')).runAdminTokenCommand(args, processIo()),
  },
  'rotate-key': {
    summary: 'Put a new key into the seal key file, without logging anyone out',
    run: async (args) => (await import('./rotate-key.ts')).runRotateKeyCommand(args, processIo()),
  },
  schema: {
    summary: 'Print the JSON Schema of the resources, for editors',
    run: async (args) => (await import('./schema.ts')).runSchemaCommand(args, processIo()),
  },
  worker: {
    summary: 'One of the processes of --workers: started by the others, never by hand',
    isInternal: true,
    run: async () => (await import('./workers/worker.ts')).runWorkerCommand(),
  },
};
