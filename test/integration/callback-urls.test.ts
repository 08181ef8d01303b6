// The redirect URI that has to be entered at the identity provider is named wherever an operator may look: one for each hostname, and where the policy says what the
// server is called, that host's.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkCommand } from '../../src/cmd/check.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

function protect(name: string, more: object = {}): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: {
      targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name }],
      backend: {
        mcp: {
          authentication: {
            // Nobody answers there, and nobody has to.
            issuer: 'http://127.0.0.1:9/idp',
            registration: { mode: 'Shared', clientId: 'gateway' },
            ...more,
          },
        },
      },
    },
  };
}

test('check, its JSON, the start and the admin pages name every redirect URI', async (t) => {
  const gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('two-hosts', [ruleTo('/mcp', 'tickets')], { hostnames: ['a.example.com', 'b.example.com'] }),
      backendResource('tickets', 9),
      protect('tickets'),
      routeResource('named', [ruleTo('/files', 'files')], { hostnames: ['internal.example.com'] }),
      backendResource('files', 9),
      protect('files', { resourceMetadata: { resource: 'https://public.example.com/files' } }),
    ],
  });
  t.after(() => gateway.stop());
  const expected = [
    `http://a.example.com:${gateway.port}/.oauth/mcp/callback`,
    `http://b.example.com:${gateway.port}/.oauth/mcp/callback`,
    'https://public.example.com/.oauth/files/callback',
  ];
  const listUrls = (text: string): string[] =>
    [...new Set(text.match(/https?:\/\/[\w.:-]+\/\.oauth\/\w+\/callback/g))].toSorted();

  const check = async (...flags: string[]): Promise<string> => {
    let out = '';
    const write = (text: string): void => void (out += text);
    const io = { stdout: write, stderr: write, color: false, env: {} };
    await executeCommand(checkCommand, ['-f', join(gateway.folder, 'gateway.yaml'), ...flags], io);
    return out;
  };
  assert.deepEqual(listUrls(await check()), expected);
  const report = JSON.parse(await check('--json')) as CheckReport;
  const inReport = report.authentications.flatMap(({ resources }) => resources.flatMap((each) => each.callbackUrls));
  assert.deepEqual(inReport.toSorted(), expected);

  await waitFor('the start names them', () => listUrls(gateway.readOutput()).length > 0);
  assert.deepEqual(listUrls(gateway.readOutput()), expected);

  for (const accept of ['text/html', 'application/json', 'text/plain']) {
    const page = await fetch(`http://127.0.0.1:${gateway.adminPort}/routes`, { headers: { accept } });
    assert.deepEqual(listUrls(await page.text()), expected, accept);
  }
});
