// Who gets configuration, and who does not: stolen, foreign and wrong tokens.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { ApiError, ApiUnreachableError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import type { PeerRequest, PeerVerdict } from '../xds/server.ts';
import { createPeerAuthorizer, type PeerAuthorizer, type PeerAuthorizerOptions } from './authorize-peer.ts';
import { createOwnUsername } from './own-username.ts';

interface Account {
  readonly username: string;
  readonly audiences?: readonly string[] | undefined;
  readonly pod?: { readonly name: string; readonly uid: string } | undefined;
}

const edge: Account = {
  username: 'system:serviceaccount:team:edge-proxy',
  audiences: ['proxy-xds'],
  pod: { name: 'edge-1', uid: 'u1' },
};

/** A token that says this of itself; whether it is true the API server knows. */
function makeToken(label: string, claims: object = {}): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return [{ alg: 'RS256' }, { sub: edge.username, aud: ['proxy-xds'], jti: label, ...claims }, label]
    .map(encode)
    .join('.');
}

const good = makeToken('good');

function readLabel(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[2]!, 'base64url').toString()) as string;
}

function createFixture(options: Partial<PeerAuthorizerOptions> = {}) {
  const clock = createManualClock();
  const tokens = new Map<string, Account>([[good, edge]]);
  const pods = new Map<string, KubernetesObject>([
    [
      'team/edge-1',
      {
        metadata: { name: 'edge-1', uid: 'u1' },
        status: { podIP: '10.1.0.7', podIPs: [{ ip: '10.1.0.7' }, { ip: 'fd00::0:7' }] },
      },
    ],
    ['proxy-system/proxy-2', { metadata: { name: 'proxy-2', uid: 'u2' }, status: { podIPs: [{ ip: '10.1.0.9' }] } }],
  ]);
  const calls: string[] = [];
  let isAway = false;
  const client: Pick<KubernetesClient, 'get' | 'post'> = {
    async get(_type, { namespace, name }) {
      calls.push(`get ${namespace}/${name}`);
      if (isAway) throw new ApiUnreachableError('connection refused');
      const pod = pods.get(`${namespace}/${name}`);
      if (pod === undefined)
        throw new ApiError('not found', { code: 404, reason: 'NotFound', message: '', retryAfterSeconds: undefined });
      return pod;
    },
    async post(path, body) {
      if (isAway) throw new ApiUnreachableError('connection refused');
      if (path.endsWith('/selfsubjectreviews')) {
        calls.push('self');
        return {
          metadata: { name: '' },
          status: { userInfo: { username: 'system:serviceaccount:proxy-system:proxy' } },
        };
      }
      const { spec } = body as { spec: { token: string; audiences: string[] } };
      calls.push(`review ${readLabel(spec.token)} for ${spec.audiences.join()}`);
      const account = tokens.get(spec.token);
      if (account === undefined)
        return { metadata: { name: '' }, status: { authenticated: false, error: 'token has expired' } };
      return {
        metadata: { name: '' },
        status: {
          authenticated: true,
          audiences: account.audiences,
          user: {
            username: account.username,
            extra:
              account.pod === undefined
                ? {}
                : {
                    'authentication.kubernetes.io/pod-name': [account.pod.name],
                    'authentication.kubernetes.io/pod-uid': [account.pod.uid],
                  },
          },
        },
      };
    },
  };
  const authorizer = createPeerAuthorizer({
    client,
    findOwnUsername: createOwnUsername(client),
    clock,
    installationNamespace: 'proxy-system',
    verifyPodAddress: true,
    findServiceAccount: (gateway) =>
      gateway === 'team/edge' ? { state: 'known', name: 'edge-proxy' } : { state: 'unknown' },
    ...options,
  });
  return { authorizer, tokens, pods, calls, clock, setAway: (away: boolean) => (isAway = away) };
}

const peer: PeerRequest = { nodeId: 'edge-1', gateway: 'team/edge', token: good, peerAddress: '10.1.0.7' };

