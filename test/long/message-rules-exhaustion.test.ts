// Rules over MCP messages make the gateway hold what otherwise streams. Callers and servers that make it hold as much as they can.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { GatewayProcessRun } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { backendPolicy, type GuardedGateway, startGuardedGatewayProcess } from '../security/guarded-gateway.ts';
import { readResidentBytes } from '../security/process-memory.ts';
import { connectWire, readAnswers, type WireClient } from '../security/wire-client.ts';

const megabyte = 1024 * 1024;
const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}';

/** How the server answers: byte by byte, this many bytes. */
let slow: { readonly type: string; readonly start: string; readonly bytes: number } | undefined;
/** The whole answer has been written. */
let isWritten = false;
let gateway: GuardedGateway<GatewayProcessRun>;

before(async () => {
  gateway = await startGuardedGatewayProcess({
    routes: ['tools'],
    policies: [
      backendPolicy('tools', {
        authorization: { action: 'Allow', policy: { matchExpressions: ['mcp.tool.name == "echo"'] } },
      }),
    ],
    answer(_, response) {
      if (slow === undefined) {
        response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"result":{}}');
        return;
      }
      const { type, start, bytes } = slow;
      const socket = response.socket!;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      socket.write(`${start.length.toString(16)}\r\n${start}\r\n`);
      const block = '1\r\n \r\n'.repeat(50_000);
      const write = (left: number): void => {
        if (left > 0) socket.write(block, () => write(left - 50_000));
        else isWritten = true;
      };
      write(bytes);
    },
  });
});
after(() => gateway.close());
beforeEach(() => {
  slow = undefined;
  isWritten = false;
});

describe('answers that come byte by byte', () => {
  for (const [title, type, start, message] of [
    ['a list', 'application/json', '{', list],
    ['an event', 'text/event-stream', 'data: {', call],
  ] as const)
    test(`${title} takes no more memory than its bytes`, async (t) => {
      const pid = gateway.run.child.pid;
      slow = { type, start, bytes: 3 * megabyte };
      const earlier = readResidentBytes(pid);
      const client = await connectWire(t, gateway.port);
      client.send(
        `POST /tools HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${message.length}\r\n\r\n${message}`,
      );
      await waitFor(() => isWritten);
      slow = undefined;
      // Round trips through the gateway: what was sent before has been read.
      for (let round = 0; round < 20; round += 1) await gateway.post('/tools', undefined, call);
      const grown = readResidentBytes(pid) - earlier;
      t.diagnostic(`${Math.round(grown / megabyte)} MiB`);
      assert.ok(grown < 150 * megabyte, `${Math.round(grown / megabyte)} MiB for 3 MiB of an answer`);
    });
});

// Last: what it has taken once, the process does not give back.
describe('bodies', () => {
  test('of many clients that do not end have no more room together than they may have', async (t) => {
    const size = 4 * megabyte;
    const part = Buffer.alloc(size - 1, ' ');
    const head = `POST /tools HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`;
    const clients: WireClient[] = [];
    const findRefused = (): WireClient | undefined => clients.find(({ received }) => received.includes('bodies_over'));
    // There is room for 64 of them. On a slow machine the first ones may be over their time when the last ones come.
    while (findRefused() === undefined) {
      assert.ok(clients.length < 400, 'there seems to be room without end');
      const several = await Promise.all(Array.from({ length: 11 }, () => connectWire(t, gateway.port)));
      clients.push(...several);
      await Promise.all(
        several.map(
          ({ socket }) => new Promise<void>((resolve) => socket.write(head, () => socket.write(part, () => resolve()))),
        ),
      );
    }
    const [answer] = readAnswers(findRefused()!.received);
    assert.deepEqual([answer!.status, answer!.error], [503, 'bodies_over_budget']);
    assert.ok(answer!.headers.some(([name, value]) => name === 'retry-after' && Number(value) > 0));
    // Who leaves makes room, and so does who is done, in whatever way: none of it is lost.
    for (const client of clients) client.socket.destroy();
    await waitFor(async () => (await gateway.post('/tools', undefined, call)).status === 200);
    const sizes = { 200: call + ' '.repeat(size - call.length), 400: 'x'.repeat(size) };
    for (let sent = 0; sent < 66; sent += 1)
      for (const [status, body] of Object.entries(sizes)) {
        const done = await gateway.post('/tools', undefined, body);
        assert.equal(done.status, Number(status), `message ${sent}: ${done.body}`);
      }
  });
});
