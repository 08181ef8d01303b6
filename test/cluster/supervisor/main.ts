// The supervisor of a test cluster. It runs inside namespaces of its own (network, mounts, processes), starts everything in them,
// and does what the test process asks. When the test process goes away, so does the supervisor, and the kernel ends the rest.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type {
  BootOptions,
  BootResult,
  CommandMessage,
  SupervisorCommands,
  SupervisorMessage,
} from '../supervisor-commands.ts';
import { locatePodLogs, NodeAgent } from '../agent/node-agent.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { createNodeNetwork } from './node-network.ts';

let controlPlane: ControlPlane | undefined;
let agent: NodeAgent | undefined;

const handlers: SupervisorCommands = {
  boot,
  startComponent: async (component) => {
    requireControlPlane().processes[component].start();
    await requireControlPlane().waitReady(component);
  },
  stopComponent: ({ component, signal }) => requireControlPlane().processes[component].stop(signal),
  pauseComponent: async (component) => requireControlPlane().processes[component].signal('SIGSTOP'),
  resumeComponent: async (component) => requireControlPlane().processes[component].signal('SIGCONT'),
  compactHistory: () => requireControlPlane().compactHistory(),
  addImages: async (images) => requireAgent().addImages(images),
  setName: async ({ name, address }) => requireAgent().serviceNetwork.setName(name, address),
  renewTokens: () => requireAgent().renewTokens(),
  exec: (options) => requireAgent().findProcess(options).exec(options.command),
  signalContainer: (options) => requireAgent().findProcess(options).signal(options.signal),
  readUsage: (name) => requireAgent().findProcess(name).readUsage(),
  addBlackHole: (hole) => requireAgent().serviceNetwork.addBlackHole(hole),
  removeBlackHole: (id) => requireAgent().serviceNetwork.removeBlackHole(id),
};

process.on('message', (message: CommandMessage) => void answer(message));
// The test process is gone: with this process, the shell above it ends, and the kernel ends all that they started.
process.on('disconnect', () => process.exit(0));
// The test process decides when it is over: Ctrl-C reaches it too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
tell({ started: true });

async function boot(options: BootOptions): Promise<BootResult> {
  const { folder } = options;
  const stateFolder = join(folder, 'state');
  mkdirSync(stateFolder, { recursive: true });
  // Mounted in this namespace only: nobody else sees it, and it ends with the namespace.
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', stateFolder], { stdio: 'inherit' });
  const network = await createNodeNetwork(options.addresses, stateFolder);
  controlPlane = await startControlPlane({ ...options, folder, stateFolder });
  if (options.hasNode) {
    const { addresses, images } = options;
    const logFolder = locatePodLogs(join(folder, 'logs'));
    const { client } = controlPlane;
    agent = new NodeAgent({ client, network, addresses, stateFolder, logFolder, images, onProblem: note });
    await agent.start();
  }
  const { server, credentials } = controlPlane;
  return {
    server,
    ca: credentials.ca,
    token: credentials.adminToken,
    kubeconfigFile: credentials.kubeconfigFile,
  };
}

function requireControlPlane(): ControlPlane {
  if (controlPlane === undefined) throw new Error('The cluster has not been started.');
  return controlPlane;
}

function requireAgent(): NodeAgent {
  if (agent === undefined) throw new Error('The cluster has no node.');
  return agent;
}

/** Into the supervisor's log: a test that fails prints it. */
function note(text: string): void {
  console.log(`${new Date().toISOString()} ${text}`);
}

async function answer({ id, command, params }: CommandMessage): Promise<void> {
  try {
    tell({ id, result: await (handlers[command] as (value: unknown) => Promise<unknown>)(params) });
  } catch (error) {
    tell({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

function tell(message: SupervisorMessage): void {
  if (process.connected) process.send?.(message);
}
