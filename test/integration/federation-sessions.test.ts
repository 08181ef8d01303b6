// Sessions of clients with a federation: whose they are, what another replica knows of them, and what happens when a server has lost its own.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { initialize, openStream, post, printError, request } from './federation-fixture.ts';

const gone = '-32001 Session not found';

describe('two replicas that share nothing but the seal key', () => {
  let tickets: FederationServer;
  let crm: FederationServer;
  let folder: string;
  let first: GatewayRun;
  let second: GatewayRun;

  before(async () => {
    tickets = await startFederationServer({ name: 'tickets', era: 'legacy' });
    crm = await startFederationServer({ name: 'crm', era: 'legacy' });
    folder = mkdtempSync(join(tmpdir(), 'federation-sessions-'));
    const flags = ['--seal-key-file', join(folder, 'key'), '--log-format', 'json'];
    const targets = { tickets: { url: tickets.url }, crm: { url: crm.url } };
    first = await startFederatedGateway({ targets, flags });
    second = await startFederatedGateway({ targets, flags });
  });
  after(async () => {
    await Promise.all([first.stop(), second.stop()]);
    await Promise.all([tickets.close(), crm.close()]);
    rmSync(folder, { recursive: true });
  });

  const call = (gateway: GatewayRun, session: string, name: string) =>
    post(gateway, request('tools/call', { name, arguments: {} }), { session });

  test('a session begun at one goes on at the other, in the same sessions of the servers', async () => {
    const session = await initialize(first);
    tickets.forgetRequests();
    const answer = await call(second, session, 'tickets_where');
    assert.ok(answer.messages.at(-1)?.result);
    assert.equal(tickets.listRequests('initialize').length, 0);
  });

  test('also where a server has lost its session meanwhile: begun again once, and kept', async () => {
    const session = await initialize(first);
    crm.forgetSessions();
    crm.forgetRequests();
    const counted = listBegunAgain(second).length;
    assert.ok((await call(second, session, 'crm_where')).messages.at(-1)?.result);
    assert.ok((await call(second, session, 'crm_where')).messages.at(-1)?.result);
    assert.equal(crm.listRequests('initialize').length, 1);
    assert.ok((await call(second, session, 'tickets_where')).messages.at(-1)?.result);
    // The client sees nothing of it; whoever misses what the server kept in it reads why.
    await waitFor('the line', () => listBegunAgain(second).length > counted);
    assert.deepEqual(listBegunAgain(second).slice(counted), [['info', 'ProxyBackend/default/all', 'crm']]);
    assert.deepEqual(listBegunAgain(first), []);
  });

  test('DELETE ends those of the servers, and the id is one that never existed', async () => {
    const session = await initialize(first);
    const sessions = tickets.sessionCount;
    const stream = await openStream(first, { session });
    const ended = await fetch(first.urlOf('/mcp'), { method: 'DELETE', headers: { 'mcp-session-id': session } });
    assert.equal(ended.status, 200);
    await waitFor('the server has ended it', () => tickets.sessionCount < sessions);
    const answer = await call(first, session, 'tickets_where');
    assert.deepEqual([answer.status, printError(answer)], [404, gone]);
    await waitFor('the stream has ended', () => stream.isOver);
  });

  test('after DELETE at one, the other one begins new sessions for the same client: a sealed id cannot be taken back', async () => {
    const session = await initialize(first);
    const sessions = tickets.sessionCount;
    await fetch(first.urlOf('/mcp'), { method: 'DELETE', headers: { 'mcp-session-id': session } });
    await waitFor('the server has ended it', () => tickets.sessionCount < sessions);
    tickets.forgetRequests();
    // The session that the id still names is gone at the server, and whatever was in it.
    assert.ok((await call(second, session, 'tickets_where')).messages.at(-1)?.result);
    assert.equal(tickets.listRequests('initialize').length, 1);
    assert.equal(tickets.sessionCount, sessions);
    const answer = await call(first, session, 'tickets_where');
    assert.deepEqual([answer.status, printError(answer)], [404, gone]);
    const ended = await fetch(second.urlOf('/mcp'), { method: 'DELETE', headers: { 'mcp-session-id': session } });
    assert.equal(ended.status, 200);
    const later = await call(second, session, 'tickets_where');
    assert.deepEqual([later.status, printError(later)], [404, gone]);
  });

  test('cut, altered, invented', async () => {
    const session = await initialize(first);
    const middle = session.length >> 1;
    const altered = `${session.slice(0, middle)}${session[middle] === 'A' ? 'B' : 'A'}${session.slice(middle + 1)}`;
    for (const id of [session.slice(0, -3), altered, 'x', `${session}.`]) {
      const answer = await call(first, id, 'tickets_where');
      assert.deepEqual([answer.status, printError(answer)], [404, gone]);
    }
    const none = await post(first, request('tools/list'));
    assert.deepEqual([none.status, printError(none)], [400, '-32000 Bad Request: Mcp-Session-Id header is required']);
  });

  test('of another backend', async (t) => {
    const other = await startFederatedGateway({
      targets: { tickets: { url: tickets.url }, crm: { url: crm.url } },
      flags: ['--seal-key-file', join(folder, 'key')],
      name: 'other',
    });
    t.after(() => other.stop());
    const session = await initialize(first);
    const answer = await call(other, session, 'tickets_where');
    assert.deepEqual([answer.status, printError(answer)], [404, gone]);
  });

  test('what a client says of itself can be too long for an id', async () => {
    const body = request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { experimental: { x: { text: 'y'.repeat(5_000) } } },
      clientInfo: { name: 'long', version: '1', title: 'z'.repeat(5_000) },
    });
    const { headers } = await post(first, body);
    const session = headers.get('mcp-session-id')!;
    assert.ok(session.length <= 4_096, String(session.length));
    assert.ok((await call(first, session, 'crm_where')).messages.at(-1)?.result);
    assert.ok((await call(second, session, 'crm_where')).messages.at(-1)?.result);
  });
});

/** What the log says of sessions that servers have lost. */
function listBegunAgain(gateway: GatewayRun): readonly unknown[] {
  return gateway
    .readLog()
    .filter(({ msg }) => msg === 'a server of a federation has lost a session; it was begun again')
    .map(({ level, backend, target }) => [level, backend, target]);
}

test('the session of one caller is no session of another one', async (t) => {
  const issuer = createIssuer('https://idp.example');
  const server = await startFederationServer({ name: 'tickets', era: 'legacy' });
  const gateway = await startFederatedGateway({
    targets: { tickets: { url: server.url }, crm: { url: server.url } },
    resources: [
      {
        apiVersion: 'gateway.proxy/v1alpha1',
        kind: 'ProxyPolicy',
        metadata: { name: 'login' },
        spec: {
          targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'all' }],
          traffic: { jwtAuthentication: { providers: [providerOf('corp', issuer)] } },
        },
      },
    ],
  });
  t.after(async () => {
    await gateway.stop();
    await server.close();
  });
  const [ann, bob] = await Promise.all([issuer.sign({ sub: 'ann' }), issuer.sign({ sub: 'bob' })]);
  const session = await initialize(gateway, { token: ann });
  const list = async (token: string) => post(gateway, request('tools/list'), { session, token });
  assert.equal((await list(ann)).status, 200);
  const answer = await list(bob);
  assert.deepEqual([answer.status, printError(answer)], [404, gone]);
});
