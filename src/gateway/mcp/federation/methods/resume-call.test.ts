import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSealKey } from '../../../../base/sealed.ts';
import { waitFor } from '../../../../../test/kit/wait-for.ts';
import type { FakeCall } from '../testing/fake-target.ts';
import { createFederation, type FederationFixture, type Talk } from '../testing/federation-fixture.ts';
import type { TargetSession } from '../target.ts';

const own: TargetSession = { id: 'sa', tag: undefined, version: '2025-11-25' };
const call = { name: 'a_x', arguments: {} };
const told = (data: string): object => ({ jsonrpc: '2.0', method: 'notifications/message', params: { data } });
const isStream = (talk: Talk): boolean => talk.headers.includes('text/event-stream');

/** A call whose server says what the test wants. */
async function begin(
  fixture: FederationFixture,
  session: string,
  onRequest: (asked: FakeCall) => void,
): Promise<{ readonly talk: Talk; readonly asked: FakeCall }> {
  fixture.targets['a']!.behaviour.onRequest = onRequest;
  const before = fixture.targets['a']!.calls.length;
  const talk = fixture.ask(session, 'tools/call', call);
  const asked = await waitFor('the call', () => fixture.targets['a']!.calls[before]);
  return { talk, asked };
}

function comeBack(fixture: FederationFixture, session: string, lastEventId: string): Talk {
  return fixture.talk({ headers: ['Mcp-Session-Id', session, 'Last-Event-ID', lastEventId] });
}

describe('the stream of a call', () => {
  test('is one where the server has one, at once; JSON stays JSON', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const session = await fixture.initialize();
    const { talk, asked } = await begin(fixture, session, (each) => each.stream(undefined));
    await waitFor('the head', () => isStream(talk));
    assert.equal(talk.body, '');
    asked.answer({ content: [] });
    assert.deepEqual((await talk.done).events, [{ jsonrpc: '2.0', id: 1, result: { content: [] } }]);
    // It cannot be resumed.
    assert.deepEqual(talk.eventIds, []);
    const plain = await begin(fixture, session, (each) => each.answer({ content: [] }));
    assert.equal(isStream(await plain.talk.done), false);
    fixture.targets['a']!.behaviour.onRequest = (each) => {
      each.stream(undefined);
      each.answer({ content: [] });
    };
    assert.ok(isStream(await fixture.askModern('tools/call', { name: 'a_x' }).done));
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
    const headers = ['Mcp-Session-Id', session];
    const onlyJson = await fixture.talk({ headers, body, accept: 'application/json' }).done;
    assert.deepEqual(onlyJson.json['result'], { content: [] });
  });

  test('has ids, times to wait and signs of life', async () => {
    const fixture = createFederation({ a: {} });
    const session = await fixture.initialize();
    const { talk } = await begin(fixture, session, (asked) => {
      asked.stream(own);
      asked.mark({ eventId: 'e-0', retryMs: 50 });
      asked.mark({});
      asked.mark({ retryMs: 70 });
      asked.say(told('1'), 'e-1');
      asked.say(told('2'));
      asked.answer({ content: [] });
    });
    const { body, eventIds } = await talk.done;
    const [first, second, last, ...none] = eventIds;
    assert.deepEqual(none, []);
    assert.equal(new Set(eventIds).size, 3);
    for (const eventId of eventIds) assert.doesNotMatch(Buffer.from(eventId, 'base64url').toString('latin1'), /e-[01]/);
    assert.equal(
      body,
      `id: ${first}\nretry: 50\ndata: \n\n:\n\nretry: 70\n\n` +
        `event: message\nid: ${second}\ndata: ${JSON.stringify(told('1'))}\n\n` +
        `event: message\ndata: ${JSON.stringify(told('2'))}\n\n` +
        `event: message\nid: ${last}\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n`,
    );
  });

  test('clients before 2025-11-25 get no events without data, and are not sent away', async () => {
    const fixture = createFederation({ a: {} });
    const session = await fixture.initialize(undefined, '2025-06-18');
    const suspended: boolean[] = [];
    const { talk } = await begin(fixture, session, (asked) => {
      asked.stream(own);
      asked.mark({ eventId: 'e-0', retryMs: 50 });
      asked.mark({});
      asked.say(told('1'), 'e-1');
      suspended.push(asked.suspend());
      asked.answer({ content: [] });
    });
    const { body, eventIds } = await talk.done;
    assert.deepEqual(suspended, [false]);
    assert.equal(eventIds.length, 2);
    assert.match(body, /^:\n\n:\n\nevent: message\n/, 'comments say that the stream is alive');
  });

  test('clients of 2026-07-28 and batches get no ids', async () => {
    const onRequest = (asked: FakeCall): void => {
      asked.stream(undefined);
      asked.mark({ eventId: 'e-0', retryMs: 50 });
      asked.say(told('1'), 'e-1');
      assert.equal(asked.suspend(), false);
      asked.answer({ content: [] });
    };
    const fixture = createFederation({ a: { onRequest } });
    const modern = await fixture.askModern('tools/call', { name: 'a_x' }).done;
    assert.equal(modern.events.length, 2);
    assert.doesNotMatch(modern.body, /^(?:id|retry)/m);
    const session = await fixture.initialize(undefined, '2025-03-26');
    fixture.targets['a']!.behaviour.onRequest = (asked) => {
      asked.stream(own);
      asked.say(told('1'), 'e-1');
      asked.answer({ content: [] });
    };
    const body = [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }];
    const batch = await fixture.talk({ headers: ['Mcp-Session-Id', session], body }).done;
    assert.equal(batch.events.length, 2);
    assert.deepEqual(batch.eventIds, []);
  });

  test('lists are streams where a server has one', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const session = await fixture.initialize();
    const answer = (each: FakeCall): void => each.answer({ tools: [] });
    for (const { behaviour } of Object.values(fixture.targets)) behaviour.onRequest = answer;
    assert.equal(isStream(await fixture.ask(session, 'tools/list').done), false);
    fixture.targets['b']!.behaviour.onRequest = (each) => {
      each.stream(own);
      each.say(told('x'), 'e-1');
      answer(each);
    };
    const talk = await fixture.ask(session, 'tools/list').done;
    assert.ok(isStream(talk));
    assert.deepEqual(talk.events, [{ jsonrpc: '2.0', id: 1, result: { tools: [] } }]);
    assert.deepEqual(talk.eventIds, []);
  });
});

