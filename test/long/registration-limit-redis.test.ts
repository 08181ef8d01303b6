// The limit of registrations per address at two gateways that have a redis-server in common.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, type FlowAnswer } from '../idp/flow-client.ts';
import { likeProfile, startIssuerSite } from '../integration/issuer-fixture.ts';
import { startRedisServer } from '../kit/redis-server.ts';
import { waitFor } from '../kit/wait-for.ts';

test('whoever has registered at one gateway as often as allowed is refused at the other', async (t) => {
  const redis = await startRedisServer();
  t.after(() => redis.stop());
  const registration = { limits: { perMinute: 1 } };
  const flags = ['--trusted-proxies', '127.0.0.0/8', '--store', redis.url];
  const start = likeProfile('Google');
  const site = await startIssuerSite(
    {
      google: async (callback: string) => {
        const idp = await start(callback);
        const configured = idp.authentication['registration'] as object;
        return { ...idp, authentication: { ...idp.authentication, registration: { ...configured, ...registration } } };
      },
    },
    { flags },
  );
  t.after(() => site.close());
  const other = await site.addGateway();
  const register = (port: number, address: string): Promise<FlowAnswer> =>
    ask(`http://127.0.0.1:${port}/.oauth/google/register`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        host: new URL(site.urlOf('google')).host,
        'x-forwarded-for': address,
      },
      body: JSON.stringify({ redirect_uris: ['http://127.0.0.1:1/cb'], token_endpoint_auth_method: 'none' }),
    });
  let turn = 0;
  const next = (): string => `192.0.2.${(turn += 1)}`;
  // Another address each time: the other gateway itself has nothing against it. A new minute may begin in between.
  await waitFor('the other one refuses', async () => {
    const address = next();
    const first = await register(site.gateway.port, address);
    assert.equal(first.status, 201, first.body);
    const second = await register(other.port, address);
    if (second.status === 201) return false;
    assert.equal(second.status, 429, second.body);
    assert.match(String(second.headers['retry-after']), /^\d+$/);
    return true;
  });

  await redis.kill();
  const address = next();
  for (const { port } of [site.gateway, other]) {
    assert.equal((await register(port, address)).status, 201, 'each counts for itself');
    assert.equal((await register(port, address)).status, 429);
  }
});
