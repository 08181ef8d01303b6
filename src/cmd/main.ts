// The command line: which commands there are. Each one is a file beside this one.
import { version } from './version.ts';

interface Command {
  readonly summary: string;
  readonly run: (args: readonly string[]) => Promise<number>;
}

const commands: Record<string, Command> = {
  run: {
    summary: 'Serve MCP traffic, configured by files or by --target',
    run: async (args) => (await import('./run.ts')).runRunCommand(args),
  },
  gateway: {
    summary: 'Serve MCP traffic, configured by a controller: what runs in the pods of a Gateway',
    run: async (args) => (await import('./gateway.ts')).runGatewayCommand(args),
  },
  controller: {
    summary: 'Configure gateways on Kubernetes: watch, translate, deploy, serve xDS, write status',
    run: async (args) => (await import('./controller.ts')).runControllerCommand(args),
  },
  check: {
    summary: 'Validate files and print what would be served; with --online, ask the identity providers too',
    run: async (args) => (await import('./check.ts')).runCheckCommand(args, processIo()),
  },
  explain: {
    summary: 'Say what becomes of a request, and why: rule, policies, expressions, and the exact answer',
    run: async (args) => (await import('./explain.ts')).runExplainCommand(args, processIo()),
  },
  status: {
    summary:
      'Show how the Gateways, routes and policies of a cluster are, and what to do about those that are not well',
    run: async (args) => (await import('./status.ts')).runStatusCommand(args, processIo()),
  },
  token: {
    summary: 'Show what is in a token, and which policies would take it; it goes nowhere',
    run: async (args) => (await import('./token.ts')).runTokenCommand(args, processIo()),
  },
  login: {
    summary: 'Act as an MCP client against a protected server, and tell each step of the login',
    run: async (args) => (await import('./login.ts')).runLoginCommand(args, processIo()),
  },
  'rotate-key': {
    summary: 'Put a new key into the seal key file, without logging anyone out',
    run: async (args) => (await import('./rotate-key.ts')).runRotateKeyCommand(args, processIo()),
  },
  schema: {
    summary: 'Print the JSON Schema of the resources, for editors',
    run: async (args) => (await import('./schema.ts')).runSchemaCommand(args, processIo()),
  },
  demo: {
    summary: 'An identity provider and a protected MCP server to try out, with a page that explains them',
    run: async (args) => (await import('./demo.ts')).runDemoCommand(args),
  },
};

function processIo() {
  return {
    stdout: (text: string): void => void process.stdout.write(text),
    stderr: (text: string): void => void process.stderr.write(text),
    color: process.stdout.isTTY && process.env['NO_COLOR'] === undefined,
    env: process.env,
  };
}

function formatUsage(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, command]) => `  ${name.padEnd(width)}  ${command.summary}`);
  return `mcp-gateway ${version}: a gateway that puts OAuth 2.0 in front of MCP servers

Usage: mcp-gateway COMMAND [flags]

${lines.join('\n')}

"mcp-gateway COMMAND --help" lists the flags of a command.
`;
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const text = formatUsage();
    if (name === undefined) process.stderr.write(text);
    else process.stdout.write(text);
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-v' || name === 'version') {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    process.stderr.write(
      `mcp-gateway: there is no command "${name}". Commands: ${Object.keys(commands).join(', ')}. See mcp-gateway --help.\n`,
    );
    return 2;
  }
  return command.run(rest);
}

process.exitCode = await main(process.argv.slice(2));
