// Real MCP clients of users with different groups, through a real gateway with rules over messages: each sees exactly what the rules say, what
// is listed can be used, what is not answers as unknown, and an edit of the rules is in force for the next message of an open session.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SignJWT } from 'jose';
import { createSigningKey, type SigningKey } from '../idp/signing-keys.ts';
import { type EverythingServer, startEverythingServer } from '../mcp/everything-server.ts';
import { runExplain } from '../integration/explain-fixture.ts';
import { resource } from '../integration/gateway-fixture.ts';
import {
  type DeskClient,
  type DeskLibrary,
  deskV1,
  deskV2,
  deskV2Stateless,
  type SeenItems,
} from '../integration/mcp-rules-clients-drivers.ts';
import {
  type AnswerForm,
  type DeskServer,
  offer,
  sessionVersions,
  startDeskServer,
  statelessVersion,
} from '../integration/mcp-rules-clients-server.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { select } from '../kit/effort.ts';

const options = { timeout: 120_000 };
const issuer = 'https://idp.test';

/** A server, and the clients that speak its version. */
interface Pairing {
  readonly name: string;
  readonly version: string;
  readonly form: AnswerForm;
  readonly libraries: readonly DeskLibrary[];
}

const forms: readonly AnswerForm[] = ['json', 'events'];
const everyPairing: readonly Pairing[] = forms.flatMap((form) => [
  ...sessionVersions.map((version) => ({ name: `v${version}-${form}`, version, form, libraries: [deskV1, deskV2] })),
  { name: `v${statelessVersion}-${form}`, version: statelessVersion, form, libraries: [deskV2Stateless] },
]);
const pairings = select(everyPairing, 3);
/** Protected by MCP authentication instead of JWT authentication on the route. */
const authenticated = 'authenticated';

const users = { support: ['support'], admin: ['admins'], guest: undefined } as const;
type User = keyof typeof users;

/** The rules, and by them what each user sees. */
const supportTools = (...names: string[]): string =>
  `"support" in jwt.groups && mcp.tool.name in ${JSON.stringify(names)}`;
const otherRules = [
  '"admins" in jwt.groups',
  'mcp.prompt.name == "summary"',
  '!mcp.resource.uri.startsWith("desk://secret")',
];
const rules = [supportTools('read_ticket', 'close_ticket'), ...otherRules];
const revoked = [supportTools('read_ticket'), ...otherRules];
const open = { prompts: ['summary'], resources: ['desk://open'], templates: ['desk://ticket/{id}'] };
const visible: Readonly<Record<User, SeenItems>> = {
  support: { tools: ['close_ticket', 'read_ticket'], ...open },
  admin: offer,
  guest: { tools: [], ...open },
};

let key: SigningKey;
let gateway: GatewayRun;
let legacy: EverythingServer;
const servers = new Map<string, DeskServer>();
const tokens = new Map<User, string>();

function proxyPolicy(name: string, spec: object): object {
  return resource('gateway.proxy/v1alpha1', 'ProxyPolicy', name, { spec });
}

function listResources(port: number, deskRules: readonly string[]): object[] {
  const names = [...pairings.map(({ name }) => name), authenticated];
  const jwks = { inline: JSON.stringify({ keys: [key.publicJwk] }) };
  const backendRef = (name: string): object => ({ group: 'gateway.proxy', kind: 'ProxyBackend', name });
  const routeRef = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'desks' };
  const { port: legacyPort } = new URL(legacy.url);
  return [
    gatewayResource(port),
    routeResource('desks', [...pairings.map(({ name }) => ruleTo(`/${name}`, name)), ruleTo('/legacy', 'legacy')]),
    routeResource('authenticated', [ruleTo(`/${authenticated}`, authenticated)]),
    ...names.map((name) => backendResource(name, servers.get(name)!.port)),
    resource('gateway.proxy/v1alpha1', 'ProxyBackend', 'legacy', {
      spec: {
        mcp: {
          targets: [
            { name: 'legacy', static: { host: '127.0.0.1', port: Number(legacyPort), path: '/sse', protocol: 'SSE' } },
          ],
        },
      },
    }),
    proxyPolicy('who', {
      targetRefs: [routeRef],
      traffic: { jwtAuthentication: { providers: [{ name: 'test', issuer, audiences: ['mcp'], jwks }] } },
    }),
    proxyPolicy('who-at-the-backend', {
      targetRefs: [backendRef(authenticated)],
      backend: { mcp: { authentication: { issuer, audiences: ['mcp'], jwks, flow: 'Direct', sessionBinding: false } } },
    }),
    proxyPolicy('what', {
      targetRefs: names.map(backendRef),
      backend: { mcp: { authorization: { action: 'Allow', policy: { matchExpressions: [...deskRules] } } } },
    }),
    proxyPolicy('what-of-legacy', {
      targetRefs: [backendRef('legacy')],
      backend: {
        mcp: {
          authorization: {
            action: 'Deny',
            policy: {
              matchExpressions: [
                deskRules === rules
                  ? '!("admins" in jwt.groups) && mcp.tool.name != "echo" && mcp.tool.name != "get-sum"'
                  : '!("admins" in jwt.groups) && mcp.tool.name != "echo"',
              ],
            },
          },
        },
      },
    }),
  ];
}

