// What two readers could read differently: bodies, methods and batches under rules over MCP messages (CVE-2026-27896), through a real gateway.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { GuardedGateway } from './guarded-gateway.ts';
import {
  admin,
  assertStopped,
  call,
  errorOf,
  items,
  message,
  startMessageGateway,
  support,
} from './message-rules-fixture.ts';
import { connectWire, readAnswers } from './wire-client.ts';

let guarded: GuardedGateway;
before(async () => {
  guarded = await startMessageGateway();
});
after(() => guarded?.close());
beforeEach(() => guarded.upstream.forget());

describe('JSON case folding and duplicate keys (CVE-2026-27896): what two readers could read differently goes nowhere', () => {
  const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const bodies: Record<string, string> = {
    'Method in place of method': '{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"admin_delete"}}',
    'METHOD beside method':
      '{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"admin_delete"}}',
    'method with a dotless i or a long s':
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","param\\u017f":{"name":"admin_delete"},"params":{"name":"ticket_read"}}',
    'method of full width':
      '{"jsonrpc":"2.0","id":1,"method":"ping","\\uff4dethod":"tools/call","params":{"name":"admin_delete"}}',
    'method with a zero width space':
      '{"jsonrpc":"2.0","id":1,"method":"ping","met\\u200bhod":"tools/call","params":{"name":"admin_delete"}}',
    'method with NUL behind':
      '{"jsonrpc":"2.0","id":1,"method":"ping","method\\u0000":"tools/call","params":{"name":"admin_delete"}}',
    'Name beside name':
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read","Name":"admin_delete"}}',
    'Params beside params':
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read"},"Params":{"name":"admin_delete"}}',
    'URI beside uri':
      '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///public/a","URI":"file:///private/a"}}',
    'method twice': '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"admin_delete"}}',
    'method twice, once escaped':
      '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call","params":{"name":"admin_delete"}}',
    'params twice':
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read"},"params":{"name":"admin_delete"}}',
    'name twice':
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read","name":"admin_delete"}}',
    'name twice, the good one behind':
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"admin_delete","name":"ticket_read"}}',
    'id twice': '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"ticket_read"}}',
    'a key twice deep inside':
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read","arguments":{"a":[{"b":1,"b":2}]}}}',
    __proto__:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read","__proto__":{"name":"admin_delete"}}}',
    'half a surrogate pair': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_\\ud800"}}',
    'a byte order mark': '\ufeff{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read"}}',
    'a comment': '{"jsonrpc":"2.0","id":1,/*"method":"ping",*/"method":"tools/call","params":{"name":"ticket_read"}}',
    'two documents':
      '{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"admin_delete"}}',
    'two lines':
      '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"admin_delete"}}',
    'too deep': `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read","arguments":{"a":${deep(10_000)}}}}`,
    'no JSON': 'method=tools/call&name=admin_delete',
    nothing: '',
    'a text': '"tools/call"',
    null: 'null',
    'params as a list': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["admin_delete"]}',
    'no jsonrpc': '{"id":1,"method":"tools/call","params":{"name":"ticket_read"}}',
    'another jsonrpc': '{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"ticket_read"}}',
    'request and answer at once':
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","result":{},"params":{"name":"ticket_read"}}',
    'a call without an id': '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"ticket_read"}}',
    'the name a list': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["ticket_read"]}}',
    'the name an object': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{"toString":"ticket_read"}}}',
    'no name': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
    'the name with NUL': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_read\\u0000"}}',
  };
  for (const [name, body] of Object.entries(bodies)) {
    test(`${name} -> 400`, async () => {
      // The admin may do all of it: it is refused for what it is.
      for (const token of [support, admin]) {
        const answer = await guarded.post('/mcp', token, body);
        assertStopped(guarded, answer, name);
        assert.equal(answer.status, 400, answer.body);
        assert.ok([-32_700, -32_600, -32_602].includes(errorOf(answer).code!), answer.body);
      }
    });
  }

  test('bytes that are not UTF-8 -> 400', async (t) => {
    const body = Buffer.concat([
      Buffer.from(JSON.stringify(call('ticket_read')).slice(0, -1)),
      Buffer.from(',"x":"'),
      Buffer.of(0xff),
      Buffer.from('"}'),
    ]);
    const wire = await connectWire(t, guarded.port);
    wire.send(
      `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${guarded.port}\r\nAuthorization: Bearer ${admin}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    );
    wire.send(body);
    const [answer] = readAnswers(await wire.waitForClose());
    assert.equal(answer!.status, 400, answer!.body);
    assert.equal(guarded.upstream.headCount, 0);
  });

  for (const method of [
    'Tools/Call',
    'tools//call',
    'tools/call ',
    ' tools/call',
    'tools/Call',
    'tools%2fcall',
    'tools\\/call\u0000',
    'TOOLS/CALL',
    'tools.call',
    'tool/call',
    'tools/call/',
    '/tools/call',
    'rpc.tools/call',
  ]) {
    test(`the method ${JSON.stringify(method)} is not known -> -32601`, async () => {
      for (const token of [support, admin]) {
        const answer = await guarded.post('/mcp', token, message(method, { name: 'admin_delete' }));
        assertStopped(guarded, answer, method);
        assert.equal(errorOf(answer).code, -32_601, answer.body);
      }
    });
  }
});

describe('batches: judged message by message', () => {
  test('hidden items do not reach the server, the others do', async () => {
    const batch = [
      call('ticket_read', 1),
      call('admin_delete', 2),
      message('tools/list', {}, 3),
      call('ticket_close', 4),
    ];
    const answer = await guarded.post('/mcp', support, batch);
    assert.equal(answer.status, 200, answer.body);
    const forwarded = JSON.parse(guarded.upstream.requests[0]!.body) as { id: number }[];
    assert.deepEqual(
      forwarded.map(({ id }) => id),
      [1, 3, 4],
    );
    assert.equal(guarded.upstream.bytes.includes('admin_delete'), false);
    const answers = new Map(
      (JSON.parse(answer.body) as { id: number; result?: object; error?: { code: number; message: string } }[]).map(
        (each) => [each.id, each],
      ),
    );
    assert.deepEqual(new Set(answers.keys()), new Set([1, 2, 3, 4]));
    assert.equal(answers.get(2)?.error?.message, 'Unknown tool: admin_delete');
    const list = answers.get(3)?.result as { tools: { name: string }[] };
    assert.deepEqual(
      list.tools.map(({ name }) => name),
      [...items.tools.open],
    );
  });

  test('all hidden: nothing reaches the server', async () => {
    const answer = await guarded.post('/mcp', support, [call('admin_delete', 1), call('xticket_read', 2)]);
    assertStopped(guarded, answer, 'batch');
    assert.equal((JSON.parse(answer.body) as unknown[]).length, 2);
  });

  for (const [name, body] of Object.entries({
    empty: [],
    'in a batch': [[call('admin_delete')]],
    'with something that is no message': [call('ticket_read'), 'tools/call'],
    'with the same id twice': [call('ticket_read', 1), call('admin_delete', 1)],
    'too long': Array.from({ length: 10_000 }, (_, index) => call('ticket_read', index)),
  })) {
    test(`a batch ${name} -> 400`, async () => {
      const answer = await guarded.post('/mcp', admin, body);
      assertStopped(guarded, answer, name);
      assert.equal(answer.status, 400, answer.body);
    });
  }

  test('where the protocol version has no batches -> 400', async () => {
    for (const version of ['2025-06-18', '2025-11-25', '2026-07-28']) {
      const answer = await guarded.post('/mcp', admin, [call('ticket_read')], { 'mcp-protocol-version': version });
      assertStopped(guarded, answer, version);
      assert.equal(answer.status, 400, answer.body);
    }
  });
});
