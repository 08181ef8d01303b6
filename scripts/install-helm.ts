// Builds Helm into the user's cache folder, once per version.
// Run by the tests of the charts; `node scripts/install-helm.ts` does it alone.
import { installGoPrograms } from './install-go-programs.ts';
import { runInstaller } from './install-once.ts';

/** The version that the tests use. */
export const helmVersion = '3.21.3';

/** Makes sure that Helm is there, and returns the folder that holds it. */
export function installHelm(report: (line: string) => void): Promise<string> {
  const programs = [
    {
      output: 'helm',
      package: 'helm.sh/helm/v3/cmd/helm',
      linkerFlags: `-X helm.sh/helm/v3/internal/version.version=v${helmVersion}`,
    },
  ];
  return installGoPrograms({ name: 'helm', version: helmVersion, duration: 'about two minutes', programs }, report);
}

if (import.meta.main) await runInstaller(`Helm ${helmVersion}`, installHelm);
