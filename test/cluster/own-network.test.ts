// A suite's own network: nothing but loopback is in it, it leads back for downloads, and the program in it is the same process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { machineNetworkVariable } from '../../scripts/machine-network.ts';

test('a program that enters a network of its own', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'own-network-child.ts'), 'two words', '--flag'], {
    // As if this suite were not in one already.
    env: { ...process.env, [machineNetworkVariable]: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(complaints, '');
  const { network, ...found } = JSON.parse(output) as { readonly network: string };
  const here = await readlink('/proc/self/ns/net');
  assert.deepEqual(found, { pid: child.pid, words: ['two words', '--flag'], machine: here, links: ['lo'] });
  assert.notEqual(network, here);
  assert.equal(code, 7);
});