function assertRefused(verdict: PeerVerdict, code: string, reason: RegExp): void {
  assert.ok(!verdict.allowed);
  assert.equal(verdict.code, code);
  assert.match(verdict.reason, reason);
  assert.ok(!verdict.reason.includes(good), 'the reason has the token in it');
}

describe('gateways', () => {
  test('the pod of a Gateway gets its configuration, over IPv4, IPv6 and IPv4 inside IPv6', async () => {
    const { authorizer, calls } = createFixture();
    for (const peerAddress of ['10.1.0.7', '::ffff:10.1.0.7', 'fd00::7'])
      assert.deepEqual(await authorizer.authorizeGateway({ ...peer, peerAddress }), { allowed: true });
    assert.equal(calls[0], 'review good for proxy-xds');
  });

  test('without a token, nothing', async () => {
    const { authorizer, calls } = createFixture();
    for (const token of [undefined, ''])
      assertRefused(await authorizer.authorizeGateway({ ...peer, token }), 'unauthenticated', /no token/);
    assert.deepEqual(calls, []);
  });

  test('a token that the API server does not accept', async () => {
    const { authorizer } = createFixture();
    assertRefused(
      await authorizer.authorizeGateway({ ...peer, token: makeToken('made up') }),
      'unauthenticated',
      /does not accept the token: token has expired/,
    );
    assertRefused(
      await authorizer.authorizeGateway({ ...peer, token: 'x'.repeat(20_000) }),
      'unauthenticated',
      /too long/,
    );
  });

  test('a token for another audience, or an API server that does not look at audiences', async () => {
    for (const audiences of [['https://kubernetes.default.svc'], [], undefined]) {
      const { authorizer, tokens } = createFixture();
      tokens.set(good, { ...edge, audiences });
      assertRefused(await authorizer.authorizeGateway(peer), 'unauthenticated', /not for the audience proxy-xds/);
    }
  });

  test('a token of another Gateway, of another namespace, of a person', async () => {
    for (const username of [
      'system:serviceaccount:team:other-proxy',
      'system:serviceaccount:elsewhere:edge-proxy',
      'system:serviceaccount:team:default',
      'admin',
    ]) {
      const { authorizer, tokens } = createFixture();
      // Whatever the token says of itself.
      for (const sub of [username, edge.username]) {
        const token = makeToken('good', { sub });
        tokens.set(token, { ...edge, username });
        assertRefused(
          await authorizer.authorizeGateway({ ...peer, token }),
          'permission_denied',
          /must belong to system:serviceaccount:team:edge-proxy/,
        );
      }
    }
  });

  test('what cannot be good by its own words is not reviewed', async () => {
    const { authorizer, calls } = createFixture();
    for (const [token, code] of [
      ['made up', 'unauthenticated'],
      ['a.b', 'unauthenticated'],
      ['a.b.c', 'unauthenticated'],
      [`e30.${Buffer.from('null').toString('base64url')}.x`, 'unauthenticated'],
      [makeToken('x', { aud: 'https://kubernetes.default.svc' }), 'unauthenticated'],
      [makeToken('x', { aud: undefined }), 'unauthenticated'],
      [makeToken('x', { sub: 'system:serviceaccount:team:other' }), 'permission_denied'],
      [makeToken('x', { sub: undefined }), 'permission_denied'],
    ] as const)
      assertRefused(await authorizer.authorizeGateway({ ...peer, token }), code, /token/);
    assert.deepEqual(calls, []);
  });

  test('when the token expires is known, if it says so', async () => {
    const { authorizer, tokens } = createFixture();
    const token = makeToken('good', { aud: 'proxy-xds', exp: 1_800_000_000 });
    tokens.set(token, edge);
    assert.deepEqual(await authorizer.authorizeGateway({ ...peer, token }), {
      allowed: true,
      expiresAt: 1_800_000_000_000,
    });
  });

  test('a token that was stolen from a pod is of no use elsewhere', async () => {
    const { authorizer } = createFixture();
    assertRefused(
      await authorizer.authorizeGateway({ ...peer, peerAddress: '10.1.0.66' }),
      'permission_denied',
      /10\.1\.0\.66 is not an address of pod team\/edge-1/,
    );
    assertRefused(
      await authorizer.authorizeGateway({ ...peer, nodeId: 'edge-2' }),
      'permission_denied',
      /belongs to pod edge-1, not to edge-2/,
    );
  });

  test('a token of a pod that is gone, or that was made anew', async () => {
    const { authorizer, pods } = createFixture();
    pods.set('team/edge-1', { metadata: { name: 'edge-1', uid: 'another' }, status: { podIP: '10.1.0.7' } });
    assertRefused(await authorizer.authorizeGateway(peer), 'permission_denied', /earlier pod/);
    const second = createFixture();
    second.pods.clear();
    assertRefused(await second.authorizer.authorizeGateway(peer), 'permission_denied', /there is no pod/);
  });

  test('a pod whose address is not known yet tries again', async () => {
    const { authorizer, pods } = createFixture();
    const pod = pods.get('team/edge-1')!;
    pods.set('team/edge-1', { ...pod, status: {} });
    assertRefused(await authorizer.authorizeGateway(peer), 'unavailable', /no address yet/);
    pods.set('team/edge-1', pod);
    assert.deepEqual(await authorizer.authorizeGateway(peer), { allowed: true });
  });

  test('addresses are not looked at when that is switched off, names of pods are', async () => {
    const { authorizer, calls } = createFixture({ verifyPodAddress: false });
    assert.deepEqual(await authorizer.authorizeGateway({ ...peer, peerAddress: '192.0.2.1' }), { allowed: true });
    assertRefused(
      await authorizer.authorizeGateway({ ...peer, nodeId: 'edge-2' }),
      'permission_denied',
      /not to edge-2/,
    );
    assert.ok(!calls.some((call) => call.startsWith('get')));
  });

  test('a token that is bound to no pod is of no use, unless pods are not looked at', async () => {
    for (const verifyPodAddress of [true, false]) {
      const { authorizer, tokens } = createFixture({ verifyPodAddress });
      tokens.set(good, { ...edge, pod: undefined });
      const verdict = await authorizer.authorizeGateway(peer);
      if (verifyPodAddress) assertRefused(verdict, 'permission_denied', /not bound to a pod/);
      else assert.deepEqual(verdict, { allowed: true });
    }
  });

  test('a Gateway that is not served, and a controller that does not know yet', async () => {
    const { authorizer } = createFixture();
    assertRefused(
      await authorizer.authorizeGateway({ ...peer, gateway: 'team/other' }),
      'permission_denied',
      /not served/,
    );
    const early = createFixture({ findServiceAccount: () => ({ state: 'not-synced' }) });
    assertRefused(await early.authorizer.authorizeGateway(peer), 'unavailable', /still reading/);
  });

  test('an API server that is away lets nobody in whom it did not let in a moment ago', async () => {
    const { authorizer, clock, setAway } = createFixture();
    setAway(true);
    assertRefused(await authorizer.authorizeGateway(peer), 'unavailable', /cannot be reviewed: connection refused/);
    setAway(false);
    assert.deepEqual(await authorizer.authorizeGateway(peer), { allowed: true });
    setAway(true);
    await clock.advance(29_000);
    assert.deepEqual(await authorizer.authorizeGateway(peer), { allowed: true });
    await clock.advance(1_000);
    assertRefused(await authorizer.authorizeGateway(peer), 'unavailable', /cannot be reviewed/);
  });
});

