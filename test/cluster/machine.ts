// What the test cluster needs from the machine. It says so and fails: a suite that skips itself proves nothing.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Thrown when the machine cannot carry a cluster. The message is one line that says what to do. */
export class MachineNotSuitableError extends Error {
  readonly code = 'MACHINE_NOT_SUITABLE';
}

const packages: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  nft: 'nftables',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  flock: 'util-linux',
  mount: 'mount',
};

/** Throws unless this is Linux, the user is root, and the tools are there. */
export function requireMachine(): void {
  if (process.platform !== 'linux') {
    throw new MachineNotSuitableError('The test cluster needs Linux: pods are network and mount namespaces.');
  }
  if (process.getuid?.() !== 0) {
    throw new MachineNotSuitableError('The test cluster needs root, for the network and mount namespaces of its pods.');
  }
  const missing = Object.keys(packages).filter((tool) => findTool(tool) === undefined);
  if (missing.length === 0) return;
  const install = [...new Set(missing.map((tool) => packages[tool]))].join(' ');
  throw new MachineNotSuitableError(
    `The test cluster needs ${missing.join(', ')} (Debian: apt-get install ${install}).`,
  );
}

/** The PATH of the machine's own tools: a user's PATH may lack the folders of the administrator. */
export const machinePath = `${process.env['PATH'] ?? ''}${delimiter}/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin`;

/** Where a tool of the machine is; undefined when there is none. */
export function findTool(tool: string): string | undefined {
  return machinePath
    .split(delimiter)
    .map((folder) => join(folder, tool))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
