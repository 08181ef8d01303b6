// A network namespace for a suite. Links of test clusters come and go in it, and nobody else on the machine sees them: Chromium fails every request that waits for
// a connection when a link comes (ERR_NETWORK_CHANGED), be it to loopback.
import { spawnSync } from 'node:child_process';
import { machineNetworkVariable } from '../machine-network.ts';

/** Loopback, and no other link. */
const setUp = 'ip link set lo up';
/** The open file keeps a way back, for downloads. It ends with this process. */
const script = `
  exec 9</proc/self/ns/net
  export ${machineNetworkVariable}=/proc/$$/fd/9
  exec unshare --net sh -c '${setUp} && exec "$@"' sh "$@"`;

/**
 * Begins this program once more in a network of its own, as the same process: whoever waits for it or signals it notices nothing. Returns when it is there, or when the
 * machine does not allow it: without Linux and root, clusters say themselves what is missing.
 */
export function enterOwnNetwork(): void {
  if (process.env[machineNetworkVariable] !== undefined) return;
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return;
  const { status, error, stderr } = spawnSync('unshare', ['--net', 'sh', '-c', setUp], { encoding: 'utf8' });
  if (status === 0) {
    process.execve!('/bin/sh', [
      'sh',
      '-c',
      script,
      'sh',
      process.execPath,
      ...process.execArgv,
      ...process.argv.slice(1),
    ]);
  }
  console.log(
    `This runs in the machine's network, and what it does there can be seen: ${error?.message ?? stderr.trim()}`,
  );
}
