import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GuardedFetcher } from '../../base/fetch-json.ts';
import type { DocumentRegistrationResult } from '../config/shared-logins.ts';
import { CallChannel } from './call-channel.ts';
import { type LoginCalls, LoginDesk } from './login-desk.ts';
import { createRemoteLogins } from './remote-logins.ts';
import type { SupervisorCalls } from './worker-calls.ts';

const idle: GuardedFetcher = {
  fetch: () => assert.fail('nothing is to be fetched'),
  close: () => Promise.resolve(),
};

/** The logins of a worker, at the other end of a channel. */
function join(desk: LoginDesk, id = 'idp'): { logins: ReturnType<typeof createRemoteLogins>; leave: () => void } {
  const worker = {};
  const ends: { here?: CallChannel<SupervisorCalls, object>; there?: CallChannel<object, LoginCalls> } = {};
  ends.here = new CallChannel({ send: (message) => queueMicrotask(() => ends.there!.receive(message)) }, {});
  ends.there = new CallChannel(
    { send: (message) => queueMicrotask(() => ends.here!.receive(message)) },
    desk.serve(worker),
  );
  return {
    logins: createRemoteLogins(ends.here, id),
    leave() {
      ends.here!.close();
      desk.leave(worker);
    },
  };
}

const registered = (clientId: string): DocumentRegistrationResult => ({
  ok: true,
  idpClient: { clientId, authMethod: 'none', secret: undefined },
});

test('one limit for all workers, another one for another identity provider', async () => {
  const desk = new LoginDesk(idle, () => 0);
  const [one, two, other] = [join(desk).logins, join(desk).logins, join(desk, 'another').logins];
  assert.equal(await one.takeRegistration('192.0.2.1', 2), 0);
  assert.equal(await two.takeRegistration('192.0.2.1', 2), 0);
  assert.ok((await one.takeRegistration('192.0.2.1', 2)) > 0);
  assert.ok((await two.takeRegistration('192.0.2.1', 2)) > 0);
  assert.equal(await other.takeRegistration('192.0.2.1', 2), 0);
});

test('a document is fetched once, also when workers ask at the same time', async () => {
  const url = 'https://client.example.com/app';
  let fetches = 0;
  const desk = new LoginDesk({
    fetch() {
      fetches += 1;
      const body = JSON.stringify({ client_id: url, redirect_uris: ['https://client.example.com/back'] });
      const headers = new Map([['content-type', 'application/json']]);
      return Promise.resolve({ ok: true, status: 200, headers, body });
    },
    close: () => Promise.resolve(),
  });
  const [one, two] = [join(desk).logins, join(desk).logins];
  const loaded = await Promise.all([one, two, one].map((logins) => logins.loadDocument(url, '192.0.2.1', 60)));
  loaded.push(await two.loadDocument(url, '192.0.2.1', 60));
  assert.ok(loaded.every(({ ok }) => ok));
  assert.equal(fetches, 1);
});

test('a client is registered once, whichever worker it comes to', async () => {
  const desk = new LoginDesk(idle);
  const [one, two] = [join(desk).logins, join(desk).logins];
  const pending = Promise.withResolvers<DocumentRegistrationResult>();
  const first = one.findRegistration('client', () => pending.promise);
  const second = two.findRegistration('client', () => assert.fail('registered twice'));
  pending.resolve(registered('a'));
  assert.deepEqual(await first, registered('a'));
  assert.deepEqual(await second, registered('a'));
  assert.deepEqual(await two.findRegistration('client', () => assert.fail('registered again')), registered('a'));
  two.forgetRegistration('client');
  assert.deepEqual(await one.findRegistration('client', () => Promise.resolve(registered('b'))), registered('b'));
});

test('a registration that failed is tried again; those who waited share the failure', async () => {
  const desk = new LoginDesk(idle);
  const { logins } = join(desk);
  const failure = { ok: false, reason: 'idp_unavailable', detail: 'down' } as const;
  const both = [
    logins.findRegistration('client', () => Promise.resolve(failure)),
    logins.findRegistration('client', () => assert.fail('registered twice')),
  ];
  assert.deepEqual(await Promise.all(both), [failure, failure]);
  assert.deepEqual(await logins.findRegistration('client', () => Promise.resolve(registered('a'))), registered('a'));
});

test('what a worker had begun when it ended is up to the next', async () => {
  const desk = new LoginDesk(idle);
  const gone = join(desk);
  const begun = Promise.withResolvers<void>();
  void gone.logins
    .findRegistration('client', () => {
      begun.resolve();
      return new Promise(() => {});
    })
    .catch(() => {});
  await begun.promise;
  const next = join(desk).logins.findRegistration('client', () => Promise.resolve(registered('b')));
  gone.leave();
  assert.deepEqual(await next, registered('b'));
});

test('nobody to ask: the answer is no', async () => {
  const { logins, leave } = join(new LoginDesk(idle));
  leave();
  assert.ok((await logins.takeRegistration('192.0.2.1', 60)) > 0);
  assert.equal((await logins.loadDocument('https://a.example.com/b', '192.0.2.1', 60)).ok, false);
  assert.equal((await logins.findRegistration('client', () => assert.fail('registered'))).ok, false);
});
