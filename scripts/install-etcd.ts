// Builds etcd into the user's cache folder, once per version.
// Run by `npm run test:cluster`; `node scripts/install-etcd.ts` does it alone.
import { installGoPrograms } from './install-go-programs.ts';
import { runInstaller } from './install-once.ts';

/** The version that the test cluster runs. */
export const etcdVersion = '3.6.8';

/** Makes sure that etcd is there, and returns the folder that holds it. */
export function installEtcd(report: (line: string) => void): Promise<string> {
  const programs = [{ output: 'etcd', package: '.' }];
  return installGoPrograms({ name: 'etcd', version: etcdVersion, duration: 'about a minute', programs }, report);
}

if (import.meta.main) await runInstaller(`etcd ${etcdVersion}`, installEtcd);
