// What the tests of images need from the machine. They say so and fail: a suite that skips itself proves nothing.
import { findTool, MachineNotSuitableError } from '../cluster/machine.ts';

const packages: Readonly<Record<string, string>> = {
  'apt-get': 'apt',
  'dpkg-deb': 'dpkg',
  mount: 'mount',
  unshare: 'util-linux',
  setpriv: 'util-linux',
  chroot: 'coreutils',
};

/** Throws unless this is Linux, the user is root, and the tools are there; `more` are tools by the Debian package that has them. */
export function requireImageMachine(more: Readonly<Record<string, string>> = {}): void {
  if (process.platform !== 'linux') throw new MachineNotSuitableError('Images are tried on Linux only.');
  if (process.getuid?.() !== 0) {
    throw new MachineNotSuitableError('The tests of images need root, to run programs with the root of an image.');
  }
  const needed = { ...packages, ...more };
  const missing = Object.keys(needed).filter((tool) => findTool(tool) === undefined);
  if (missing.length === 0) return;
  const install = [...new Set(missing.map((tool) => needed[tool]))].join(' ');
  throw new MachineNotSuitableError(
    `The tests of images need ${missing.join(', ')} (Debian: apt-get install ${install}).`,
  );
}
