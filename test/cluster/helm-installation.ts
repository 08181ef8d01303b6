// The charts on a test cluster as a user installs them: by the real helm.
import { crdChart, proxyChart, runHelm, type Values } from '../chart/helm.ts';
import type { Cluster } from './cluster.ts';
import { clearInstallation, installationNamespace } from './installed-controller.ts';

/** Below the time that a command has at most, so that helm itself says what it waits for. */
const patience = '110s';

/** Both charts in `proxy-system`, as the releases `proxy-crds` and `proxy`. */
export class HelmInstallation {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Installs both, and waits until the controller is ready. The CRDs of a shared cluster are taken over. */
  async install(values: Values = {}): Promise<void> {
    await this.run(['install', 'proxy-crds', crdChart, '--create-namespace', '--take-ownership']);
    await this.run(['install', 'proxy', proxyChart, '--wait', '--timeout', patience], values);
  }

  /** Makes room for the next file of a shared cluster. The CRDs stay. */
  async uninstall(): Promise<void> {
    await this.run(['uninstall', 'proxy', 'proxy-crds', '--ignore-not-found']);
    await clearInstallation(this.#cluster);
  }

  /** Upgrades the controller to exactly these values; with `waits` until it is ready and what was there before is gone. */
  async upgrade(values: Values, { waits = true }: { readonly waits?: boolean } = {}): Promise<void> {
    const wait = waits ? ['--wait', '--timeout', patience] : [];
    await this.run(['upgrade', 'proxy', proxyChart, '--reset-values', ...wait], values);
  }

  /** Runs a command of helm, with values where it takes them. Returns what it said. */
  async run(args: readonly string[], values?: Values): Promise<string> {
    const place = ['--namespace', installationNamespace, '--kubeconfig', this.#cluster.access.kubeconfigFile];
    const given = values === undefined ? [] : ['--values', '-'];
    const input = values === undefined ? {} : { input: JSON.stringify(values) };
    return (await runHelm([...args, ...place, ...given], input)).stdout;
  }
}
