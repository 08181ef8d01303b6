// Clients that cost more than they send: floods of frames, heads that never end, readers that never read. The gateway stays up, answers
// others, and does not grow. The bounds on memory are generous: what they must catch is growth with the size of the attack.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';
import {
  connectHttp2Wire,
  endHeaders,
  endStream,
  frameTypes,
  pseudoFields,
  writeFields,
  writeFrame,
  writeIndexedField,
} from '../security/http2-wire.ts';
import { readResidentBytes } from '../security/process-memory.ts';
import { connectWire, sendHead } from '../security/wire-client.ts';

const megabyte = 1024 * 1024;
let gateway: GatewayProcessRun;
let upstream: ReturnType<typeof createServer>;
let sent = 0;
let received = 0;
let inFlight = 0;

before(async () => {
  const block = Buffer.alloc(64 * 1024, 'x');
  upstream = createServer((request, response) => {
    inFlight += 1;
    response.on('close', () => (inFlight -= 1));
    if (request.url?.startsWith('/large') === true) {
      const go = (): void => {
        let room = true;
        while (room && !response.destroyed) {
          room = response.write(block);
          sent += block.length;
        }
      };
      response.on('drain', go);
      go();
    } else if (request.url?.startsWith('/unread') === true) {
      request.once('data', (chunk: Buffer) => {
        received += chunk.length;
        request.pause();
      });
    } else if (request.url?.startsWith('/hang') !== true) {
      response.end('served');
    }
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  gateway = await runGatewayProcess({
    resources: (port) => [
      gatewayResource(port),
      routeResource('all', [ruleTo('/', 'all')]),
      backendResource('all', (upstream.address() as AddressInfo).port, '/'),
    ],
    flags: ['--header-timeout', '1s', '--no-access-log'],
  });
  // The code paths are warm before memory is looked at.
  for (let index = 0; index < 200; index += 1)
    await (await fetch(`http://127.0.0.1:${gateway.port}/warm`)).arrayBuffer();
});
after(async () => {
  await gateway?.stop();
  upstream?.closeAllConnections();
  upstream?.close();
});

/** Runs an attack, then checks that the gateway is there, answers, and has not grown by more than the bound. */
async function checkSurvival(
  t: Parameters<typeof sendHead>[0],
  boundBytes: number,
  attack: () => Promise<void>,
): Promise<void> {
  const bytesBefore = readResidentBytes(gateway.child.pid);
  await attack();
  const grown = readResidentBytes(gateway.child.pid) - bytesBefore;
  assert.equal(gateway.exitCode(), undefined);
  assert.equal((await sendHead(t, gateway.port, 'GET /alive HTTP/1.1\r\nHost: localhost')).body, 'served');
  assert.ok(grown < boundBytes, `grew by ${Math.round(grown / megabyte)} MiB`);
  t.diagnostic(`grew by ${Math.round(grown / megabyte)} MiB`);
}

describe('HTTP/2 floods', () => {
  const head = writeFields(pseudoFields('GET', '/hang'));

  test('rapid reset (CVE-2023-44487): the connection ends and the upstream is not flooded', async (t) => {
    await checkSurvival(t, 192 * megabyte, async () => {
      const client = await connectHttp2Wire(t, gateway.port);
      const reset = Buffer.from([0, 0, 0, 8]);
      for (let batch = 0; batch < 100 && !client.wire.closed; batch += 1) {
        const frames: Buffer[] = [];
        for (let index = 0; index < 100; index += 1) {
          const streamId = (batch * 100 + index) * 2 + 1;
          frames.push(writeFrame(frameTypes.headers, endHeaders | endStream, streamId, head));
          frames.push(writeFrame(frameTypes.rstStream, 0, streamId, reset));
        }
        client.wire.send(Buffer.concat(frames));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await waitFor(() => client.wire.closed);
      await waitFor(() => inFlight === 0);
    });
  });

  test('continuation flood (CVE-2024-27983, CVE-2024-28182): a head without an end', async (t) => {
    await checkSurvival(t, 128 * megabyte, async () => {
      const client = await connectHttp2Wire(t, gateway.port);
      client.wire.send(writeFrame(frameTypes.headers, endStream, 1, head));
      const more = writeFrame(frameTypes.continuation, 0, 1, writeFields([['x', 'y'.repeat(1_000)]]));
      for (let count = 0; count < 20_000 && !client.wire.closed; count += 100) {
        client.wire.send(Buffer.concat(Array.from({ length: 100 }, () => more)));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await waitFor(() => client.wire.closed);
    });
  });

  test('empty continuation frames', async (t) => {
    await checkSurvival(t, 128 * megabyte, async () => {
      const client = await connectHttp2Wire(t, gateway.port);
      client.wire.send(writeFrame(frameTypes.headers, endStream, 1, head));
      const more = writeFrame(frameTypes.continuation, 0, 1, Buffer.alloc(0));
      for (let count = 0; count < 20_000 && !client.wire.closed; count += 1_000) {
        client.wire.send(Buffer.concat(Array.from({ length: 1_000 }, () => more)));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await waitFor(() => client.wire.closed);
    });
  });

  test('a header block that unpacks to megabytes (HPACK bomb) is refused', async (t) => {
    await checkSurvival(t, 128 * megabyte, async () => {
      for (let index = 0; index < 10; index += 1) {
        const client = await connectHttp2Wire(t, gateway.port);
        const bomb = Buffer.concat([head, writeIndexedField('x', 'y'.repeat(3_900)), Buffer.alloc(10_000, 0xbe)]);
        client.wire.send(writeFrame(frameTypes.headers, endHeaders | endStream, 1, bomb));
        await client.waitForStreamEnd(1);
        assert.doesNotMatch(client.readData(1), /served/);
        client.wire.socket.destroy();
      }
    });
  });

  test('pings, settings and window updates from a client that reads no answers', async (t) => {
    await checkSurvival(t, 128 * megabyte, async () => {
      const floods = [
        writeFrame(frameTypes.ping, 0, 0, Buffer.alloc(8)),
        writeFrame(frameTypes.settings, 0, 0, Buffer.alloc(0)),
        writeFrame(frameTypes.data, 0, 1, Buffer.alloc(0)),
      ];
      for (const frame of floods) {
        const client = await connectHttp2Wire(t, gateway.port);
        client.wire.socket.pause();
        const batch = Buffer.concat(Array.from({ length: 1_000 }, () => frame));
        for (let count = 0; count < 50 && !client.wire.closed; count += 1) {
          client.wire.send(batch);
          await new Promise((resolve) => setImmediate(resolve));
        }
        client.wire.socket.destroy();
      }
    });
  });

  test('more streams than allowed are refused, not queued', async (t) => {
    await checkSurvival(t, 128 * megabyte, async () => {
      const client = await connectHttp2Wire(t, gateway.port);
      const frames = Array.from({ length: 1_000 }, (_, index) =>
        writeFrame(frameTypes.headers, endHeaders | endStream, index * 2 + 1, head),
      );
      client.wire.send(Buffer.concat(frames));
      await waitFor(
        () => client.wire.closed || client.hasFrame(frameTypes.rstStream) || client.hasFrame(frameTypes.goaway),
      );
      assert.ok(inFlight <= 128, `${inFlight} at once`);
      client.wire.socket.destroy();
      await waitFor(() => inFlight === 0);
    });
  });
});

describe('slow loris', () => {
  test('heads that come byte by byte are cut off in time, all of them', async (t) => {
    await checkSurvival(t, 128 * megabyte, async () => {
      const clients = await Promise.all(Array.from({ length: 200 }, () => connectWire(t, gateway.port)));
      for (const [index, client] of clients.entries())
        client.send(
          ['G', 'GET / HTTP/1.1\r\n', 'GET / HTTP/1.1\r\nHost: localhost\r\nX', 'PRI * HTTP/2.0\r\n\r\nS'][index % 4]!,
        );
      const drip = setInterval(() => {
        for (const [index, client] of clients.entries()) if (index % 4 === 2) client.send('a');
      }, 50);
      t.after(() => clearInterval(drip));
      // Others are served meanwhile.
      assert.equal((await sendHead(t, gateway.port, 'GET /alive HTTP/1.1\r\nHost: localhost')).body, 'served');
      await waitFor(() => clients.every((client) => client.closed));
      clearInterval(drip);
      for (const client of clients) assert.match(client.received, /^(?:HTTP\/1\.1 408 [^]*"error":"header_timeout"|$)/);
      assert.ok(clients.filter((client) => client.received !== '').length >= 150);
    });
  });
});

describe('slow readers', () => {
  test('a client that does not read holds its upstream back, not the memory of the gateway', async (t) => {
    const clients: Socket[] = [];
    await checkSurvival(t, 192 * megabyte, async () => {
      for (let index = 0; index < 30; index += 1) {
        const socket = connect({ port: gateway.port, host: '127.0.0.1' });
        socket.on('error', () => {});
        t.after(() => socket.destroy());
        await once(socket, 'connect');
        socket.pause();
        socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n');
        clients.push(socket);
      }
      await waitFor(() => inFlight === 30);
      // Until nothing moves any more: every buffer on the way is full.
      await waitForStandstill(() => sent);
      t.diagnostic(`${Math.round(sent / megabyte)} MiB left the upstream`);
    });
    for (const socket of clients) socket.destroy();
    await waitFor(() => inFlight === 0);
  });

  test('an upstream that does not read holds its client back', async (t) => {
    const block = Buffer.alloc(64 * 1024, 'x');
    const clients: Socket[] = [];
    let written = 0;
    await checkSurvival(t, 192 * megabyte, async () => {
      for (let index = 0; index < 20; index += 1) {
        const socket = connect({ port: gateway.port, host: '127.0.0.1' });
        socket.on('error', () => {});
        t.after(() => socket.destroy());
        await once(socket, 'connect');
        socket.write(`POST /unread HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${1024 * megabyte}\r\n\r\n`);
        const go = (): void => {
          let room = true;
          while (room && !socket.destroyed) {
            room = socket.write(block);
            written += block.length;
          }
        };
        socket.on('drain', go);
        go();
        clients.push(socket);
      }
      await waitFor(() => received > 0 && inFlight === 20);
      await waitForStandstill(() => written);
      t.diagnostic(`${Math.round(written / megabyte)} MiB left the clients`);
    });
    for (const socket of clients) socket.destroy();
    // Neither side notices that the other has left while bytes wait in between; the connections of the upstream end it.
    upstream.closeAllConnections();
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_requests_in_flight')) === 0);
  });
});
