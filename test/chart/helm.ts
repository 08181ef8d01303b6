// The real helm, on the charts of this checkout.
import { join } from 'node:path';
import { installHelm } from '../../scripts/install-helm.ts';
import { CommandFailedError, type CommandOutput, runCommand } from '../cluster/run-command.ts';
import { Rendering } from './rendering.ts';

const charts = join(import.meta.dirname, '..', '..', 'charts');

/** The folders of the charts. */
export const proxyChart = join(charts, 'proxy');
export const crdChart = join(charts, 'proxy-crds');

/** The values that the chart recommends for production. */
export const productionValues = join(proxyChart, 'values-production.yaml');

/** A helm that was built from source takes clusters for very old unless it is told otherwise. */
export const kubeVersion = '1.36.0';

/** Values as in a file for `--values`. */
export type Values = Readonly<Record<string, unknown>>;

export interface RenderOptions {
  readonly release?: string;
  readonly namespace?: string;
  readonly chart?: string;
  /** More arguments of `helm template`. */
  readonly args?: readonly string[];
}

let folder: Promise<string> | undefined;

/** Runs helm; throws unless it ends well. */
export async function runHelm(
  args: readonly string[],
  { input, env = {} }: { readonly input?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<CommandOutput> {
  folder ??= installHelm(console.log);
  return runCommand(join(await folder, 'helm'), args, {
    ...(input !== undefined && { input }),
    env: { ...process.env, ...env },
  });
}

/** `helm template`, as a release `proxy` in `proxy-system` unless told otherwise. */
export async function renderChart(values: Values = {}, options: RenderOptions = {}): Promise<Rendering> {
  const { release = 'proxy', namespace = 'proxy-system', chart = proxyChart, args = [] } = options;
  const base = ['template', release, chart, '--namespace', namespace, '--kube-version', kubeVersion];
  const { stdout } = await runHelm([...base, '--values', '-', ...args], { input: JSON.stringify(values) });
  return new Rendering(stdout);
}

/** What helm says against rendering with these values. Throws when it says nothing. */
export async function readRefusal(values: Values, options: RenderOptions = {}): Promise<string> {
  try {
    await renderChart(values, options);
  } catch (error) {
    if (error instanceof CommandFailedError) return error.stderr;
    throw error;
  }
  throw new Error(`helm takes ${JSON.stringify(values)}`);
}