describe('a client that comes back', () => {
  test('gets the rest from the target, with its own names and the id of the request', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const session = await fixture.initialize();
    const { talk, asked } = await begin(fixture, session, (each) => {
      each.stream(own);
      each.say(told('1'), 'e-1');
    });
    const [id] = await waitFor('an id', () => (talk.eventIds.length > 0 ? talk.eventIds : undefined));
    talk.leave();
    assert.deepEqual(asked.aborted, { cancel: false });

    const back = comeBack(fixture, session, id!);
    const { rests } = fixture.targets['a']!;
    const rest = await waitFor('the rest', () => rests[0]);
    assert.deepEqual(rest.place, {
      target: 'a',
      method: 'tools/call',
      id: '1',
      eventId: 'e-1',
      session: own,
      asked: undefined,
    });
    assert.ok(isStream(back));
    rest.stream(own);
    rest.say({ jsonrpc: '2.0', id: 5, method: 'sampling/createMessage', params: {} }, 'e-2');
    rest.answer({ content: [{ type: 'resource_link', uri: 'file:///a', name: 'n' }] });
    const { events, eventIds } = await back.done;
    assert.equal(typeof events[0]!['id'], 'string');
    const content = [{ type: 'resource_link', uri: 'a+file:///a', name: 'n' }];
    assert.deepEqual(events[1], { jsonrpc: '2.0', id: 1, result: { content } });
    assert.equal(back.context.endpoint, 'a');
    assert.equal(fixture.targets['b']!.rests.length, 0);

    // Between two messages as well.
    comeBack(fixture, session, eventIds[0]!).leave();
    const again = comeBack(fixture, session, eventIds[0]!);
    await waitFor('the rest of the rest', () => rests.at(-1)!.place.eventId === 'e-2');
    again.leave();
    assert.deepEqual(rests.at(-1)!.aborted, { cancel: false });

    // After the answer there is nothing, and no reason to ask the server.
    const asks = rests.length;
    const over = await comeBack(fixture, session, eventIds[1]!).done;
    assert.deepEqual([over.status, over.body], [204, '']);
    assert.equal(rests.length, asks);
  });

  test('is cancelled at its target', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const session = await fixture.initialize();
    const { talk } = await begin(fixture, session, (each) => {
      each.stream(own);
      each.mark({ eventId: 'e-1' });
    });
    const id = await waitFor('an id', () => talk.eventIds[0]);
    talk.leave();
    const back = comeBack(fixture, session, id);
    await waitFor('the rest', () => fixture.targets['a']!.rests[0]);
    const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    await fixture.talk({ headers: ['Mcp-Session-Id', session], body }).done;
    assert.deepEqual(fixture.targets['b']!.told, []);
    assert.equal(fixture.targets['a']!.told.length, 1);
    back.leave();
  });

  test('as a server wants it: the stream ends without the answer, and each one tells where to go on', async () => {
    const fixture = createFederation({ a: {} });
    const session = await fixture.initialize();
    const { talk, asked } = await begin(fixture, session, (each) => {
      each.stream(own);
      each.mark({ eventId: 'e-0', retryMs: 50 });
    });
    assert.equal(asked.suspend(), true);
    const [id] = (await talk.done).eventIds;
    assert.deepEqual(talk.events, []);
    // Without anything new: a client that only knows what this stream said has an id all the same.
    const empty = comeBack(fixture, session, id!);
    const { rests } = fixture.targets['a']!;
    const first = await waitFor('the rest', () => rests[0]);
    first.stream(own);
    assert.equal(first.suspend(), true);
    assert.deepEqual((await empty.done).eventIds, [id]);
    const back = comeBack(fixture, session, id!);
    const second = await waitFor('the rest', () => rests[1]);
    second.stream(own);
    second.answer({ content: [] });
    assert.deepEqual((await back.done).events, [{ jsonrpc: '2.0', id: 1, result: { content: [] } }]);
  });

  test('without an id from before it cannot be sent away', async () => {
    const fixture = createFederation({ a: {} });
    const session = await fixture.initialize();
    const { talk, asked } = await begin(fixture, session, (each) => each.stream(own));
    assert.equal(asked.suspend(), false);
    asked.mark({ eventId: 'x'.repeat(2_000) });
    assert.equal(asked.suspend(), false);
    asked.answer({ content: [] });
    assert.equal((await talk.done).events.length, 1);
  });

  test('slowly slows its target', async () => {
    const fixture = createFederation({ a: {} });
    const session = await fixture.initialize();
    const { talk } = await begin(fixture, session, (each) => {
      each.stream(own);
      each.mark({ eventId: 'e-0' });
    });
    const id = await waitFor('an id', () => talk.eventIds[0]);
    talk.leave();
    const back = comeBack(fixture, session, id);
    back.isPaused = true;
    const rest = await waitFor('the rest', () => fixture.targets['a']!.rests[0]);
    assert.equal(rest.say(told('1'), 'e-1'), false);
    assert.equal(rest.mark({}), false);
    back.resume();
    assert.equal(rest.resumed, 1);
    assert.equal(rest.say(told('2'), 'e-2'), true);
    back.leave();
  });

  test('to a target that cannot go on: the call has its answer, and nobody comes back for more', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const session = await fixture.initialize();
    const { talk } = await begin(fixture, session, (each) => {
      each.stream(own);
      each.mark({ eventId: 'e-0' });
    });
    const id = await waitFor('an id', () => talk.eventIds[0]);
    talk.leave();
    const seen: string[] = [];
    const look = async (): Promise<void> => {
      const { status, events, eventIds } = await comeBack(fixture, session, id).done;
      const { id: answered, error } = events[0] as { id: number; error: { code: number; message: string } };
      seen.push(`${status} ${answered} ${error.code} ${error.message}`);
      assert.equal(events.length, 1);
      assert.equal((await comeBack(fixture, session, eventIds[0]!).done).status, 204);
    };
    for (const failure of [
      { kind: 'down' },
      { kind: 'timeout' },
      { kind: 'refused', status: 404 },
      { kind: 'refused', status: 405 },
      { kind: 'no-answer' },
    ] as const) {
      fixture.targets['a']!.behaviour.onResume = (rest) => rest.fail(failure);
      // eslint-disable-next-line no-await-in-loop
      await look();
    }
    fixture.targets['a']!.behaviour.onResume = (rest) => rest.end();
    await look();
    fixture.reconfigure((config) => ({ ...config, targets: config.targets.filter(({ name }) => name !== 'a') }));
    await look();
    assert.deepEqual(seen, [
      '200 1 -32603 The server "a" cannot be reached.',
      '200 1 -32603 The server "a" did not answer in time.',
      '200 1 -32603 The server "a" does not go on with this call (HTTP 404).',
      '200 1 -32603 The server "a" does not go on with this call (HTTP 405).',
      '200 1 -32603 The server "a" broke off before it answered.',
      '200 1 -32603 The server "a" broke off before it answered.',
      '200 1 -32603 The server "a" cannot be reached.',
    ]);
  });

  test('with an id that is none of this session: 400, and no stream', async () => {
    const keys = [createSealKey()];
    const fixture = createFederation({ a: {} }, { keys });
    const session = await fixture.initialize('ann');
    const others = [await fixture.initialize('ann'), await fixture.initialize('bob')];
    fixture.targets['a']!.behaviour.onRequest = (each) => {
      each.stream(own);
      each.mark({ eventId: 'e-0' });
    };
    const asked = fixture.ask(session, 'tools/call', call, 'ann');
    const id = await waitFor('an id', () => asked.eventIds[0]);
    asked.leave();
    const ask = (user: string, mine: string, ...ids: string[]): Promise<Talk> =>
      fixture.talk({
        user,
        headers: ['Mcp-Session-Id', mine, ...ids.flatMap((each) => ['Last-Event-ID', each])],
      }).done;
    const refused = '-32000 Bad Request: the Last-Event-ID is none of this session';
    const look = async (...args: Parameters<typeof ask>): Promise<string> => {
      const { status, json } = await ask(...args);
      const { code, message } = json['error'] as { code: number; message: string };
      return `${status} ${code} ${message}`;
    };
    for (const wrong of ['e-0', '1', `${id}A`, id.slice(0, -2), id.toUpperCase(), session, 'x'.repeat(5_000)])
      assert.equal(await look('ann', session, wrong), `400 ${refused}`, wrong);
    assert.equal(await look('ann', others[0]!, id), `400 ${refused}`);
    assert.equal(await look('bob', others[1]!, id), `400 ${refused}`);
    assert.equal(await look('bob', session, id), '404 -32001 Session not found');
    assert.equal(await look('ann', session, id, id), '400 -32000 Bad Request: several Last-Event-ID headers');
    const replica = createFederation({ a: {} }, { keys: [createSealKey()] });
    assert.equal(
      (await replica.talk({ user: 'ann', headers: ['Mcp-Session-Id', session, 'Last-Event-ID', id] }).done).status,
      404,
    );
    assert.equal(fixture.targets['a']!.rests.length, 0);
    assert.equal(fixture.targets['a']!.streams.length, 0);
    // An empty one is none.
    const stream = fixture.talk({ user: 'ann', headers: ['Mcp-Session-Id', session, 'Last-Event-ID', ''] });
    await waitFor('the stream', () => isStream(stream));
    stream.leave();
  });

  test('to another replica', async () => {
    const keys = [createSealKey()];
    const [first, second] = [createFederation({ a: {} }, { keys }), createFederation({ a: {} }, { keys })];
    const session = await first.initialize();
    // Begun again there: the other one does not know of it, and need not.
    const late = { ...own, id: 'late' };
    const { talk } = await begin(first, session, (each) => {
      each.stream(late);
      each.say(told('1'), 'e-1');
    });
    const id = await waitFor('an id', () => talk.eventIds[0]);
    talk.leave();
    const back = comeBack(second, session, id);
    const rest = await waitFor('the rest', () => second.targets['a']!.rests[0]);
    assert.deepEqual(rest.place.session, late);
    rest.answer({ content: [] });
    assert.deepEqual((await back.done).events, [{ jsonrpc: '2.0', id: 1, result: { content: [] } }]);
  });
});
