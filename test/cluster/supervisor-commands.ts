// What a test process can ask of the supervisor, which runs inside the namespaces of the cluster, and how the question travels:
// as messages over the channel that Node opens to a child.
import type { ClusterAddresses } from './cluster-addresses.ts';
import type { ImageTable } from './image-table.ts';
import type { Component } from './supervisor/control-plane.ts';

/** Where the cluster's parts are. */
export interface BootOptions {
  readonly addresses: ClusterAddresses;
  /** Credentials, logs and, in `state`, everything that goes away with the cluster. */
  readonly folder: string;
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly images: ImageTable;
  /** False: pods stay Pending, for tests that need the API alone. */
  readonly hasNode: boolean;
  /** Set: what this user asks for is written down. */
  readonly recordedUser?: string;
  /** Switched on beside the API server's defaults. */
  readonly admissionPlugins: readonly string[];
  /** YAML files with CRDs that are there from the beginning. */
  readonly crdFiles: readonly string[];
}

/** What clients need. */
export interface BootResult {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  readonly kubeconfigFile: string;
}

/** A process as the kernel counts it. */
export interface ProcessUsage {
  readonly residentBytes: number;
  /** The most that it ever was. */
  readonly peakResidentBytes: number;
  readonly cpuSeconds: number;
}

/** Traffic to lose. Both directions; a missing end is everyone. */
export interface BlackHole {
  readonly from?: string;
  readonly to?: string;
  /** The TCP port at `to`. */
  readonly port?: number;
}

/** A command of a test that runs inside a container. */
export interface ExecOptions {
  readonly namespace: string;
  readonly pod: string;
  readonly container?: string;
  readonly command: readonly string[];
}

/** How a command ended. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Names a container of a pod; without `container`, the first. */
export interface ContainerName {
  readonly namespace: string;
  readonly pod: string;
  readonly container?: string;
}

/** Every question, with its parameters and its answer. */
export interface SupervisorCommands {
  boot: (options: BootOptions) => Promise<BootResult>;
  addImages: (images: ImageTable) => Promise<void>;
  /** A name for all pods; without an address it goes away. */
  setName: (options: { name: string; address?: string }) => Promise<void>;
  renewTokens: () => Promise<void>;
  startComponent: (component: Component) => Promise<void>;
  stopComponent: (options: { component: Component; signal: 'SIGTERM' | 'SIGKILL' }) => Promise<void>;
  pauseComponent: (component: Component) => Promise<void>;
  resumeComponent: (component: Component) => Promise<void>;
  compactHistory: () => Promise<void>;
  exec: (options: ExecOptions) => Promise<ExecResult>;
  signalContainer: (options: ContainerName & { signal: NodeJS.Signals }) => Promise<void>;
  readUsage: (name: ContainerName) => Promise<ProcessUsage>;
  addBlackHole: (hole: BlackHole) => Promise<number>;
  removeBlackHole: (id: number) => Promise<void>;
}

/** A question on its way. */
export interface CommandMessage {
  readonly id: number;
  readonly command: keyof SupervisorCommands;
  readonly params: unknown;
}

/** Its answer. */
export interface AnswerMessage {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** Told once, when the supervisor can be asked. */
export interface StartedMessage {
  readonly started: true;
}

/** All that the supervisor sends. */
export type SupervisorMessage = AnswerMessage | StartedMessage;
