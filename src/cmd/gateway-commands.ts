// The commands around serving traffic: what the image of gateways has.
import type { CommandTable } from './command-line.ts';
import { probeListed } from './controller-commands.ts';

export const gatewayCommands: CommandTable = {
  run: {
    summary: 'Serve MCP traffic, configured by files or by --target',
    load: async () => (await import('./run.ts')).runCommand,
  },
  gateway: {
    summary: 'Serve MCP traffic, configured by a controller: what runs in the pods of a Gateway',
    load: async () => (await import('./gateway.ts')).gatewayCommand,
  },
  check: {
    summary:
      'Validate files and print what would be served; with --online, ask the identity providers and MCP servers too',
    load: async () => (await import('./check.ts')).checkCommand,
  },
  explain: {
    summary: 'Say what becomes of a request, and why: rule, policies, expressions, and the exact answer',
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  'token inspect': {
    summary: 'Show what is in a token, and which policies would take it; it goes nowhere',
    load: async () => (await import('./token.ts')).tokenInspectCommand,
  },
  'token new': {
    summary: 'Make a token for tests with a throw-away key, and the policy that accepts it',
    load: async () => (await import('./token-new.ts')).tokenNewCommand,
  },
  login: {
    summary: 'Act as an MCP client against a protected server, and tell each step of the login',
    load: async () => (await import('./login.ts')).loginCommand,
  },
  'sessions list': {
    summary: 'List who is logged in where a gateway issues tokens of its own and has a store',
    load: async () => (await import('./sessions-list.ts')).sessionsListCommand,
  },
  'sessions revoke': {
    summary: 'End a session, or all sessions of a user',
    load: async () => (await import('./sessions-revoke.ts')).sessionsRevokeCommand,
  },
  'admin-token': {
    summary: 'Print the token of the admin port',
    load: async () => (await import('./admin-token.ts')).adminTokenCommand,
  },
  'rotate-key': {
    summary: 'Put a new key into the seal key file, or the signing key file, without logging anyone out',
    load: async () => (await import('./rotate-key.ts')).rotateKeyCommand,
  },
  probe: probeListed,
  schema: {
    summary: 'Print the JSON Schema of the resources, for editors',
    load: async () => (await import('./schema.ts')).schemaCommand,
  },
  worker: {
    summary: 'One of the processes of --workers: started by the others, never by hand',
    isInternal: true,
    load: async () => (await import('./workers/worker.ts')).workerCommand,
  },
};
