import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSealer, createSealKey } from '../../../base/sealed.ts';
import type { SessionIdentity } from '../../request/admission.ts';
import { readMessageTarget, writeMessageUrl } from './legacy-sse.ts';
import { createBoundSigner, openSession, sealSession } from './session-binding.ts';
import { routeSession, sealResponse, tagEndpoint } from './session-routing.ts';

const [oldKey, newKey] = [createSealKey(), createSealKey()];
const alice: SessionIdentity = {
  sealer: createSealer([oldKey]),
  issuer: 'https://idp.example.com',
  subject: 'alice',
  backend: 'ProxyBackend/default/tickets',
};
const session = { sessionId: 'upstream-1', tag: 'abcdef' };
const endpoints = [8001, 8002].map((port) => ({ tag: tagEndpoint(alice.backend, '10.0.0.1', port) }));
const [first, second] = endpoints as [{ tag: string }, { tag: string }];

/** Everybody else: another user, the same name at another IdP, another backend, nobody, another gateway. */
const others: Readonly<Record<string, SessionIdentity>> = {
  'another user': { ...alice, subject: 'bob' },
  'the same name at another IdP': { ...alice, issuer: 'https://other.example.com' },
  'another backend': { ...alice, backend: 'ProxyBackend/default/other' },
  nobody: { ...alice, issuer: '', subject: '' },
  'borders shifted': { ...alice, issuer: 'https://idp.example.coma', subject: 'lice' },
  'a gateway with another key': { ...alice, sealer: createSealer([createSealKey()]) },
};

describe('session ids', () => {
  test('open for the user, the backend and the IdP they were sealed for, on every replica', () => {
    const sealed = sealSession(alice, session);
    assert.match(sealed, /^[\x21-\x7E]+$/, 'as the specification demands of session ids');
    assert.ok(!sealed.includes('upstream-1'));
    const replica = { ...alice, sealer: createSealer([newKey, oldKey]) };
    assert.deepEqual(openSession(replica, sealed), session);
    assert.deepEqual(openSession(alice, sealSession(alice, { ...session, tag: undefined })), {
      ...session,
      tag: undefined,
    });
  });

  for (const [name, identity] of Object.entries(others)) {
    test(`are unknown to ${name}`, () => assert.equal(openSession(identity, sealSession(alice, session)), undefined));
  }

  test('that were opened before open for their owner at once, and for nobody else', () => {
    let calls = 0;
    const { sealer } = alice;
    const counting = { ...alice, sealer: { ...sealer, open: <T>(purpose: string, text: string) => ((calls += 1), sealer.open<T>(purpose, text)) } }; // prettier-ignore
    const sealed = sealSession(counting, session);
    const opened = openSession(counting, sealed);
    assert.deepEqual(opened, session);
    assert.equal(openSession({ ...counting }, Buffer.from(sealed).toString()), opened);
    assert.equal(calls, 1);
    for (const [name, identity] of Object.entries(others)) {
      const other = identity.sealer === sealer ? { ...identity, sealer: counting.sealer } : identity;
      assert.equal(openSession(other, sealed), undefined, name);
    }
    const end = sealed.endsWith('A') ? 'B' : 'A';
    assert.equal(openSession(counting, `${sealed.slice(0, -1)}${end}`), undefined);
    assert.equal(openSession(counting, sealed), opened);
  });

  test('are kept in bounds: what is forgotten is opened again', () => {
    const owner = { ...alice, sealer: { ...alice.sealer } };
    const seen = openSession(owner, sealSession(owner, session));
    assert.deepEqual(seen, session);
    const long = sealSession(owner, { sessionId: 'x'.repeat(60_000), tag: undefined });
    const before = openSession(owner, long);
    assert.equal(openSession(owner, long), before);
    for (let index = 0; index < 60; index += 1)
      openSession(owner, sealSession(owner, { sessionId: `${index}`.padEnd(60_000, 'x'), tag: undefined }));
    const again = openSession(owner, long);
    assert.notEqual(again, before);
    assert.deepEqual(again, before);
  });

  test('of the upstream itself are no sessions here', () => {
    for (const id of ['upstream-1', 'upstream-1~abcdef', '', 'x'.repeat(10_000)])
      assert.equal(openSession(alice, id), undefined);
  });

  test('property: any session survives, and any flipped character is refused', () => {
    const sealed = sealSession(alice, session);
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), (sessionId) => {
        assert.deepEqual(openSession(alice, sealSession(alice, { sessionId, tag: 'abcdef' })), {
          sessionId,
          tag: 'abcdef',
        });
      }),
    );
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.constantFrom('A', 'a', '0', '-', '_', '~'), (at, character) => {
        const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
        if (changed !== sealed) assert.equal(openSession(alice, changed), undefined);
      }),
    );
  });
});

