import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSealKey } from '../../../base/sealed.ts';
import { ClientSession, maxSessionIdLength, type SessionPlace } from './client-session.ts';
import { SessionTable } from './session-table.ts';
import { createFederation, createTarget } from './testing/federation-fixture.ts';

test('targets outlive changes that do not concern their connections', async () => {
  const fixture = createFederation({ a: {}, b: {} });
  await fixture.initialize();
  const { a, b } = fixture.targets;
  fixture.reconfigure((config) => ({
    ...config,
    targets: [
      { ...createTarget('a'), prefix: 'other' },
      { ...createTarget('b'), backend: { ...createTarget('b').backend, fingerprint: 'moved' } },
    ],
  }));
  assert.equal(fixture.targets['a'], a);
  assert.ok(!a!.isClosed);
  assert.notEqual(fixture.targets['b'], b);
  assert.ok(b!.isClosed);
  const session = await fixture.initialize();
  const talk = await fixture.ask(session, 'tools/call', { name: 'other_x' }).done;
  assert.ok(talk.json['result'] !== undefined);
  assert.equal(a!.calls.length, 1);
  const gone = await fixture.ask(session, 'tools/call', { name: 'a_x' }).done;
  assert.ok(gone.json['error'] !== undefined);
});

test('describes all targets, and those of a federation that nobody has asked', async () => {
  const { federations } = createFederation({ a: {}, b: {} });
  assert.deepEqual(
    federations.describe().map(({ backend }) => backend),
    ['ProxyBackend/default/all'],
  );
  await federations.find('ProxyBackend/default/all');
  assert.deepEqual(
    federations.describe()[0]!.targets.map(({ name, health }) => `${name} ${health}`),
    ['a unknown', 'b unknown'],
  );
  assert.equal(federations.find('ProxyBackend/default/none'), undefined);
  federations.close();
});

const place = (key: Uint8Array, table = new SessionTable()): SessionPlace => {
  const { federations } = createFederation({}, { keys: [key] });
  return { sealer: federations.sealer, table, backend: 'x', owner: 'ann' };
};

test('a session id is short, whatever is in it; the rest is in the table of the process', () => {
  const key = createSealKey();
  const here = place(key);
  const said = {
    version: '2025-11-25',
    clientInfo: JSON.stringify({ name: 'c', version: '1', icons: ['x'.repeat(9_000)] }),
    capabilities: JSON.stringify({ experimental: { x: 'y'.repeat(9_000) } }),
  };
  const session = ClientSession.begin(here, said);
  for (let count = 0; count < 128; count += 1)
    session.set(`target-${count}`, { id: `${count}`.padEnd(36, 'x'), tag: 'abcdef', version: '2025-11-25' });
  const id = session.seal();
  assert.ok(id.length <= maxSessionIdLength, String(id.length));
  const found = ClientSession.find(here, id)!;
  assert.equal(found.clientInfo, said.clientInfo);
  assert.equal(found.capabilities, said.capabilities);
  assert.ok(found.get('target-0') !== undefined && found.get('target-127') !== undefined);
  const elsewhere = ClientSession.find(place(key), id)!;
  assert.equal(elsewhere.clientInfo, '{"name":"c","version":"1"}');
  assert.equal(elsewhere.capabilities, '{}');
});

test('as many sessions of targets as fit', () => {
  const key = createSealKey();
  const session = ClientSession.begin(place(key), { version: '2025-11-25', clientInfo: undefined, capabilities: '{}' });
  const own = { id: '0123456789abcdef0123456789abcdef0123', tag: undefined, version: '2025-11-25' };
  for (let count = 0; count < 32; count += 1) session.set(`target-${count}`, own);
  const elsewhere = ClientSession.find(place(key), session.seal())!;
  assert.deepEqual(elsewhere.get('target-31'), own);
});

test('what begins later is known to this process only; the table is bounded', () => {
  const key = createSealKey();
  const table = new SessionTable(2);
  const here = place(key, table);
  const begin = (): string => {
    const session = ClientSession.begin(here, { version: '2025-11-25', clientInfo: undefined, capabilities: '{}' });
    const id = session.seal();
    ClientSession.find(here, id)!.set('a', { id: 'late', tag: undefined, version: '2025-11-25' });
    return id;
  };
  const first = begin();
  assert.equal(ClientSession.find(here, first)!.get('a')?.id, 'late');
  assert.equal(ClientSession.find(place(key), first)!.get('a'), undefined);
  begin();
  begin();
  assert.equal(table.size, 2);
  assert.equal(ClientSession.find(here, first)!.get('a'), undefined);
});
