// Ports of tests: nobody takes them away while their process is not listening.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findFreePorts } from '../kit/free-ports.ts';

test('ports are free, and all different', async () => {
  const ports = [...(await findFreePorts(20)), ...(await findFreePorts(20))];
  assert.equal(new Set(ports).size, 40);
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  }
});

test('a port that was handed out before, in this process or another one, is not handed out again', async () => {
  const [given] = (await findFreePorts(1)) as [number];
  const [here] = await findFreePorts(1, chooseAfter(given));
  assert.notEqual(here, given);
  const freePorts = new URL('../kit/free-ports.ts', import.meta.url).href;
  const program = `
    import { findFreePorts } from ${JSON.stringify(freePorts)};
    let tries = 0;
    const [port] = await findFreePorts(1, () => (tries++ === 0 ? ${given} : ${given} - tries));
    console.log(port, tries);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  const [there, tries] = stdout.trim().split(' ').map(Number);
  assert.notEqual(there, given);
  assert.ok(tries! > 1, stdout);
});

for (const host of ['127.0.0.1', '0.0.0.0']) {
  test(`a port that somebody listens on at ${host} is not handed out`, async (t) => {
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const [found] = await findFreePorts(1, chooseAfter(port));
    assert.notEqual(found, port);
  });
}

test('looking for one ends', async () => {
  const [given] = (await findFreePorts(1)) as [number];
  await assert.rejects(
    findFreePorts(1, () => given),
    /^Error: no free port/,
  );
});

/** This one first, and then those below. */
function chooseAfter(port: number): () => number {
  let next = port + 1;
  return () => (next -= 1);
}
