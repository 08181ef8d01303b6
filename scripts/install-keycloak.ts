// Installs Keycloak into the user's cache folder, once per version, through Maven, which knows its mirrors and proxies.
// Run by `npm run test:compatibility`; `node scripts/install-keycloak.ts` does it alone.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { access, chmod, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { findCacheFolder } from './cache-folder.ts';

/** The version that the compatibility suite uses. */
export const keycloakVersion = '26.4.7';

/** The hash of this version at Maven Central. */
const archiveSha256 = 'dd9834c023460be856f731423d86228c23b5d002194a2064642bec0cc6573eaa';

const oldestJava = 17;

/** Thrown when Keycloak cannot be installed. The message is one line that says what to do. */
export class KeycloakUnavailableError extends Error {
  readonly code = 'KEYCLOAK_UNAVAILABLE';
}

/** Makes sure that Keycloak is installed, and returns its folder. */
export async function installKeycloak(report: (line: string) => void): Promise<string> {
  await requireTools();
  const folder = join(findCacheFolder(), `keycloak-${keycloakVersion}`);
  if (await isInstalled(folder)) return folder;

  report(`Installing Keycloak ${keycloakVersion} (160 MB). This happens once and takes about a minute.`);
  // Built beside its place and moved there whole, so that a broken-off installation is never taken for a good one.
  const building = `${folder}.building-${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { recursive: true });
  try {
    const archive = `keycloak-quarkus-dist-${keycloakVersion}.zip`;
    const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${keycloakVersion}:zip`;
    report('  Downloading with Maven');
    const maven = ['--batch-mode', '--no-transfer-progress', '--strict-checksums'];
    await run('mvn', [...maven, 'dependency:copy', artifact, `-DoutputDirectory=${building}`], building);
    await verifyArchive(join(building, archive));
    report('  Unpacking');
    await run('jar', ['xf', archive], building);
    const unpacked = join(building, `keycloak-${keycloakVersion}`);
    if (!(await isInstalled(unpacked))) {
      throw new KeycloakUnavailableError(`${archive} does not contain what a Keycloak archive contains.`);
    }
    // `jar` leaves permissions out.
    await chmod(join(unpacked, 'bin', 'kc.sh'), 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(unpacked, folder);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
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

async function requireTools(): Promise<void> {
  const help = '(Debian: apt-get install openjdk-17-jdk-headless maven)';
  const version = /version "(\d+)/.exec((await capture('java', ['-version'])) ?? '')?.[1];
  const isNewEnough = version !== undefined && Number(version) >= oldestJava;
  if (!isNewEnough || (await capture('jar', ['--version'])) === undefined) {
    throw new KeycloakUnavailableError(
      `The compatibility suite needs a JDK ${oldestJava} or newer for Keycloak ${help}.`,
    );
  }
  if ((await capture('mvn', ['--version'])) === undefined) {
    throw new KeycloakUnavailableError(`The compatibility suite needs Maven to download Keycloak ${help}.`);
  }
}

async function verifyArchive(file: string): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const found = hash.digest('hex');
  if (found === archiveSha256) return;
  throw new KeycloakUnavailableError(`The archive of Keycloak has SHA-256 ${found}, and not ${archiveSha256}.`);
}

/** The output of a program on both streams; undefined when it is missing or fails. */
async function capture(command: string, args: readonly string[]): Promise<string | undefined> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const hear = (text: string): void => void (output += text);
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 ? output : undefined;
  } catch {
    return undefined;
  }
}

async function run(command: string, args: readonly string[], folder: string): Promise<void> {
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const hear = (text: string): void => void (output += text);
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return;
  const lines = output.trim().split('\n');
  const reason = lines.find((line) => /error|exception/i.test(line)) ?? lines.at(-1) ?? '';
  throw new KeycloakUnavailableError(`Keycloak could not be installed (${command}): ${reason}`);
}

if (import.meta.main) {
  try {
    console.log(`Keycloak ${keycloakVersion}: ${await installKeycloak(console.log)}`);
  } catch (error) {
    if (!(error instanceof KeycloakUnavailableError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
