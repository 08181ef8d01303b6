// Every command: what the program has in a checkout.
import type { CommandTable } from './command-line.ts';
import { controllerCommands } from './controller-commands.ts';
import { gatewayCommands } from './gateway-commands.ts';

export const allCommands: CommandTable = {
  ...gatewayCommands,
  ...controllerCommands,
  demo: {
    summary: 'An identity provider and a protected MCP server to try out, with a page that explains them',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
};
