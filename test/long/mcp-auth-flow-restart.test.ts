// Nothing of a login is kept in a gateway: it may be restarted between any two steps, and any other gateway with the same key may answer the next one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oidcProviderSetups, profileSetups } from '../idp/auth-setups.ts';
import { startProtectedSystem } from '../idp/protected-system.ts';
import { walkWithBreaks } from '../idp/stepwise-login.ts';

// One of each flow that the gateway has a part in.
const names = new Set([
  'oidc-provider',
  'oidc-provider without iss',
  'oidc-provider without registration (Shared)',
  'a stub like Google',
  'a stub like GitHub, App',
]);
const setups = [...oidcProviderSetups, ...profileSetups].filter(({ name }) => names.has(name));

for (const setup of setups) {
  test(`${setup.name}: the gateway is restarted between any two steps`, async (t) => {
    const system = await startProtectedSystem({ startIdp: (callback) => setup.start(callback) });
    t.after(() => system.close());
    let restarts = 0;
    await walkWithBreaks(setup, system.url, async () => {
      restarts += 1;
      await system.restart();
    });
    assert.ok(restarts >= 12);
  });

  test(`${setup.name}: two gateways with the same key answer in turn`, async (t) => {
    const system = await startProtectedSystem({ startIdp: (callback) => setup.start(callback) });
    t.after(() => system.close());
    const ports = [system.gateway.port, (await system.addReplica()).port];
    let turn = 0;
    await walkWithBreaks(setup, system.url, async () => {
      turn += 1;
      system.front.pointTo(ports[turn % 2]!);
    });
  });
}
