// Builds Dex into the user's cache folder, once per version.
// Run by `npm run test:compatibility`; `node scripts/install-dex.ts` does it alone.
import { installGoPrograms } from './install-go-programs.ts';
import { runInstaller } from './install-once.ts';

/** The version that the compatibility suite uses. Its go.mod is not one of a second major version, so the recipe names the release by its commit. */
export const dexVersion = '2.45.1';

/** Makes sure that Dex is there, and returns the folder that holds it. */
export function installDex(report: (line: string) => void): Promise<string> {
  const programs = [
    { output: 'dex', package: 'github.com/dexidp/dex/cmd/dex', linkerFlags: `-X main.version=v${dexVersion}` },
  ];
  return installGoPrograms({ name: 'dex', version: dexVersion, duration: 'about three minutes', programs }, report);
}

if (import.meta.main) await runInstaller(`Dex ${dexVersion}`, installDex);
