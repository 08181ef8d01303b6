// `npm start`: the page, the login from the 401 to the tools, and what it says when a port is taken. Without a browser; test/browser/ has one.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { type Arrival, BrowserAgent, type Page } from '../idp/browser-agent.ts';
import { FlowClient } from '../idp/flow-client.ts';
import { select } from '../kit/effort.ts';
import { demoPortFlags, type DemoPortFlag, runDemo, startDemo } from './run-demo.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

/** Presses a button by its text. */
function press(agent: BrowserAgent, page: Page, text: string, redirectUri: string): Promise<Arrival> {
  for (const form of page.forms) {
    const button = form.buttons.find((each) => each.text.startsWith(text));
    if (button !== undefined)
      return agent.submit(page, form, button.name === '' ? {} : { [button.name]: button.value }, redirectUri);
  }
  return assert.fail(`no button ${text} at ${page.url.href}:\n${page.html}`);
}

/** Presses one button after the other, from the client's link up to the client's address. The gateway's own page is allowed first. */
async function clickThrough(client: FlowClient, agent: BrowserAgent, buttons: readonly string[]): Promise<URL> {
  let arrival = await agent.visit(client.formatAuthorizationUrl(), client.redirectUri);
  for (const button of ['Allow', ...buttons]) {
    assert.ok(arrival.at === 'page', `at the client before ${button}`);
    arrival = await press(agent, arrival.page, button, client.redirectUri);
  }
  assert.ok(arrival.at === 'client', arrival.at === 'page' ? arrival.page.html : '');
  return arrival.url;
}

