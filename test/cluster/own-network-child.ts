// Enters a network of its own and tells its parent what is there: for own-network.test.ts.
import { readlink } from 'node:fs/promises';
import { reachMachineNetwork } from '../../scripts/machine-network.ts';
import { enterOwnNetwork } from '../../scripts/test-run/own-network.ts';
import { runCommand } from './run-command.ts';

enterOwnNetwork();

const network = '/proc/self/ns/net';
const { command, args } = reachMachineNetwork('readlink', [network]);
const { stdout: links } = await runCommand('ip', ['-json', 'link', 'show', 'up']);
console.log(
  JSON.stringify({
    pid: process.pid,
    words: process.argv.slice(2),
    network: await readlink(network),
    machine: (await runCommand(command, args)).stdout.trim(),
    links: (JSON.parse(links) as readonly { readonly ifname: string }[]).map(({ ifname }) => ifname),
  }),
);
process.exitCode = 7;