before(async () => {
  key = await createSigningKey();
  for (const [user, groups] of Object.entries(users)) {
    const token = await new SignJWT(groups === undefined ? {} : { groups: [...groups] })
      .setProtectedHeader({ alg: key.alg, kid: key.kid })
      .setIssuer(issuer)
      .setSubject(user)
      .setAudience('mcp')
      .setExpirationTime('1h')
      .sign(key.privateKey);
    tokens.set(user as User, token);
  }
  legacy = await startEverythingServer('sse');
  for (const { name, version, form } of pairings) servers.set(name, await startDeskServer(version, form));
  servers.set(authenticated, await startDeskServer('2025-11-25', 'events'));
  gateway = await runGateway({ resources: (port) => listResources(port, rules) });
});

after(async () => {
  await gateway?.stop();
  await legacy?.stop();
  for (const server of servers.values()) await server.close();
});

function connect(library: DeskLibrary, route: string, user: User, legacySse = false): Promise<DeskClient> {
  return library.connect({ url: `http://127.0.0.1:${gateway.port}/${route}`, token: tokens.get(user)!, legacySse });
}

/** The tools of the server that `explain` says this user may call there. */
async function explainTools(route: string, user: User, version: string): Promise<string[]> {
  const tools = offer.tools.flatMap((tool) => ['--tool', tool]);
  const url = `http://127.0.0.1:${gateway.port}/${route}`;
  const { out, err } = await runExplain(
    ['-f', join(gateway.folder, 'gateway.yaml'), '--json', '--request', `POST ${url}`, '--token', '-'].concat(
      ['--protocol-version', version],
      tools,
    ),
    { stdin: tokens.get(user)! },
  );
  assert.equal(err, '');
  const { items = [] } = JSON.parse(out) as { readonly items?: readonly { name: string; allowed: boolean }[] };
  return items
    .filter(({ allowed }) => allowed)
    .map(({ name }) => name)
    .toSorted();
}

/** What the client gets is an error like that of a server that does not have the item. */
function isUnknown(code: number, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Error);
    assert.equal((error as { code?: unknown }).code, code, error.message);
    assert.match(error.message, message);
    return true;
  };
}

/** Everything that is listed can be used; nothing else can. */
async function checkUses(client: DeskClient, seen: SeenItems): Promise<void> {
  for (const tool of offer.tools) {
    if (seen.tools.includes(tool)) assert.equal(await client.callTool(tool), `${tool} 7`);
    else await assert.rejects(client.callTool(tool), isUnknown(-32_602, new RegExp(`Unknown tool: ${tool}`)));
  }
  for (const prompt of offer.prompts) {
    if (seen.prompts.includes(prompt)) assert.equal(await client.getPrompt(prompt), prompt);
    else await assert.rejects(client.getPrompt(prompt), isUnknown(-32_602, new RegExp(`Unknown prompt: ${prompt}`)));
  }
  // The rules let unknown resources pass: these are the words of the server.
  const resourceNotFound = isUnknown(
    -32_602,
    /Resource not found: desk:\/\/secret|Resource desk:\/\/secret\S* not found/,
  );
  for (const uri of [...offer.resources, 'desk://ticket/7', 'desk://secret/7']) {
    const isVisible = seen.resources.includes('desk://secret') || !uri.startsWith('desk://secret');
    if (isVisible) assert.equal(await client.readResource(uri), uri);
    else await assert.rejects(client.readResource(uri), resourceNotFound);
  }
}