test('the demo serves its page, and a login leads from the 401 to the tools', async (t) => {
  const { child, url, ports } = await runDemo();
  t.after(() => child.stop());
  const output = child.readOutput();
  assert.ok(output.includes(`The demo is ready: ${url}/\n`), output);
  assert.ok(output.includes(`Connect an MCP client to ${url}/mcp`), output);
  assert.doesNotMatch(output, /warn/i, 'nothing that a newcomer has to worry about');

  await t.test('the page and what it needs', async () => {
    const page = await fetch(`${url}/`);
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-security-policy')!, /default-src 'none'/);
    const html = await page.text();
    assert.match(html, /<h1>mcp-gatehouse demo<\/h1>/);
    assert.match(html, /For trying out only\. Everything listens on loopback\./);
    assert.ok(html.includes(`claude mcp add --transport http demo ${url}/mcp`));
    assert.ok(html.includes(`http://127.0.0.1:${ports['--admin-port']}/flows`));
    const scripts = ['demo.js', 'elements.js', 'login-flow.js', 'mcp-client.js', 'person-card.js', 'rule-panel.js'];
    for (const asset of ['demo.css', ...scripts]) {
      const response = await fetch(`${url}/demo/${asset}`);
      assert.equal(response.status, 200, asset);
      assert.match(response.headers.get('content-type')!, asset.endsWith('.css') ? /^text\/css/ : /^text\/javascript/);
      assert.ok((await response.text()).length > 500);
    }
    assert.equal((await fetch(`${url}/demo/other`)).status, 404);
    assert.equal((await fetch(`${url}/`, { method: 'POST' })).status, 405);
  });

  await t.test('the state of the parts', async () => {
    const { parts } = (await (await fetch(`${url}/demo/state.json`)).json()) as {
      parts: { name: string; url: string; ok: boolean }[];
    };
    assert.deepEqual(parts, [
      { name: 'Gateway', url: `${url}/`, ok: true },
      { name: 'Identity provider', url: `http://127.0.0.1:${ports['--idp-port']}`, ok: true },
      { name: 'Help desk', url: `http://127.0.0.1:${ports['--server-port']}/mcp`, ok: true },
      { name: 'Office', url: `http://127.0.0.1:${ports['--office-port']}/mcp`, ok: true },
    ]);
  });

  await t.test('the rule: only prepared variants, and only from the page itself', async () => {
    const own = { 'content-type': 'application/json', origin: url };
    const choose = (variant: unknown, headers: Record<string, string> = own): Promise<Response> =>
      fetch(`${url}/demo/rule`, { method: 'POST', headers, body: JSON.stringify({ variant }) });
    for (const headers of [
      { ...own, origin: 'https://evil.example' },
      { 'content-type': 'application/json' },
      { ...own, 'content-type': 'text/plain' },
      { ...own, 'sec-fetch-site': 'cross-site' },
    ]) {
      const response = await choose('bob-closes', headers);
      assert.equal(response.status, 403);
      assert.equal(response.headers.get('access-control-allow-origin'), null);
      // The gateway itself refuses a foreign Origin; the rest is refused by the page's server.
      assert.match(await response.text(), /^\{"(?:problem":"|error":"origin_not_allowed")/);
    }
    const preflight = await fetch(`${url}/demo/rule`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example' },
    });
    assert.equal(preflight.status, 403);
    assert.equal(preflight.headers.get('access-control-allow-origin'), null);
    for (const variant of ['other', undefined, 'x'.repeat(2_000), { rules: [] }]) {
      const response = await choose(variant);
      assert.equal(response.status, 400);
      assert.match(await response.text(), /with one of leads-only, bob-closes, sales-tickets\./);
    }
    const read = async (): Promise<object> => (await (await fetch(`${url}/demo/rule`)).json()) as object;
    assert.partialDeepStrictEqual(await read(), { variant: 'leads-only' });
    assert.equal((await choose('bob-closes')).status, 200);
    assert.partialDeepStrictEqual(await read(), {
      variant: 'bob-closes',
      choices: [
        { variant: 'sales-tickets', button: 'Give sales all ticket tools' },
        { variant: 'leads-only', button: 'Take it back' },
      ],
    });
    assert.equal((await choose('leads-only')).status, 200);
  });

  await t.test('the reason of a request: by its id alone, and for the page itself', async () => {
    const ask = async (id: string, headers = {}): Promise<number> =>
      (await fetch(`${url}/demo/reason.json?id=${id}`, { headers })).status;
    assert.equal(await ask('..%2Fconfig'), 400);
    assert.equal(await ask(''), 400);
    assert.equal(await ask('unknown'), 404);
    assert.equal(await ask('unknown', { 'sec-fetch-site': 'cross-site' }), 403);
  });

  for (const [user, name, team, mayClose] of [
    ['alice', 'Alice Archer', 'support', true],
    ['bob', 'Bob Baker', 'sales', false],
  ] as const) {
    await t.test(`${name} logs in and lists the tools`, async () => {
      const client = await new FlowClient(`${url}/mcp`).prepare();
      client.scope = client.resource!.scopes_supported!.join(' ');
      await client.redeem(await clickThrough(client, new BrowserAgent(), [`Log in as ${name}`, 'Allow']));
      const claims = JSON.parse(
        Buffer.from(client.tokens!.access_token.split('.')[1]!, 'base64url').toString(),
      ) as Record<string, unknown>;
      assert.partialDeepStrictEqual(claims, { sub: user, name, team, aud: `${url}/mcp`, scope: 'tickets' });
      await client.refresh();
      const hello = await client.post(initialize);
      assert.equal(hello.status, 200, hello.body);
      const session = { 'mcp-session-id': String(hello.headers['mcp-session-id']) };
      await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
      const tools = await client.post({ jsonrpc: '2.0', id: 2, method: 'tools/list' }, session);
      assert.equal(tools.status, 200, tools.body);
      assert.match(tools.body, /"office_convert_units"/);
      assert.equal(tools.body.includes('"support_ticket_close"'), mayClose);
    });
  }

  await t.test('Cancel at the login and at the consent is told to the client', async () => {
    for (const buttons of [['Cancel'], ['Log in as Alice Archer', 'Cancel']]) {
      const client = await new FlowClient(`${url}/mcp`).prepare();
      const answer = await clickThrough(client, new BrowserAgent(), buttons);
      assert.equal(answer.searchParams.get('error'), 'access_denied');
      assert.equal(answer.searchParams.get('state'), client.state);
      assert.equal(answer.searchParams.get('code'), null);
    }
  });

  await t.test('a logged-in user can switch to another user at the consent page', async () => {
    const agent = new BrowserAgent();
    const first = await new FlowClient(`${url}/mcp`).prepare();
    await clickThrough(first, agent, ['Log in as Alice Archer', 'Allow']);
    const second = await new FlowClient(`${url}/mcp`).prepare();
    await second.redeem(await clickThrough(second, agent, ['Log in as somebody else', 'Log in as Bob Baker', 'Allow']));
    assert.match(Buffer.from(second.tokens!.access_token.split('.')[1]!, 'base64url').toString(), /"sub":"bob"/);
  });

  await t.test("the gateway asks about every client but the demo's own page", async () => {
    const titleOf = async (redirectUri?: string): Promise<string> => {
      const client = await new FlowClient(`${url}/mcp`, redirectUri).prepare();
      const arrival = await new BrowserAgent().visit(client.formatAuthorizationUrl(), client.redirectUri);
      return arrival.at === 'page' ? (/<title>(.*)<\/title>/.exec(arrival.page.html)?.[1] ?? '') : '';
    };
    assert.match(await titleOf(), /^Allow access to /);
    assert.match(await titleOf(`${url}/other`), /^Allow access to /);
    assert.doesNotMatch(await titleOf(`${url}/demo/callback`), /^Allow access to /);
  });

  await t.test('a wrong password is refused, kindly', async () => {
    const agent = new BrowserAgent();
    const client = await new FlowClient(`${url}/mcp`).prepare();
    const asked = await agent.visit(client.formatAuthorizationUrl(), client.redirectUri);
    assert.ok(asked.at === 'page');
    const login = await press(agent, asked.page, 'Allow', client.redirectUri);
    assert.ok(login.at === 'page');
    const again = await agent.submit(login.page, login.page.forms[0]!, { password: 'guess' }, client.redirectUri);
    assert.ok(again.at === 'page');
    assert.equal(again.page.status, 401);
    assert.match(again.page.html, /Wrong user or password\./);
  });

  await t.test("the identity provider's error pages load nothing from elsewhere", async () => {
    const answer = await fetch(`http://127.0.0.1:${ports['--idp-port']}/auth?client_id=nobody&response_type=code`, {
      headers: { accept: 'text/html' },
    });
    assert.equal(answer.status, 400);
    assert.match(answer.headers.get('content-security-policy')!, /default-src 'none'.*frame-ancestors 'none'/);
    const html = await answer.text();
    assert.match(html, /Client is invalid\./);
    assert.doesNotMatch(html, /https?:\/\//);
  });

  assert.equal(await child.stop(), 0);
});

for (const flag of select(Object.keys(demoPortFlags) as DemoPortFlag[], 2)) {
  test(`a port that is taken (${flag}) is one clear line`, async (t) => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    t.after(() => other.close());
    const { port } = other.address() as AddressInfo;
    const { child } = await startDemo({ [flag]: port });
    assert.equal(await child.waitForExit(), 1);
    const lines = child
      .readOutput()
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{"level":"info"'));
    assert.equal(lines.length, 1, child.readOutput());
    assert.match(lines[0]!, new RegExp(`port ${port}\\b`, 'i'));
    assert.match(lines[0]!, /use/);
    if (flag === '--idp-port') assert.match(lines[0]!, /identity provider.*--idp-port/);
  });
}
