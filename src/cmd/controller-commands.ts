// The commands for a cluster: what the image of the controller has.
import type { CommandTable } from './command-line.ts';

/** In both images, which have no shell: for `helm test`, and for the health check of a container. */
export const probeListed: CommandTable[string] = {
  summary: 'Check that a readiness page answers, and that a controller serves xDS',
  load: async () => (await import('./probe.ts')).probeCommand,
};

export const controllerCommands: CommandTable = {
  controller: {
    summary: 'Configure gateways on Kubernetes: watch, translate, deploy, serve xDS, write status',
    load: async () => (await import('./controller.ts')).controllerCommand,
  },
  probe: probeListed,
  status: {
    summary:
      'Show how the Gateways, routes and policies of a cluster are, and what to do about those that are not well',
    load: async () => (await import('./status.ts')).statusCommand,
  },
};
