// Two gateways of the flow Issuer, as processes, with one real redis-server: each step of a login at the other one, what works once works once wherever it is tried, and
// the server killed, hung, full, with another password and restarted in the middle of each step.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { startSampleServer } from '../../src/demo/sample-mcp-server.ts';
import { type AuthSetup, profileSetups, type StartedIdp } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { type FlowAnswer, FlowClient, postForm } from '../idp/flow-client.ts';
import { createSealKeyFile, describeProtectedGateway, type ProtectedBackend } from '../idp/protected-gateway.ts';
import { initialize, walkWithBreaks } from '../idp/stepwise-login.ts';
import { startTcpSwitch } from '../idp/tcp-switch.ts';
import { type RedisServer, startRedisServer } from '../kit/redis-server.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const names = ['Google', 'GitLab', 'GitHub, App', 'GitHub, OAuth app'] as const;
type Name = (typeof names)[number];
const pathOf = (name: Name): string => `/server-${names.indexOf(name)}`;
const findSetup = (name: Name): AuthSetup => profileSetups.find((setup) => setup.name === `a stub like ${name}`)!;

/** Two gateways with a server for each identity provider. */
interface Pair {
  readonly idps: Readonly<Record<Name, StartedIdp>>;
  readonly redis: RedisServer;
  readonly gateways: readonly [GatewayProcessRun, GatewayProcessRun];
  urlOf(name: Name): string;
  /** The next request goes to the other one. */
  turn(): void;
  /** Until both say so of their store. */
  waitForStore(isUp: boolean): Promise<void>;
  close(): Promise<void>;
}

/** What it writes survives a crash. */
const durable = { appendonly: 'yes', appendfsync: 'always' };

