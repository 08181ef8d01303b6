// The commands for a cluster: what the image of the controller has.
import { type CommandTable, processIo } from './command-line.ts';

export const controllerCommands: CommandTable = {
  controller: {
    summary: 'Configure gateways on Kubernetes: watch, translate, deploy, serve xDS, write status',
    run: async (args) => (await import('./controller.ts')).runControllerCommand(args),
  },
  probe: {
    summary: 'Check from inside of a cluster that a controller is ready and serves xDS',
    run: async (args) => (await import('./probe.ts')).runProbeCommand(args, processIo()),
  },
  status: {
    summary:
      'Show how the Gateways, routes and policies of a cluster are, and what to do about those that are not well',
    run: async (args) => (await import('./status.ts')).runStatusCommand(args, processIo()),
  },
};
