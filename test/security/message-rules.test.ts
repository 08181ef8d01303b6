// Known failures of rules over MCP messages, one test per lesson, through a real gateway.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type FlowAnswer, ask } from '../idp/flow-client.ts';
import { askHttp2, openSession } from '../integration/gateway-fixture.ts';
import type { GuardedGateway } from './guarded-gateway.ts';
import {
  admin,
  assertStopped,
  call,
  errorOf,
  items,
  message,
  nobody,
  readNames,
  readRpc,
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

describe('list filtered but call allowed: what is hidden in a list cannot be used', () => {
  const uses: Record<keyof typeof items, (name: string) => readonly object[]> = {
    tools: (name) => [call(name)],
    prompts: (name) => [
      message('prompts/get', { name }),
      message('completion/complete', { ref: { type: 'ref/prompt', name }, argument: { name: 'x', value: '' } }),
    ],
    resources: (uri) =>
      ['resources/read', 'resources/subscribe', 'resources/unsubscribe'].map((method) => message(method, { uri })),
    templates: (uri) => [
      message('completion/complete', { ref: { type: 'ref/resource', uri }, argument: { name: 'x', value: '' } }),
    ],
  };
  const lists = {
    tools: 'tools/list',
    prompts: 'prompts/list',
    resources: 'resources/list',
    templates: 'resources/templates/list',
  } as const;

  for (const kind of Object.keys(lists) as (keyof typeof lists)[]) {
    for (const form of ['json', 'events']) {
      test(`${kind}, answered as ${form}`, async () => {
        const { open, hidden } = items[kind];
        for (const [token, shown] of [
          [support, [...open]],
          [admin, [...open, ...hidden]],
          [nobody, []],
        ] as const) {
          const list = await guarded.post('/mcp', token, message(lists[kind]), { 'x-form': form });
          assert.deepEqual(readNames(list), shown);
          for (const name of [...open, ...hidden]) {
            for (const use of uses[kind](name)) {
              guarded.upstream.forget();
              const answer = await guarded.post('/mcp', token, use, { 'x-form': form });
              const isAllowed = (shown as readonly string[]).includes(name);
              assert.equal(guarded.upstream.headCount, isAllowed ? 1 : 0, `${JSON.stringify(use)}: ${answer.body}`);
              assert.equal('result' in readRpc(answer), isAllowed);
              if (isAllowed) continue;
              assert.equal(answer.status, 200, 'as a server answers for an item that it does not have');
              assert.match(errorOf(answer).message!, /^(Unknown (tool|prompt): |Resource not found)/);
            }
          }
        }
      });
    }
  }

  test('a hidden item and one that does not exist are answered alike', async () => {
    const [hidden, missing] = await Promise.all(
      ['admin_delete', 'admin_dalete'].map((name) => guarded.post('/mcp', support, call(name))),
    );
    assert.equal(hidden!.body.replaceAll('delete', '?'), missing!.body.replaceAll('dalete', '?'));
    assert.equal(hidden!.status, missing!.status);
    const own = (answer: FlowAnswer): string[] => Object.keys(answer.headers).filter((name) => name !== 'x-request-id');
    assert.deepEqual(own(hidden!), own(missing!));
  });

  test('a stream that is taken up again brings no list past the rules', async () => {
    for (const [token, shown] of [
      [support, [...items.tools.open]],
      [admin, [...items.tools.open, ...items.tools.hidden]],
    ] as const) {
      const answer = await guarded.get('/mcp', token, { accept: 'text/event-stream', 'last-event-id': '0' });
      assert.deepEqual(readNames(answer), shown);
    }
  });

  test('without a token there are no groups, and nothing to use', async () => {
    assert.deepEqual(readNames(await guarded.post('/optional', undefined, message('tools/list'))), []);
    guarded.upstream.forget();
    for (const name of [...items.tools.open, ...items.tools.hidden]) {
      assertStopped(guarded, await guarded.post('/optional', undefined, call(name)), name);
    }
  });
});

test('same JSON-RPC id from two clients (CVE-2026-25536): lists and answers never cross', async () => {
  await Promise.all(
    Array.from({ length: 120 }, async (_, index) => {
      const [token, shown] =
        index % 2 === 0 ? [support, items.tools.open] : [admin, [...items.tools.open, ...items.tools.hidden]];
      const form = index % 3 === 0 ? 'events' : 'json';
      const list = await guarded.post('/mcp', token, message('tools/list', {}, 7), { 'x-form': form });
      assert.deepEqual(readNames(list), [...shown]);
      assert.equal(readRpc(list)['id'], 7);
      const use = await guarded.post('/mcp', token, call('admin_delete', 7), { 'x-form': form });
      assert.equal('result' in readRpc(use), index % 2 === 1);
    }),
  );
});

describe('`.` as a regex (CVE-2026-39350): a pattern of tools is no regular expression', () => {
  for (const name of ['a.b', 'a.bc', 'a.b*', 'a.b.c', '[x]', '(y)', '$z^']) {
    test(`${name} needs its scope`, async () => {
      const answer = await guarded.post('/scoped', admin, call(name));
      guarded.assertRefused(answer, 403, 'insufficient_scope');
      assert.match(String(answer.headers['www-authenticate']), name.startsWith('a') ? /scope="dots"/ : /scope="marks"/);
    });
  }
  for (const name of ['aXb', 'axbc', 'ab', 'a.', 'xa.b', 'x', 'y', 'z', 'A.b']) {
    test(`${name} does not`, async () => {
      const answer = await guarded.post('/scoped', admin, call(name));
      assert.equal(answer.status, 200, answer.body);
      assert.equal(guarded.upstream.headCount, 1);
    });
  }
});

describe('other ways in: what cannot be judged does not pass', () => {
  const body = JSON.stringify(call('admin_delete'));
  const url = (path = '/mcp'): string => `http://127.0.0.1:${guarded.port}${path}`;
  const authorization = `Bearer ${admin}`;

  for (const method of ['PUT', 'PATCH', 'QUERY', 'PROPFIND', 'OPTIONS', 'SEARCH']) {
    test(`a message with ${method} -> 405`, async () => {
      const answer = await ask(url(), { method, headers: { authorization, 'content-type': 'application/json' }, body });
      guarded.assertRefused(answer, 405, 'method_not_allowed');
    });
  }

  for (const method of ['GET', 'DELETE']) {
    test(`a message with ${method} -> 400`, async (t) => {
      const wire = await connectWire(t, guarded.port);
      const head = `${method} /mcp HTTP/1.1\r\nHost: 127.0.0.1:${guarded.port}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
      wire.send(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
      const [answer] = readAnswers(await wire.waitForClose());
      assert.equal(`${answer!.status} ${answer!.error}`, '400 message_malformed');
      assert.equal(guarded.upstream.headCount, 0);
    });
  }

  for (const [name, headers] of Object.entries({
    'as text': { 'content-type': 'text/plain' },
    'as a form': { 'content-type': 'application/x-www-form-urlencoded' },
    'as JSON in UTF-16': { 'content-type': 'application/json; charset=utf-16' },
    'as JSON in UTF-7': { 'content-type': 'application/json;charset="utf-7"' },
    'as two types': { 'content-type': 'application/json, text/plain' },
    'as JSON lines': { 'content-type': 'application/jsonl' },
    'with a content encoding': { 'content-encoding': 'gzip' },
    'with two content encodings': { 'content-encoding': 'identity, br' },
  })) {
    test(`a message ${name} -> refused`, async () => {
      const answer = await guarded.post('/mcp', admin, body, headers);
      guarded.assertRefused(answer, 415, 'body_not_readable', name);
    });
  }

  test('a message that is really compressed -> refused', async () => {
    const compressed = gzipSync(body);
    const answer = await fetch(url(), {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: compressed,
    });
    assert.equal(answer.status, 415, await answer.text());
    assert.equal(guarded.upstream.headCount, 0);
  });

  test('an upgrade -> refused', async (t) => {
    const wire = await connectWire(t, guarded.port);
    wire.send(
      `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${guarded.port}\r\nAuthorization: ${authorization}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    await wire.waitForText('\r\n\r\n');
    assert.match(wire.received, /^HTTP\/1\.1 4\d\d /);
    assert.equal(guarded.upstream.headCount, 0);
  });

  test('headers that say another method or tool than the body -> 400, -32020', async () => {
    for (const headers of [
      { 'mcp-method': 'tools/list' },
      { 'mcp-method': 'Tools/Call' },
      { 'mcp-name': 'ticket_read' },
      { 'mcp-method': 'tools/call', 'mcp-name': 'ticket_read' },
    ]) {
      const answer = await guarded.post('/mcp', admin, body, headers);
      assertStopped(guarded, answer, JSON.stringify(headers));
      assert.equal(answer.status, 400, answer.body);
      assert.equal(errorOf(answer).code, -32_020, answer.body);
    }
  });

  test('headers that say what the body does not open nothing either', async () => {
    const answer = await guarded.post('/mcp', support, body, {
      'mcp-method': 'tools/call',
      'mcp-name': 'admin_delete',
    });
    assertStopped(guarded, answer, 'agreeing headers');
    assert.equal(errorOf(answer).message, 'Unknown tool: admin_delete');
  });

  test('a body beyond 4 MiB -> 413, whether it says so or not', async (t) => {
    const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${guarded.port}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    const announced = await connectWire(t, guarded.port);
    announced.send(`${head}Content-Length: ${4 * 1024 * 1024 + 1}\r\n\r\n{`);
    const chunked = await connectWire(t, guarded.port);
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    chunked.send(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(64)}2\r\n{}\r\n`);
    for (const wire of [announced, chunked]) {
      await wire.waitForText('\r\n\r\n');
      assert.match(wire.received, /^HTTP\/1\.1 413 /);
    }
    assert.equal(guarded.upstream.headCount, 0);
  });

  test('over HTTP/2 the rules are the same', async (t) => {
    const session = await openSession(guarded.port);
    t.after(() => session.destroy());
    const head = {
      ':method': 'POST',
      ':path': '/mcp',
      ':authority': `127.0.0.1:${guarded.port}`,
      authorization: `Bearer ${support}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const list = await askHttp2(session, head, JSON.stringify(message('tools/list')));
    const { tools } = (JSON.parse(list.body) as { result: { tools: { name: string }[] } }).result;
    assert.deepEqual(
      tools.map(({ name }) => name),
      [...items.tools.open],
    );
    guarded.upstream.forget();
    const use = await askHttp2(session, head, body);
    assert.match(use.body, /Unknown tool: admin_delete/);
    assert.equal(guarded.upstream.headCount, 0);
  });
});