async function startPair(settings: Readonly<Record<string, string>>): Promise<Pair> {
  const ends: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    const front = await startTcpSwitch();
    ends.push(() => front.close());
    const origin = `http://127.0.0.1:${front.port}`;
    const mcpServer = await startSampleServer({ host: '127.0.0.1', port: 0 });
    ends.push(() => mcpServer.close());
    const target = new URL(mcpServer.url);
    const idps: Partial<Record<Name, StartedIdp>> = {};
    const backends: ProtectedBackend[] = [];
    const secrets: Record<string, string> = {};
    for (const name of names) {
      const idp = await findSetup(name).start(`${origin}/.oauth${pathOf(name)}/callback`);
      ends.push(() => idp.close());
      idps[name] = idp;
      const { authentication } = idp;
      backends.push({ path: pathOf(name), port: Number(target.port), targetPath: target.pathname, authentication });
      Object.assign(secrets, idp.secrets);
    }
    const redis = await startRedisServer({ settings });
    ends.push(() => redis.stop());
    const key = createSealKeyFile();
    ends.push(() => key.remove());
    const flags = ['--store', redis.url];
    const options = describeProtectedGateway({ backends, secrets, sealKeyFile: key.path, origin, flags });
    const start = async (): Promise<GatewayProcessRun> => {
      const gateway = await runGatewayProcess(options);
      ends.push(() => gateway.stop());
      return gateway;
    };
    const gateways = [await start(), await start()] as const;
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      front.pointTo(gateways[turns % 2]!.port);
    };
    turn();
    return {
      idps: idps as Record<Name, StartedIdp>,
      redis,
      gateways,
      urlOf: (name) => `${origin}${pathOf(name)}`,
      turn,
      waitForStore: async (isUp) => {
        for (const gateway of gateways)
          await waitFor(`the store is ${isUp ? 'up' : 'down'}`, async () => {
            // Asks the store, so that one without requests knows as well.
            await fetch(`http://127.0.0.1:${gateway.adminPort}/sessions?format=json`);
            return (await gateway.readMetric('mcp_gateway_store_up')) === (isUp ? 1 : 0);
          });
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

let pair: Pair;
before(async () => {
  pair = await startPair(durable);
});
after(() => pair?.close());

/** The same client at the token endpoints of both gateways at once. */
function askBoth(client: FlowClient, form: Readonly<Record<string, string>>): Promise<readonly FlowAnswer[]> {
  const { host, pathname } = new URL(client.url);
  return Promise.all(
    pair.gateways.map(({ url }) =>
      postForm(`${url}/.oauth${pathname}/token`, { client_id: client.clientId, ...form }, host),
    ),
  );
}

const refused = (answer: FlowAnswer): void => {
  assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_grant'], answer.body);
};
const unavailable = (answer: FlowAnswer): void => {
  assert.deepEqual([answer.status, answer.json()['error']], [503, 'temporarily_unavailable'], answer.body);
  assert.match(String(answer.headers['retry-after']), /^\d+$/);
};

for (const name of names)
  test(`like ${name}: each step of a login at the other gateway`, async () => {
    await walkWithBreaks(findSetup(name), pair.urlOf(name), () => {
      pair.turn();
      return Promise.resolve();
    });
  });

describe('what works once works once, whichever gateway is asked', () => {
  test('codes; refresh tokens; and a session that is ended at one is over at both at once', async () => {
    const { server } = pair.idps.GitLab;
    const client = await new FlowClient(pair.urlOf('GitLab')).prepare();
    const back = await client.logIn(new BrowserAgent());
    const redeemed = await askBoth(client, {
      grant_type: 'authorization_code',
      code: back.searchParams.get('code')!,
      redirect_uri: client.redirectUri,
      code_verifier: client.verifier,
    });
    assert.deepEqual(new Set(redeemed.map(({ status }) => status)), new Set([200, 400]));
    // RFC 6749 4.1.2: the identity provider ends what a code gave when it is tried again.
    await client.redeem(await client.logIn(new BrowserAgent()));

    for (let round = 0; round < 5; round += 1) {
      server.forget();
      const form = { grant_type: 'refresh_token', refresh_token: client.tokens!.refresh_token! };
      const answers = new Set<string>();
      await waitFor('both have tokens', async () => {
        const both = await askBoth(client, form);
        for (const answer of both) if (answer.status !== 200) unavailable(answer);
        for (const { status, body } of both) if (status === 200) answers.add(body);
        return both.every(({ status }) => status === 200);
      });
      assert.equal(answers.size, 1, 'the same answer for both');
      const asked = server.calls.filter(({ form: sent }) => sent.get('grant_type') === 'refresh_token');
      assert.equal(asked.length, 1, 'the identity provider was asked once');
      const [answer] = answers;
      client.tokens = JSON.parse(answer!) as typeof client.tokens;
    }

    const stolen = client.tokens!.refresh_token!;
    await client.refresh();
    pair.turn();
    await client.refresh();
    pair.turn();
    refused(await client.tryRefresh({ refresh_token: stolen }));
    for (const answer of await askBoth(client, {
      grant_type: 'refresh_token',
      refresh_token: client.tokens!.refresh_token!,
    }))
      refused(answer);

    await client.redeem(await client.logIn(new BrowserAgent()));
    const token = client.tokens!.refresh_token!;
    assert.equal(
      (await postForm(String(client.server!['revocation_endpoint']), { token, client_id: client.clientId })).status,
      200,
    );
    for (const answer of await askBoth(client, { grant_type: 'refresh_token', refresh_token: token })) refused(answer);
  });
});

/** How the server fails, and comes back. */
const faults = {
  killed: { begin: (redis: RedisServer) => redis.kill(), end: (redis: RedisServer) => redis.restart() },
  hung: {
    begin: (redis: RedisServer) => Promise.resolve(redis.pause()),
    end: (redis: RedisServer) => Promise.resolve(redis.resume()),
  },
  full: {
    // Less than it has in use.
    begin: (redis: RedisServer) => redis.run('CONFIG', 'SET', 'maxmemory', '100kb'),
    end: (redis: RedisServer) => redis.run('CONFIG', 'SET', 'maxmemory', '0'),
  },
  'with another password': {
    begin: async (redis: RedisServer) => {
      await redis.kill();
      await redis.restart({ requirepass: 'another' });
    },
    end: async (redis: RedisServer) => {
      await redis.kill();
      await redis.restart();
    },
  },
} as const;

describe('redis-server fails in the middle of a login', () => {
  for (const [fault, { begin, end }] of Object.entries(faults))
    test(`${fault}: only what needs it waits, nobody is logged out, and everything goes on where it was`, async () => {
      const { redis } = pair;
      const listComplaints = () =>
        pair.gateways.flatMap((gateway) => gateway.readLog()).filter(({ reason }) => reason === 'store_unavailable');
      const saidBefore = listComplaints().length;
      /** What needs no store goes on without it. */
      const without = async <T>(act: () => Promise<T>): Promise<T> => {
        pair.turn();
        await begin(redis);
        const value = await act();
        await end(redis);
        await pair.waitForStore(true);
        pair.turn();
        return value;
      };
      const client = new FlowClient(pair.urlOf('Google'));
      await without(() => client.getChallenge());
      await without(() => client.discoverResource());
      await without(() => client.discoverServer());
      await without(() => client.register());
      const back = await without(() => client.logIn(new BrowserAgent()));
      await without(async () => unavailable(await client.tryRedeem(back)));
      await client.redeem(back);
      const session = await without(() => initialize(client));
      const call = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };
      assert.equal((await without(() => client.post(call, session))).status, 200);
      await without(async () => unavailable(await client.tryRefresh()));
      await client.refresh();
      const form = { token: client.tokens!.refresh_token!, client_id: client.clientId };
      await without(async () =>
        assert.equal(
          (await postForm(String(client.server!['revocation_endpoint']), form)).status,
          // What is full can still remove.
          fault === 'full' ? 200 : 503,
        ),
      );
      assert.equal((await client.post(call, session)).status, 200);
      // Whoever is told 503 cannot know: a server that hung may have ended the session later.
      const last = await client.tryRefresh();
      if (last.status !== 200) refused(last);
      await client.redeem(await client.logIn(new BrowserAgent()));
      await client.refresh();
      assert.ok(listComplaints().length - saidBefore >= (fault === 'full' ? 2 : 3));
    });

  for (const [fault, { begin, end }] of Object.entries(faults))
    test(`${fault} after the identity provider has replaced its refresh token: the client gets its tokens, and the session goes on`, async () => {
      const { idps, redis } = pair;
      const { server } = idps.GitLab;
      const client = await new FlowClient(pair.urlOf('GitLab')).connect(new BrowserAgent());
      const { sub } = decodeJwt(client.tokens!.access_token);
      server.forget();
      server.pause();
      const refreshing = client.tryRefresh();
      await waitFor('the identity provider is asked', () => server.calls.length > 0);
      await begin(redis);
      server.resume();
      const answer = await refreshing;
      assert.equal(answer.status, 200, answer.body);
      client.tokens = answer.json() as unknown as typeof client.tokens;
      await end(redis);
      await pair.waitForStore(true);
      for (let round = 0; round < 3; round += 1) {
        pair.turn();
        await waitFor('the next one works', async () => {
          const next = await client.tryRefresh();
          if (next.status === 200) client.tokens = next.json() as unknown as typeof client.tokens;
          else unavailable(next);
          return next.status === 200;
        });
      }
      assert.equal(decodeJwt(client.tokens!.access_token).sub, sub);
    });

  test('restarted with nothing in it: sessions are over, tokens live on, and the next login works', async (t) => {
    const forgetful = await startPair({ appendonly: 'no' });
    t.after(() => forgetful.close());
    const client = await new FlowClient(forgetful.urlOf('GitLab')).connect(new BrowserAgent());
    const session = await initialize(client);
    await forgetful.redis.kill();
    await forgetful.waitForStore(false);
    await forgetful.redis.restart();
    await forgetful.waitForStore(true);
    refused(await client.tryRefresh());
    forgetful.turn();
    assert.equal((await client.post({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }, session)).status, 200);
    await client.redeem(await client.logIn(new BrowserAgent()));
    forgetful.turn();
    await client.refresh();
  });
});
