// Policies that cannot be enforced close what they should guard: JWT authentication, rules over requests, rules over messages.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { listTools } from '../idp/flow-client.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { createReadMarker } from '../kit/read-marker.ts';
import { waitFor } from '../kit/wait-for.ts';
import { backendPolicy, type GuardedGateway, routePolicy, startGuardedGateway } from './guarded-gateway.ts';

const provider = createIssuer('https://idp.example.com', { algorithm: 'ES256' });
const jwt = { jwtAuthentication: { providers: [providerOf('idp', provider)] } };
const allow = (...matchExpressions: readonly string[]): object => ({ action: 'Allow', policy: { matchExpressions } });

/** By name of the route that each is for: the policy, and the answer to a good token and to none. */
const broken: Readonly<Record<string, { readonly policies: readonly object[]; readonly error: string }>> = {
  'unknown-mode': {
    policies: [routePolicy('unknown-mode', { jwtAuthentication: { ...jwt.jwtAuthentication, mode: 'Sometimes' } })],
    error: '500 policy_invalid',
  },
  'no-providers': {
    policies: [routePolicy('no-providers', { jwtAuthentication: { providers: [] } })],
    error: '500 policy_invalid',
  },
  'no-usable-key': {
    policies: [
      routePolicy('no-usable-key', {
        jwtAuthentication: {
          providers: [
            providerOf('idp', provider, { jwks: { inline: '{"keys":[{"kty":"OKP","crv":"X25519","x":"AA"}]}' } }),
          ],
        },
      }),
    ],
    error: '500 policy_invalid',
  },
  'symmetric-key': {
    policies: [
      routePolicy('symmetric-key', {
        jwtAuthentication: {
          mode: 'Permissive',
          providers: [providerOf('idp', provider, { jwks: { inline: '{"keys":[{"kty":"oct","k":"AA"}]}' } })],
        },
      }),
    ],
    error: '500 policy_invalid',
  },
  'section-that-is-not-there': {
    policies: [
      routePolicy('section-that-is-not-there', { authorization: allow('true') }),
      {
        apiVersion: 'gateway.proxy/v1alpha1',
        kind: 'ProxyPolicy',
        metadata: { name: 'section-that-is-not-there-rule' },
        spec: {
          targetRefs: [
            {
              group: 'gateway.networking.k8s.io',
              kind: 'HTTPRoute',
              name: 'section-that-is-not-there',
              sectionName: 'misspelled',
            },
          ],
          traffic: { authorization: allow('jwt.sub == "alice"') },
        },
      },
    ],
    error: '500 policy_invalid',
  },
  'expression-that-is-none': {
    policies: [routePolicy('expression-that-is-none', { ...jwt, authorization: allow('jwt.sub ==') })],
    error: '500 policy_invalid',
  },
  'expression-with-an-unknown-variable': {
    policies: [
      routePolicy('expression-with-an-unknown-variable', { ...jwt, authorization: allow('jtw.sub == "alice"') }),
    ],
    error: '500 policy_invalid',
  },
  'expression-that-is-no-condition': {
    policies: [routePolicy('expression-that-is-no-condition', { ...jwt, authorization: allow('"alice"') })],
    error: '500 policy_invalid',
  },
  'message-rule-that-is-none': {
    policies: [backendPolicy('message-rule-that-is-none', { authorization: allow('mcp.tool.nmae == "x"', 'mcp.') })],
    error: '500 policy_invalid',
  },
  'good-rule-beside-a-bad-one': {
    policies: [
      routePolicy('good-rule-beside-a-bad-one', { ...jwt, authorization: allow('true') }),
      routePolicy('good-rule-beside-a-bad-one', { authorization: { action: 'Deny', policy: {} } }, 'second'),
    ],
    error: '500 policy_invalid',
  },
};

describe('policy not yet programmed: what has a rejected policy is never reachable without it', () => {
  let guarded: GuardedGateway;
  before(async () => {
    const routes = Object.keys(broken);
    guarded = await startGuardedGateway({
      routes,
      policies: Object.values(broken).flatMap(({ policies }) => policies),
    });
  });
  after(() => guarded?.close());

  for (const [route, { error }] of Object.entries(broken)) {
    test(`${route.replaceAll('-', ' ')} -> ${error}`, async () => {
      guarded.upstream.forget();
      const answer = await guarded.post(`/${route}`, await provider.sign(), listTools);
      assert.equal(`${answer.status} ${String(answer.json()['error'])}`, error);
      const anonymous = await guarded.post(`/${route}`, undefined, listTools);
      assert.ok([401, 500, 503].includes(anonymous.status), anonymous.body);
      assert.equal(guarded.upstream.headCount, 0);
    });
  }
});

describe('truncated configuration file: an emptied file keeps what guards; only deleting a policy removes it', () => {
  for (const [name, policies, error] of [
    ['JWT authentication', [routePolicy('mcp', jwt)], '401 missing_token'],
    ['rules over requests', [routePolicy('mcp', { authorization: allow('jwt.sub == "alice"') })], '403 rbac_denied'],
    ['rules over messages', [backendPolicy('mcp', { authorization: allow('jwt.sub == "alice"') })], '403 rbac_denied'],
  ] as const) {
    test(name, async (t) => {
      const marker = createReadMarker();
      t.after(() => marker.remove());
      const guarded = await startGuardedGateway({ routes: ['mcp'], policies, flags: marker.flags });
      t.after(() => guarded.close());
      const assertGuarded = async (): Promise<void> => {
        guarded.upstream.forget();
        const answer = await guarded.post('/mcp', undefined, listTools);
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, error);
        assert.equal(guarded.upstream.headCount, 0);
      };
      await assertGuarded();
      const file = join(guarded.run.folder, 'gateway.yaml');
      const whole = guarded
        .resources(policies)
        .map((each) => JSON.stringify(each))
        .join('\n---\n');
      for (const content of ['', '---\n', whole.slice(0, -40), whole.slice(0, -1)]) {
        writeFileSync(file, content);
        await marker.waitUntilRead(guarded.run);
        await assertGuarded();
      }
      guarded.run.write(guarded.resources([]));
      await waitFor(async () => (await guarded.post('/mcp', undefined, listTools)).status === 200);
    });
  }
});
