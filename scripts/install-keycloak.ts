// Installs Keycloak into the user's cache folder, once per version, through Maven, which knows its mirrors and proxies.
// Run by `npm run test:compatibility`; `node scripts/install-keycloak.ts` does it alone.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { findCacheFolder } from './cache-folder.ts';
import { InstallationError, installOnce, runInstaller } from './install-once.ts';
import { mavenFlags, requireJavaTools, runStep } from './java-programs.ts';

/** The version that the compatibility suite uses. */
export const keycloakVersion = '26.4.7';

/** The hash of this version at Maven Central. */
const archiveSha256 = 'dd9834c023460be856f731423d86228c23b5d002194a2064642bec0cc6573eaa';

/** Makes sure that Keycloak is installed, and returns its folder. */
export async function installKeycloak(report: (line: string) => void): Promise<string> {
  await requireJavaTools('Keycloak');
  const folder = join(findCacheFolder(), `keycloak-${keycloakVersion}`);
  await installOnce({
    title: `Keycloak ${keycloakVersion}`,
    folder,
    isInstalled: () => isInstalled(folder),
    async install(building) {
      report(`Installing Keycloak ${keycloakVersion} (160 MB). This happens once and takes about a minute.`);
      const archive = `keycloak-quarkus-dist-${keycloakVersion}.zip`;
      const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${keycloakVersion}:zip`;
      report('  Downloading with Maven');
      const maven = [...mavenFlags, 'dependency:copy', artifact, `-DoutputDirectory=${building}`];
      await runStep('Keycloak', 'mvn', maven, building);
      await verifyArchive(join(building, archive));
      report('  Unpacking');
      await runStep('Keycloak', 'jar', ['xf', archive], building);
      const unpacked = join(building, `keycloak-${keycloakVersion}`);
      if (!(await isInstalled(unpacked))) {
        throw new InstallationError(`${archive} does not contain what a Keycloak archive contains.`);
      }
      // `jar` leaves permissions out.
      await chmod(join(unpacked, 'bin', 'kc.sh'), 0o755);
      return unpacked;
    },
    report,
  });
  return folder;
}

async function isInstalled(folder: string): Promise<boolean> {
  try {
    for (const file of ['bin/kc.sh', 'lib/quarkus-run.jar', 'version.txt']) await access(join(folder, file));
    return true;
  } catch {
    return false;
  }
}

async function verifyArchive(file: string): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const found = hash.digest('hex');
  if (found === archiveSha256) return;
  throw new InstallationError(`The archive of Keycloak has SHA-256 ${found}, and not ${archiveSha256}.`);
}

if (import.meta.main) await runInstaller(`Keycloak ${keycloakVersion}`, installKeycloak);
