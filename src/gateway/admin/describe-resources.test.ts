import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { adminConfiguration, hiddenKeyLine, hiddenValue } from '../../../test/integration/admin-configuration.ts';
import { emptyConfiguration } from '../../ir/configuration.ts';
import { answerConfigPage } from './config-page.ts';
import { describeResources } from './describe-resources.ts';

describe('the configuration in the words of its resources', () => {
  const resources = describeResources(adminConfiguration);
  const find = (kind: string, name: string) => resources.find((each) => each.kind === kind && each.name === name);

  test('has the kinds and names that operators wrote', () => {
    assert.deepEqual(
      resources.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
      [
        'Gateway default/gw',
        'HTTPRoute default/tickets',
        'HTTPRoute default/broken',
        'Service default/tickets',
        'ProxyPolicy default/browsers',
        'Secret default/tls',
        'ConfigMap default/ca',
      ],
    );
  });

  test('has their fields', () => {
    assert.deepEqual(find('Gateway', 'gw')?.spec, {
      addresses: [{ type: 'IPAddress', value: '127.0.0.1' }],
      listeners: [
        {
          name: 'https',
          hostname: '*.mcp.example',
          port: 8443,
          protocol: 'HTTPS',
          tls: { certificateRefs: [{ kind: 'Secret', name: 'tls' }] },
        },
      ],
    });
    const route = find('HTTPRoute', 'tickets')?.spec as { rules: { matches: object[]; backendRefs: object[] }[] };
    assert.deepEqual(route.rules[0]!.matches[1], {
      path: { type: 'Exact', value: '/mcp/exact' },
      method: 'POST',
      headers: [
        { name: 'x-api-key', type: 'Exact', value: '[redacted]' },
        { name: 'x-team', type: 'RegularExpression', value: 'a|b' },
      ],
      queryParams: [{ name: 'v', type: 'Exact', value: '2' }],
    });
    assert.deepEqual(route.rules[0]!.backendRefs[0], { kind: 'Service', name: 'tickets', port: 80, weight: 9 });
    assert.deepEqual(find('ProxyPolicy', 'browsers')?.spec, {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'tickets' }],
      traffic: { cors: { allowOrigins: ['https://app.example'], allowCredentials: false, maxAge: 0 } },
    });
  });

  test('says what does not work', () => {
    assert.deepEqual(find('HTTPRoute', 'broken')?.problems, [
      'rules[0] answers 500 route_invalid: a filter is not valid',
    ]);
    assert.deepEqual(find('HTTPRoute', 'tickets')?.problems, [
      'rules[0].backendRefs[1] answers 500 backend_invalid: no such Service',
    ]);
  });

  test('hides what is secret, on the page too', () => {
    const page = answerConfigPage(adminConfiguration, 7).body;
    for (const text of [JSON.stringify(resources), page]) {
      assert.equal(text.includes(hiddenValue), false);
      assert.equal(text.includes(hiddenKeyLine), false);
      assert.doesNotMatch(text, /BEGIN/);
    }
    assert.match(page, /Version 7, as it is in force/);
    assert.match(page, /<a href="#kind-HTTPRoute">2 HTTPRoutes<\/a>/);
  });

  test('hostile texts stay texts, and nothing is nothing', () => {
    const [listener] = adminConfiguration.listeners;
    const gateway = 'default/<img src=x onerror=alert(1)>';
    const page = answerConfigPage(
      { ...emptyConfiguration, listeners: [{ ...listener!, gateway, name: gateway }] },
      1,
    ).body;
    assert.doesNotMatch(page, /<img/);
    assert.match(answerConfigPage(emptyConfiguration, 0).body, /Nothing is configured/);
  });
});