for (const { name, version, form, libraries } of pairings) {
  for (const library of libraries) {
    describe(`${library.name}, ${version}, answers in ${form}`, () => {
      for (const user of Object.keys(users) as User[]) {
        test(`${user} sees what the rules say, and what is seen is what can be used`, options, async (t) => {
          const client = await connect(library, name, user);
          t.after(() => client.close());
          assert.equal(client.protocolVersion, version);
          const seen = await client.listAll();
          assert.deepEqual(seen, visible[user]);
          assert.deepEqual(await explainTools(name, user, version), seen.tools);
          const called = servers.get(name)!.calls.length;
          await checkUses(client, seen);
          // What was refused has not reached the server.
          assert.deepEqual(servers.get(name)!.calls.slice(called).toSorted(), [...seen.tools]);
          assert.ok(client.contentTypes.has(form === 'json' ? 'application/json' : 'text/event-stream'));
        });
      }
    });
  }
}

for (const library of [deskV1, deskV2]) {
  test(`${library.name}: rules by the claims of a backend's MCP authentication`, options, async (t) => {
    for (const user of Object.keys(users) as User[]) {
      const client = await connect(library, authenticated, user);
      t.after(() => client.close());
      const seen = await client.listAll();
      assert.deepEqual(seen, visible[user]);
      await checkUses(client, seen);
    }
  });

  test(`${library.name}: a server of the older SSE transport`, options, async (t) => {
    const support = await connect(library, 'legacy', 'support', true);
    t.after(() => support.close());
    assert.deepEqual(await support.listTools(), ['echo', 'get-sum']);
    assert.equal(await support.callTool('echo', { message: 'hi' }), 'Echo: hi');
    await assert.rejects(support.callTool('get-env', {}), /Unknown tool: get-env/);
    const admin = await connect(library, 'legacy', 'admin', true);
    t.after(() => admin.close());
    assert.ok((await admin.listTools()).includes('get-env'));
  });
}

test('an edit of the rules: every open session is told, and the next message goes by it', options, async (t) => {
  const clients: { readonly client: DeskClient; readonly user: User; readonly title: string }[] = [];
  for (const { name, version, form, libraries } of pairings) {
    for (const library of libraries) {
      for (const user of ['support', 'admin'] as const) {
        const client = await connect(library, name, user);
        t.after(() => client.close());
        await client.listen();
        assert.deepEqual(await client.listTools(), [...visible[user].tools]);
        clients.push({ client, user, title: `${library.name} ${version} ${form} ${user}` });
      }
    }
  }
  // This server announces tools of its own once a client is there: what counts is that one more announcement comes.
  const legacyClients: { readonly client: DeskClient; readonly told: number }[] = [];
  for (const library of [deskV1, deskV2]) {
    const client = await connect(library, 'legacy', 'support', true);
    t.after(() => client.close());
    assert.deepEqual(await client.listTools(), ['echo', 'get-sum']);
    await waitFor(() => client.changes.length > 0);
    legacyClients.push({ client, told: client.changes.length });
  }
  // Clients open their stream by themselves, some time after they are connected.
  for (const { name, libraries } of pairings)
    await waitFor(() => servers.get(name)!.countStreams() >= 2 * libraries.length);

  gateway.write(listResources(gateway.port, revoked));
  for (const { client, title } of clients) {
    await waitFor(() => client.changes.length > 0);
    assert.deepEqual(client.changes, ['tools'], title);
  }
  for (const { client, user, title } of clients) {
    const tools = user === 'admin' ? offer.tools : ['read_ticket'];
    assert.deepEqual(await client.listTools(), [...tools], title);
    if (user === 'admin') assert.equal(await client.callTool('close_ticket'), 'close_ticket 7', title);
    else await assert.rejects(client.callTool('close_ticket'), isUnknown(-32_602, /Unknown tool: close_ticket/), title);
    assert.equal(await client.callTool('read_ticket'), 'read_ticket 7', title);
  }
  for (const { client, told } of legacyClients) {
    await waitFor(() => client.changes.length > told);
    assert.deepEqual(await client.listTools(), ['echo']);
    await assert.rejects(client.callTool('get-sum', { a: 1, b: 2 }), /Unknown tool: get-sum/);
  }

  // And back.
  gateway.write(listResources(gateway.port, rules));
  for (const { client, user, title } of clients) {
    await waitFor(() => client.changes.length > 1);
    assert.deepEqual(await client.listTools(), [...visible[user].tools], title);
    assert.equal(await client.callTool('close_ticket'), 'close_ticket 7', title);
    assert.deepEqual(client.changes, ['tools', 'tools'], title);
  }
});
