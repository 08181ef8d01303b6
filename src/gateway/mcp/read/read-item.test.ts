import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readItems } from './read-item.ts';

function read(method: string, params: Record<string, unknown>): unknown {
  const reading = readItems({ kind: 'request', id: 1, method, params });
  return reading.ok ? reading.items : reading.problem;
}

describe('what a message uses', () => {
  for (const [method, params, items] of [
    ['tools/call', { name: 'a' }, [{ kind: 'tool', name: 'a' }]],
    ['tools/call', { name: 'a', arguments: { x: 1 } }, [{ kind: 'tool', name: 'a', arguments: { x: 1 } }]],
    ['tools/call', { name: 'a', arguments: null }, [{ kind: 'tool', name: 'a' }]],
    ['tools/call', { name: '' }, [{ kind: 'tool', name: '' }]],
    ['prompts/get', { name: 'p', arguments: { x: 'y' } }, [{ kind: 'prompt', name: 'p' }]],
    ['resources/read', { uri: 'file:///a' }, [{ kind: 'resource', name: 'file:///a' }]],
    ['resources/subscribe', { uri: 'u' }, [{ kind: 'resource', name: 'u' }]],
    ['resources/unsubscribe', { uri: 'u' }, [{ kind: 'resource', name: 'u' }]],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'p', uri: 'u' } }, [{ kind: 'prompt', name: 'p' }]],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'u/{x}', name: 'p' } },
      [{ kind: 'resource', name: 'u/{x}' }],
    ],
    ['subscriptions/listen', {}, []],
    ['subscriptions/listen', { notifications: { toolsListChanged: true } }, []],
    ['subscriptions/listen', { notifications: { resourceSubscriptions: null } }, []],
    [
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: ['a', 'b'] } },
      [
        { kind: 'resource', name: 'a' },
        { kind: 'resource', name: 'b' },
      ],
    ],
    ['tools/list', { name: 'a' }, []],
    ['initialize', { uri: 'u' }, []],
    ['Tools/Call', { name: 'a' }, []],
    ['notifications/progress', {}, []],
  ] as const)
    test(`${method} ${JSON.stringify(params)}`, () => assert.deepEqual(read(method, params), items));
});

describe('what should name an item and does not', () => {
  for (const [method, params, problem] of [
    ['tools/call', {}, 'has no name'],
    ['tools/call', { name: null }, 'has no name'],
    ['tools/call', { name: ['a'] }, 'has no name'],
    ['tools/call', { name: { toString: 'a' } }, 'has no name'],
    ['tools/call', { name: 'a\0b' }, 'has a name with control characters'],
    ['tools/call', { name: 'a\n' }, 'has a name with control characters'],
    ['tools/call', { name: 'a', arguments: [] }, 'has arguments that are not an object'],
    ['tools/call', { name: 'a', arguments: '{"x":1}' }, 'has arguments that are not an object'],
    ['prompts/get', { uri: 'p' }, 'has no name'],
    ['resources/read', { name: 'u' }, 'has no uri'],
    ['resources/subscribe', { uri: 7 }, 'has no uri'],
    ['completion/complete', {}, 'has no ref'],
    ['completion/complete', { ref: 'ref/prompt' }, 'has no ref'],
    ['completion/complete', { ref: { type: 'ref/tool', name: 'a' } }, 'has a ref of an unknown type'],
    ['completion/complete', { ref: { name: 'a' } }, 'has a ref of an unknown type'],
    ['completion/complete', { ref: { type: 'ref/prompt', uri: 'a' } }, 'has no ref.name'],
    ['completion/complete', { ref: { type: 'ref/resource', name: 'a' } }, 'has no ref.uri'],
    ['subscriptions/listen', { notifications: [] }, 'has notifications that are not an object'],
    [
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: 'u' } },
      'has resourceSubscriptions that are not an array',
    ],
    ['subscriptions/listen', { notifications: { resourceSubscriptions: ['u', 1] } }, 'has no resourceSubscriptions'],
  ] as const)
    test(`${method} ${JSON.stringify(params)}`, () => assert.equal(read(method, params), problem));
});

test('as many resources as can be judged are watched at once', () => {
  const watch = (count: number): unknown =>
    read('subscriptions/listen', {
      notifications: { resourceSubscriptions: Array.from({ length: count }, () => 'u') },
    });
  assert.equal((watch(1_000) as unknown[]).length, 1_000);
  assert.equal(watch(1_001), 'has more than 1000 resourceSubscriptions');
  const uris = ['u'.repeat(131_072), 'v'.repeat(131_072)];
  const isRead = (resourceSubscriptions: string[]): boolean =>
    readItems({
      kind: 'request',
      id: 1,
      method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions } },
    }).ok;
  assert.ok(isRead(uris));
  assert.equal(isRead([...uris, 'w']), false);
});