describe('what is remembered', () => {
  test('a good answer for 30 s, a bad one for 5 s, one question for many askers', async () => {
    const { authorizer, calls, clock, tokens } = createFixture();
    const count = (): number => calls.filter((call) => call.startsWith('review')).length;
    await Promise.all(Array.from({ length: 50 }, () => authorizer.authorizeGateway(peer)));
    assert.equal(count(), 1);
    await clock.advance(30_000);
    await authorizer.authorizeGateway(peer);
    assert.equal(count(), 2);
    const late = makeToken('late');
    await authorizer.authorizeGateway({ ...peer, token: late });
    await clock.advance(4_999);
    await authorizer.authorizeGateway({ ...peer, token: late });
    assert.equal(count(), 3);
    tokens.set(late, edge);
    await clock.advance(1);
    assert.deepEqual(await authorizer.authorizeGateway({ ...peer, token: late }), { allowed: true });
  });

  const flood = (authorizer: PeerAuthorizer, count: number, address: (index: number) => string) =>
    Array.from({ length: count }, (_, index) =>
      authorizer.authorizeGateway({ ...peer, token: makeToken(`guess ${index}`), peerAddress: address(index) }),
    );

  test('a flood of tokens does not become one at the API server', async () => {
    const { authorizer, calls } = createFixture();
    const verdicts = await Promise.all(flood(authorizer, 1_000, (index) => `10.2.0.${index % 100}`));
    assert.equal(calls.length, 64);
    assert.ok(verdicts.every(({ allowed }) => !allowed));
  });

  test('a flood from one address does not keep others from being heard', async () => {
    const { authorizer, calls } = createFixture();
    const verdicts = flood(authorizer, 1_000, () => '10.2.0.1');
    assert.deepEqual(await authorizer.authorizeGateway(peer), { allowed: true });
    await Promise.all(verdicts);
    assert.equal(calls.filter((call) => call.startsWith('review guess')).length, 16);
  });

  test('a flood from everywhere does not shut out those who were let in before', async () => {
    const { authorizer, clock } = createFixture();
    assert.deepEqual(await authorizer.authorizeGateway(peer), { allowed: true });
    // More guesses than are remembered, and the good answer is an old one by now.
    for (let round = 0; round < 200; round += 1) await Promise.all(flood(authorizer, 64, (index) => `10.2.0.${index}`));
    await clock.advance(60_000);
    const verdicts = flood(authorizer, 64, (index) => `10.2.1.${index}`);
    assert.deepEqual(await authorizer.authorizeGateway(peer), { allowed: true });
    await Promise.all(verdicts);
  });
});

