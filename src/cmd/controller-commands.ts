// The commands for a cluster: what the image of the controller has.
import type { CommandTable } from './command-line.ts';

export const controllerCommands: CommandTable = {
  controller: {
    summary: 'Configure gateways on Kubernetes: watch, translate, deploy, serve xDS, write status',
    load: async () => (await import('./controller.ts')).controllerCommand,
  },
  probe: {
    summary: 'Check from inside of a cluster that a controller is ready and serves xDS',
    load: async () => (await import('./probe.ts')).probeCommand,
  },
  status: {
    summary:
      'Show how the Gateways, routes and policies of a cluster are, and what to do about those that are not well',
    load: async () => (await import('./status.ts')).statusCommand,
  },
};
