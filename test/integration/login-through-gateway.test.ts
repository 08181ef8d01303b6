// `mcp-gatehouse login` against a gateway with a real identity provider behind it, and what the admin pages show of it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { loginCommand } from '../../src/cmd/login.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import type { InspectedFlow } from '../../src/gateway/observe/flow-inspector.ts';
import { oidcProviderSetups } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { type ProtectedSystem, startProtectedSystem } from '../idp/protected-system.ts';
import { waitFor } from '../kit/wait-for.ts';

interface Run {
  readonly code: number;
  readonly out: string;
}

/** Logs in as alice. */
async function runLogin(url: string, ...flags: string[]): Promise<Run> {
  let out = '';
  const write = (text: string): void => void (out += text);
  const code = await executeCommand(loginCommand, [url, ...flags], {
    stdout: write,
    stderr: write,
    color: false,
    env: {},
    openBrowser: (href) => {
      const redirectUri = new URL(href).searchParams.get('redirect_uri')!;
      const arrive = async (): Promise<void> => {
        await fetch(await new BrowserAgent().authorize(href, redirectUri));
      };
      void arrive().catch((error: unknown) => write(String(error)));
      return Promise.resolve(true);
    },
  });
  return { code, out };
}

async function readFlows(system: ProtectedSystem, query = ''): Promise<InspectedFlow[]> {
  const response = await fetch(`http://127.0.0.1:${system.gateway.adminPort}/flows?format=json${query}`);
  assert.equal(response.status, 200);
  return ((await response.json()) as { flows: InspectedFlow[] }).flows;
}

for (const name of ['oidc-provider', 'oidc-provider without iss']) {
  const setup = oidcProviderSetups.find((each) => each.name === name)!;
  describe(`${name}, ${setup.flow}`, () => {
    let system: ProtectedSystem;
    before(async () => {
      system = await startProtectedSystem({ startIdp: (callback) => setup.start(callback) });
    });
    after(() => system.close());

    test('login ends with the tools', async () => {
      const { code, out } = await runLogin(system.url, '--verbose');
      assert.equal(code, 0, out);
      assert.match(out, /It works\. Tools:\n {4}\w/);
      assert.doesNotMatch(out, /eyJ[\w-]{10,}\./);
    });

    test('the inspector has the login as one flow, and nothing that could be used', async () => {
      await waitFor(async () => (await readFlows(system)).some(({ state }) => state === 'authorized'));
      const flows = await readFlows(system);
      const flow = flows.find(({ state }) => state === 'authorized');
      assert.deepEqual(
        [flow?.flow, flow?.client.name, flow?.resource],
        [setup.flow, 'mcp-gatehouse login', '/tickets'],
      );
      const names = flow?.steps.map((step) => step.name) ?? [];
      assert.deepEqual([names[0], names.at(-1)], ['access', 'access']);
      for (const each of setup.flow === 'Broker' ? ['register', 'authorize', 'callback', 'token'] : ['register']) {
        assert.ok(names.includes(each), `no ${each} in ${names.join(' ')}`);
      }
      assert.equal(flow?.steps.filter(({ outcome }) => outcome === 'challenged').length, 1);
      assert.equal(flows.length, 1, JSON.stringify(flows, null, 1));
      assert.doesNotMatch(JSON.stringify(flows), /eyJ|Bearer |code=/);
    });

    test('a refused request is found by the id that the client saw, with its reason', async () => {
      const refused = await fetch(system.url, {
        method: 'POST',
        headers: { authorization: 'Bearer x.y.z' },
        body: '{}',
      });
      const { request_id: id } = (await refused.json()) as { request_id: string };
      assert.equal(refused.status, 401);
      await waitFor(async () => (await readFlows(system, `&q=${id}`)).length === 1);
      const [flow] = await readFlows(system, `&q=${id}`);
      const step = flow?.steps.find(({ requestId }) => requestId === id);
      assert.deepEqual([step?.outcome, step?.status], ['refused', 401]);
      assert.match(step?.reason ?? '', /^token_/);
      const page = await fetch(`http://127.0.0.1:${system.gateway.adminPort}/flows?q=${id}`, {
        headers: { accept: 'text/html' },
      });
      const html = await page.text();
      assert.match(html, new RegExp(`<code>${id}</code>`));
      assert.match(html, new RegExp(`<code class="bad">${step?.reason}</code>`));
    });

    test('/config and /routes show the policy, the flow in force and why', async () => {
      const admin = `http://127.0.0.1:${system.gateway.adminPort}`;
      const config = (await (await fetch(`${admin}/config`)).json()) as {
        authentications: { issuer: string; keysLoaded: boolean; flow: { flow: string; reason: string } }[];
        secrets: Record<string, unknown>[];
      };
      const [authentication] = config.authentications;
      assert.deepEqual([authentication?.keysLoaded, authentication?.flow.flow], [true, setup.flow]);
      assert.match(authentication?.flow.reason ?? '', /iss/);
      const keys = config.secrets.find(({ key }) => key === 'SealKeys');
      assert.deepEqual(keys, { key: 'SealKeys', sealKeys: { count: 1 } });
      const text = await (await fetch(`${admin}/routes`)).text();
      assert.match(text, /authentication default\/\S+ \(Strict\), issuer http/);
      assert.match(text, new RegExp(`  flow ${setup.flow}: `));
      assert.match(text, /\.well-known\/oauth-protected-resource\/tickets/);
    });
  });
}