describe('replicas', () => {
  const replicaToken = makeToken('replica', { sub: 'system:serviceaccount:proxy-system:proxy' });
  const replica: PeerRequest = { nodeId: 'proxy-2', gateway: '', token: replicaToken, peerAddress: '10.1.0.9' };
  const account: Account = {
    username: 'system:serviceaccount:proxy-system:proxy',
    audiences: ['proxy-xds'],
    pod: { name: 'proxy-2', uid: 'u2' },
  };

  test('another replica of this controller may relay', async () => {
    const { authorizer, tokens, calls } = createFixture();
    tokens.set(replicaToken, account);
    assert.deepEqual(await authorizer.authorizeReplica(replica), { allowed: true });
    assert.deepEqual(await authorizer.authorizeReplica(replica), { allowed: true });
    assert.equal(calls.filter((call) => call === 'self').length, 1);
  });

  test('a gateway may not, nor anybody from elsewhere', async () => {
    const { authorizer, tokens } = createFixture();
    assertRefused(
      await authorizer.authorizeReplica(peer),
      'permission_denied',
      /must belong to system:serviceaccount:proxy-system:proxy/,
    );
    tokens.set(replicaToken, account);
    assertRefused(
      await authorizer.authorizeReplica({ ...replica, peerAddress: '10.1.0.7' }),
      'permission_denied',
      /not an address/,
    );
  });

  test('a controller that cannot read its own username lets nobody relay', async () => {
    const { authorizer, setAway } = createFixture();
    setAway(true);
    assertRefused(await authorizer.authorizeReplica(replica), 'unavailable', /cannot read its own username/);
  });
});