describe('routing of bound sessions', () => {
  const answer = (tag: string | undefined = first.tag): string =>
    sealResponse(['content-type', 'x', 'Mcp-Session-Id', 'upstream-1'], tag, alice, undefined)[3]!;

  test('goes back to the endpoint, which sees its own id', () => {
    const route = routeSession(['accept', '*/*', 'mcp-session-id', answer(second.tag)], endpoints, 'stateful', alice);
    assert.ok(route.kind === 'session');
    assert.equal(route.endpoint, second);
    assert.deepEqual(route.headers, ['accept', '*/*', 'mcp-session-id', 'upstream-1']);
  });

  test('a session that is not this user’s is gone, like one that never was', () => {
    for (const identity of Object.values(others))
      assert.deepEqual(routeSession(['mcp-session-id', answer()], endpoints, 'stateful', identity), { kind: 'gone' });
    for (const id of ['upstream-1', `upstream-1~${first.tag}`])
      for (const routing of ['stateful', 'stateless'] as const)
        assert.deepEqual(routeSession(['mcp-session-id', id], endpoints, routing, alice), { kind: 'gone' });
  });

  test('is gone with its endpoint; without a tag the hash decides; stateless takes any', () => {
    assert.deepEqual(routeSession(['mcp-session-id', answer(first.tag)], [second], 'stateful', alice), {
      kind: 'gone',
    });
    const untagged = ['mcp-session-id', sealSession(alice, { sessionId: 'upstream-1', tag: undefined })];
    const chosen = routeSession(untagged, endpoints, 'stateful', alice);
    assert.ok(chosen.kind === 'session' && chosen.endpoint !== undefined);
    assert.deepEqual(routeSession(untagged, endpoints.toReversed(), 'stateful', alice), chosen);
    const any = routeSession(['mcp-session-id', answer()], endpoints, 'stateless', alice);
    assert.ok(any.kind === 'session' && any.endpoint === undefined);
  });

  test('no session and several', () => {
    assert.deepEqual(routeSession([], endpoints, 'stateful', alice), { kind: 'none' });
    const twice = ['mcp-session-id', answer(), 'Mcp-Session-Id', answer()];
    assert.deepEqual(routeSession(twice, endpoints, 'stateful', alice), { kind: 'invalid' });
  });

  test('a server that repeats its id gets the same one repeated to the client', () => {
    const sealed = answer();
    const route = routeSession(['mcp-session-id', sealed], endpoints, 'stateful', alice);
    assert.ok(route.kind === 'session');
    const repeated = sealResponse(['mcp-session-id', 'upstream-1'], first.tag, alice, route.known);
    assert.deepEqual(repeated, ['mcp-session-id', sealed]);
    for (const [id, tag] of [
      ['upstream-2', first.tag],
      ['upstream-1', second.tag],
    ] as const) {
      const [, other] = sealResponse(['mcp-session-id', id], tag, alice, route.known);
      assert.notEqual(other, sealed);
      assert.deepEqual(openSession(alice, other!), { sessionId: id, tag });
    }
    assert.deepEqual(sealResponse(['a', 'b'], first.tag, alice, route.known), ['a', 'b']);
  });
});

describe('message URLs of legacy SSE servers', () => {
  const url = writeMessageUrl({
    publicPath: '/mcp',
    query: '?a=b',
    target: '/messages?sessionId=1',
    tag: 'abcdef',
    signer: createBoundSigner(alice),
  });
  const query = url.slice(url.indexOf('?'));

  test('lead this user, and nobody else, to what was announced', () => {
    assert.match(url, /^\/mcp\?a=b&mcp-endpoint=[\w-]+$/);
    assert.deepEqual(readMessageTarget(query, createBoundSigner(alice)), {
      kind: 'valid',
      target: '/messages?sessionId=1',
      tag: 'abcdef',
    });
    for (const [name, identity] of Object.entries(others))
      assert.deepEqual(readMessageTarget(query, createBoundSigner(identity)), { kind: 'invalid' }, name);
  });

  test('are not session ids', () => {
    assert.equal(openSession(alice, createBoundSigner(alice).sign('abcdef', 'upstream-1')), undefined);
    assert.equal(createBoundSigner(alice).open(sealSession(alice, session)), undefined);
  });
});
