import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  asksForSubscription,
  getVoice,
  LegacyVoice,
  type StreamVoice,
  SubscriptionVoice,
} from './list-changed-notification.ts';

function hear(voice: StreamVoice, text: string, size = text.length): boolean {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) voice.hear(bytes.subarray(at, at + size));
  return voice.isReady;
}

/** The message of an event. */
function readMessage(event: string): unknown {
  const match = /^event: message\ndata: (.*)\n\n$/.exec(event);
  assert.ok(match !== null, event);
  return JSON.parse(match[1]!);
}

test('the stream of a GET takes notifications from the beginning', () => {
  assert.equal(getVoice.isReady, true);
  assert.deepEqual(readMessage(getVoice.announce('tools')), {
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
  });
  assert.deepEqual(readMessage(getVoice.announce('prompts')), {
    jsonrpc: '2.0',
    method: 'notifications/prompts/list_changed',
  });
});

test('the stream of the older transport takes them after its endpoint event', () => {
  for (const size of [1, 5, 1_000]) {
    const voice = new LegacyVoice();
    assert.equal(hear(voice, ': hi\n\nevent: endpoint\ndata: /x\n', size), false);
    assert.equal(hear(voice, '\n', size), true);
    assert.equal(hear(voice, 'data: 1\n\n', size), true);
  }
  assert.equal(hear(new LegacyVoice(), '\ufeffevent:endpoint\r\ndata: /x\r\n\r\n'), true);
  assert.equal(hear(new LegacyVoice(), 'data: event: endpoint\n\n'), false);
  assert.deepEqual(readMessage(new LegacyVoice().announce('resources')), {
    jsonrpc: '2.0',
    method: 'notifications/resources/list_changed',
  });
});

describe('a subscription', () => {
  const acknowledge = (id: unknown, notifications: object): string =>
    `event: message\ndata: ${JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
    })}\n\n`;

  test('tells what was acknowledged, in the name of the subscription', () => {
    for (const [id, size] of [
      ['listen:0', 1],
      [7, 9],
      ['"', 1_000],
    ] as const) {
      const voice = new SubscriptionVoice();
      assert.equal(hear(voice, ': keepalive\n\nid: 1\ndata: \n\n', size), false);
      assert.equal(hear(voice, acknowledge(id, { toolsListChanged: true, promptsListChanged: false }), size), true);
      assert.deepEqual(readMessage(voice.announce('tools')), {
        jsonrpc: '2.0',
        method: 'notifications/tools/list_changed',
        params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
      });
      assert.equal(voice.announce('prompts'), '');
      assert.equal(voice.announce('resources'), '');
    }
  });

  test('says nothing on a stream that begins otherwise', () => {
    for (const opening of [
      'data: {"jsonrpc":"2.0","id":1,"error":{}}\n\n',
      'data: hello\n\n',
      'data: []\n\n',
      'data: {"method":"notifications/subscriptions/acknowledged"}\n\n',
      acknowledge(null, { toolsListChanged: true }),
      `: ${'x'.repeat(70_000)}\n\n`,
    ]) {
      const voice = new SubscriptionVoice();
      assert.equal(hear(voice, opening), false, opening.slice(0, 100));
      assert.equal(hear(voice, acknowledge('late', { toolsListChanged: true })), false);
    }
  });

  test('is recognised by its header', () => {
    assert.equal(asksForSubscription('POST', ['Mcp-Method', 'subscriptions/listen']), true);
    assert.equal(asksForSubscription('GET', ['mcp-method', 'subscriptions/listen']), false);
    assert.equal(asksForSubscription('POST', ['mcp-method', 'tools/list']), false);
    assert.equal(asksForSubscription('POST', []), false);
  });
});
