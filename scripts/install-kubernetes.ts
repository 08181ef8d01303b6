// Builds kube-apiserver, kube-controller-manager and kubectl into the user's cache folder, once per version.
// Run by `npm run test:cluster`; `node scripts/install-kubernetes.ts` does it alone.
import { installGoPrograms } from './install-go-programs.ts';
import { runInstaller } from './install-once.ts';

/** The version that the test cluster runs. */
export const kubernetesVersion = '1.36.3';

const [major, minor] = kubernetesVersion.split('.');
const variables = { gitVersion: `v${kubernetesVersion}`, gitMajor: major, gitMinor: minor };
const linkerFlags = Object.entries(variables)
  .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  .join(' ');

/** Makes sure that the programs are there, and returns the folder that holds them. */
export function installKubernetes(report: (line: string) => void): Promise<string> {
  const programs = ['kube-apiserver', 'kube-controller-manager', 'kubectl'].map((output) => ({
    output,
    package: `k8s.io/kubernetes/cmd/${output}`,
    linkerFlags,
  }));
  return installGoPrograms(
    { name: 'kubernetes', version: kubernetesVersion, duration: 'about ten minutes', programs },
    report,
  );
}

if (import.meta.main) await runInstaller(`Kubernetes ${kubernetesVersion}`, installKubernetes);
