// What `mcp-gatehouse demo` says when ports are taken: all of them, and the command that helps.
import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { findFreePorts } from '../kit/free-ports.ts';
import { findTakenDemoPorts } from '../../src/cmd/demo-ports.ts';
import type { OwnPort } from '../../src/cmd/own-ports.ts';

const none: ReadonlySet<OwnPort> = new Set();

async function choosePorts(): Promise<Parameters<typeof findTakenDemoPorts>[0]> {
  const [port, serverPort, officePort, idpPort, adminPort, metricsPort, readinessPort] = (await findFreePorts(7)) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    port,
    serverPort,
    officePort,
    idpPort,
    adminPort,
    metricsPort,
    readinessPort,
    observabilityAddress: '127.0.0.1',
  };
}

async function takePort(t: TestContext): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('free ports are left alone, also when they are asked for twice', async () => {
  const ports = await choosePorts();
  assert.deepEqual(await findTakenDemoPorts(ports, none), []);
  assert.deepEqual(await findTakenDemoPorts({ ...ports, idpPort: 0, serverPort: 0 }, none), []);
});

test('one port that is taken is one line with the command that helps', async (t) => {
  const serverPort = await takePort(t);
  const lines = await findTakenDemoPorts({ ...(await choosePorts()), serverPort }, none);
  assert.equal(lines.length, 1, lines.join('\n'));
  const [, free] =
    /^port \d+ for the help desk is in use; another is free: mcp-gatehouse demo --server-port (\d+)$/.exec(lines[0]!) ??
    [];
  assert.ok(Number(free) > serverPort, lines.join('\n'));
});

test('all ports that are taken are named at once, with one command that helps', async (t) => {
  const [port, serverPort, idpPort, adminPort] = await Promise.all([
    takePort(t),
    takePort(t),
    takePort(t),
    takePort(t),
  ]);
  const ports = { ...(await choosePorts()), port, serverPort, idpPort, adminPort };
  const lines = await findTakenDemoPorts(ports, none);
  assert.deepEqual(lines.slice(0, -1), [
    `port ${port} for the gateway is in use`,
    `port ${serverPort} for the help desk is in use`,
    `port ${idpPort} for the identity provider is in use`,
    `port ${adminPort} for the admin pages is in use`,
  ]);
  const given =
    /^others are free: mcp-gatehouse demo --port (\d+) --server-port (\d+) --idp-port (\d+) --admin-port (\d+)$/.exec(
      lines.at(-1)!,
    );
  assert.ok(given !== null, lines.join('\n'));
  const chosen = given.slice(1).map(Number);
  assert.equal(new Set([...chosen, port, serverPort, idpPort, adminPort]).size, 8, 'all differ');
  // A port that moves by itself is no problem.
  const movable = await findTakenDemoPorts(ports, new Set<OwnPort>(['adminPort']));
  assert.equal(movable.length, 4, movable.join('\n'));
});

test('a port that is given twice is called that', async () => {
  const ports = await choosePorts();
  const lines = await findTakenDemoPorts({ ...ports, idpPort: ports.serverPort }, none);
  assert.match(
    lines.join('\n'),
    /^port \d+ is used twice, for the help desk and for the identity provider; another is free: mcp-gatehouse demo --idp-port \d+$/,
  );
});
