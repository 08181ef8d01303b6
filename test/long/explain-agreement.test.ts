// What `explain` says is what a running gateway does: the same answers to the byte, the same requests at the upstream, the same lists; and what
// the gateway remembers of a request, `explain --request-id` tells.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ExplainReport } from '../../src/cmd/explain/explain-report.ts';
import {
  backendTarget,
  baseResources,
  createTicketIssuer,
  jwtPolicy,
  policy,
  routeTarget,
  rulesPolicy,
  runExplain,
} from '../integration/explain-fixture.ts';
import {
  type Answer,
  ask,
  type Echo,
  listenOnLoopback,
  startUpstream,
  type Upstream,
} from '../integration/gateway-fixture.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const issuer = createTicketIssuer();
const tools = ['ticket_list', 'ticket_close', 'ticket_delete', 'admin_reset', 'weather'];

/** Rules of every kind, over requests and over messages. */
const policies = [
  jwtPolicy({ inline: issuer.jwks }),
  rulesPolicy('no-mallory', routeTarget, 'Deny', ['jwt.sub == "mallory"', '"x-evil" in request.headers']),
  policy('tools', backendTarget, {
    backend: {
      mcp: {
        authorization: {
          action: 'Allow',
          policy: {
            matchExpressions: [
              '"support" in jwt.groups && mcp.tool.name.startsWith("ticket_") && mcp.tool.name != "ticket_delete"',
              '"admin" in jwt.groups',
            ],
          },
          scopes: [{ tools: ['ticket_close*'], scopes: ['tickets:write'] }],
        },
      },
    },
  }),
];

const people: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>> = {
  support: { groups: ['support'], scope: 'tickets:read' },
  closer: { groups: ['support'], scope: 'tickets:write' },
  admin: { groups: ['admin'], scope: 'tickets:write' },
  mallory: { sub: 'mallory', groups: ['admin'] },
  stranger: { groups: [] },
  late: { exp: 1_000 },
  nobody: undefined,
};

describe('explain and a running gateway', () => {
  let upstream: Upstream;
  let gateway: GatewayRun;
  const received: Echo[] = [];
  /** What was compared, so that agreement about one kind of outcome alone is noticed. */
  const seen = new Set<string>();

  before(async () => {
    upstream = await startUpstream();
    upstream.handle('/mcp', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        received.push({
          upstream: '',
          method: request.method!,
          url: request.url!,
          version: '',
          headers: request.rawHeaders,
          trailers: [],
          body,
        });
        const { id, method } = JSON.parse(body) as { id: number; method: string };
        const entries = tools.map((name) => ({ name, inputSchema: { type: 'object' } }));
        const result = method === 'tools/list' ? { tools: entries } : { content: [] };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });
    });
    gateway = await runGateway({ resources: (port) => [...baseResources(port, upstream.port), ...policies] });
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  /** The same message to both, in the same name. */
  async function compare(
    claims: Readonly<Record<string, unknown>> | undefined,
    message: { readonly method: string; readonly tool?: string },
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly report: ExplainReport; readonly answer: Answer; readonly echo: Echo | undefined }> {
    const token = claims === undefined ? undefined : await issuer.sign(claims);
    const name = message.tool;
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: message.method,
      params: name === undefined ? {} : { name },
    });
    const file = join(gateway.folder, 'body.txt');
    await writeFile(file, body);
    const args = ['-f', join(gateway.folder, 'gateway.yaml'), '--json', '--protocol-version', '2025-11-25'];
    args.push('--request', `POST http://127.0.0.1:${gateway.port}/mcp`, '--body', file);
    for (const [header, value] of Object.entries(headers)) args.push('--header', `${header}: ${value}`);
    const run = await runExplain(token === undefined ? args : [...args, '--token', '-'], { stdin: token ?? '' });
    assert.equal(run.err, '');
    const report = JSON.parse(run.out) as ExplainReport;

    received.length = 0;
    const answer = await ask(
      gateway.port,
      {
        method: 'POST',
        path: '/mcp',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      body,
    );
    return { report, answer, echo: received[0] };
  }

  function withoutIds(text: string): string {
    return text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID');
  }

  for (const [name, claims] of Object.entries(people)) {
    test(`${name}: every call, with the exact answer or the exact request at the upstream`, async () => {
      const messages: readonly { readonly method: string; readonly tool?: string }[] = [
        { method: 'tools/list' },
        { method: 'ping' },
        ...tools.map((tool) => ({ method: 'tools/call', tool })),
      ];
      for (const message of [...messages, { method: 'Tools/Call', tool: 'weather' }]) {
        const { report, answer, echo } = await compare(claims, message);
        const what = `${name} ${JSON.stringify(message)}`;
        // What is hidden where unknown names pass is asked for under another name.
        const isRenamed = message.tool !== undefined && echo !== undefined && !echo.body.includes(`"${message.tool}"`);
        assert.equal(report.verdict.outcome === 'forwarded', echo !== undefined && !isRenamed, what);
        seen.add(report.forward === null ? `${answer.status} ${report.verdict.reason}` : 'forwarded');
        if (isRenamed) {
          assert.deepEqual([report.verdict.reason, report.forward, report.answer], ['item_hidden', null, null], what);
          assert.ok(
            report.notes.some((note) => note.includes('under a name that it does not have')),
            what,
          );
          continue;
        }
        if (report.forward !== null && echo !== undefined) {
          assert.equal(report.forward.target, echo.url);
          const sent = new Map<string, string>();
          for (let i = 0; i < echo.headers.length; i += 2)
            sent.set(echo.headers[i]!.toLowerCase(), echo.headers[i + 1]!);
          assert.equal(report.forward.host, sent.get('host'));
          for (const [header, value] of report.forward.addedHeaders)
            assert.equal(sent.get(header.toLowerCase()), value, what);
          for (const header of report.forward.removedHeaders) assert.ok(!sent.has(header), what);
          continue;
        }
        assert.equal(report.answer?.status, answer.status, what);
        assert.equal(withoutIds(report.answer?.body ?? ''), withoutIds(answer.body), what);
        const explained = report.answer?.headers.map(([header, value]) => `${header}: ${withoutIds(value)}`);
        const got: string[] = [];
        for (let i = 0; i < answer.rawHeaders.length; i += 2) {
          const header = answer.rawHeaders[i]!.toLowerCase();
          // Of the connection, not of the answer.
          if (!['date', 'connection', 'keep-alive'].includes(header))
            got.push(`${header}: ${withoutIds(answer.rawHeaders[i + 1]!)}`);
        }
        assert.deepEqual(explained, got, what);
      }
    });
  }

  test('that was every kind of outcome', () => {
    const expected = ['200 item_hidden', '200 method_unknown', '401 missing_token', '401 token_expired'];
    expected.push('403 insufficient_scope', '403 rbac_denied', 'forwarded');
    assert.deepEqual([...seen].toSorted(), expected.toSorted());
  });

  test('a header that a rule reads is the same to both', async () => {
    const { report, answer } = await compare(people['admin'], { method: 'ping' }, { 'x-evil': '1' });
    assert.deepEqual([report.answer?.status, answer.status], [403, 403]);
  });

  test('the list that a caller gets is the list that the table says, and every call agrees', async () => {
    for (const [name, claims] of Object.entries(people)) {
      if (claims === undefined) continue;
      const token = await issuer.sign(claims);
      const file = join(gateway.folder, 'tools.txt');
      await writeFile(file, JSON.stringify(tools));
      const { out } = await runExplain(
        [
          '-f',
          join(gateway.folder, 'gateway.yaml'),
          '--json',
          '--request',
          `POST http://127.0.0.1:${gateway.port}/mcp`,
        ].concat(['--protocol-version', '2025-11-25', '--token', '-', '--tools-from', file]),
        { stdin: token },
      );
      const items = (JSON.parse(out) as ExplainReport).items ?? [];
      const { answer } = await compare(claims, { method: 'tools/list' });
      const listed =
        answer.status === 200
          ? (JSON.parse(answer.body) as { result: { tools: { name: string }[] } }).result.tools.map((tool) => tool.name)
          : [];
      assert.deepEqual(
        items.filter((item) => item.listed).map((item) => item.name),
        listed,
        name,
      );
      for (const item of items) {
        const { echo } = await compare(claims, { method: 'tools/call', tool: item.name });
        assert.equal(item.allowed, echo?.body.includes(`"${item.name}"`) ?? false, `${name} ${item.name}`);
      }
    }
  });

  test('--request-id: a request that was refused, with what every expression saw', async () => {
    const { answer } = await compare(people['mallory'], { method: 'ping' });
    const id = String(answer.headers['x-request-id']);
    const args = ['--request-id', id, '--admin', `http://127.0.0.1:${gateway.adminPort}`];
    await waitFor(async () => (await runExplain(args)).out !== '');
    const { code, out, err } = await runExplain(args);
    assert.equal(err, '');
    assert.equal(code, 1);
    const time = /^ {2}time {8}(.*)$/m.exec(out)?.[1] ?? '';
    assert.match(time, /^\d{4}-\d\d-\d\dT/);
    assert.equal(
      out,
      `POST 127.0.0.1/mcp
  request id  ${id}
  time        ${time}
  status      403
  token       mallory, of https://idp.example.com
  listener    http of Gateway default/test
  route       HTTPRoute default/tickets, rule mcp

Policies
  ✓  traffic.jwtAuthentication  default/who         on Gateway default/test, Strict
  ✗  traffic.authorization      default/no-mallory  on HTTPRoute default/tickets
      Deny     true     jwt.sub == "mallory"  <- decides
                        jwt.sub = "mallory"
      Deny     false    "x-evil" in request.headers
                        request.headers["x-evil"] is absent

Denied: rbac_denied; policy default/no-mallory, Deny, matchExpressions[0] matches: jwt.sub == "mallory"
`,
    );
    const json = JSON.parse((await runExplain([...args, '--json'])).out) as ExplainReport;
    assert.deepEqual([json.request.id, json.verdict.outcome, json.answer?.status], [id, 'denied', 403]);
  });

  test('--request-id: a message that was refused is named', async () => {
    const { answer } = await compare(people['support'], { method: 'tools/call', tool: 'ticket_delete' });
    const args = [
      '--request-id',
      String(answer.headers['x-request-id']),
      '--admin',
      `http://127.0.0.1:${gateway.adminPort}`,
    ];
    await waitFor(async () => (await runExplain(args)).out !== '');
    const { code, out } = await runExplain(args);
    assert.equal(code, 1);
    assert.match(out, /^ {2}message {5}tools\/call ticket_delete$/m);
    assert.match(out, /^ {2}✗ {2}backend\.mcp\.authorization {2}default\/tools +on ProxyBackend default\/tickets$/m);
    const { request } = JSON.parse((await runExplain([...args, '--json'])).out) as ExplainReport;
    assert.deepEqual(request.message, {
      method: 'tools/call',
      tool: 'ticket_delete',
      prompt: null,
      resource: null,
      protocolVersion: '',
      count: 1,
      assumed: false,
    });
  });

  test('--request-id: a request that was let through', async () => {
    const { answer } = await compare(people['admin'], { method: 'ping' });
    const args = [
      '--request-id',
      String(answer.headers['x-request-id']),
      '--admin',
      `http://127.0.0.1:${gateway.adminPort}/`,
    ];
    await waitFor(async () => (await runExplain(args)).out !== '');
    const { code, out } = await runExplain(args);
    assert.equal(code, 0);
    assert.match(out, /^Allowed: forwarded to ProxyBackend default\/tickets\n\n {2}endpoint 127\.0\.0\.1:\d+$/m);
  });

  test('--request-id: an id that the gateway does not know, and a place where no gateway is', async (t) => {
    const admin = `http://127.0.0.1:${gateway.adminPort}`;
    const unknown = await runExplain(['--request-id', 'nope', '--admin', admin]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /^mcp-gatehouse explain: request nope: This gateway knows no such request: .*\n$/);

    const stranger = await listenOnLoopback(createServer((_, response) => response.end('hello')));
    const { port } = stranger;
    t.after(() => stranger.close());
    const other = await runExplain(['--request-id', 'x', '--admin', `http://127.0.0.1:${port}`]);
    assert.equal(other.code, 2);
    assert.equal(
      other.err,
      `mcp-gatehouse explain: http://127.0.0.1:${port} is not the admin port of a gateway that keeps requests: it answers 200\n`,
    );
    await stranger.close();
    const nobody = await runExplain(['--request-id', 'x', '--admin', `http://127.0.0.1:${port}`]);
    assert.equal(nobody.code, 2);
    assert.equal(
      nobody.err,
      `mcp-gatehouse explain: no gateway answers at http://127.0.0.1:${port} (ECONNREFUSED); --admin says where its admin port is\n`,
    );
    const both = await runExplain(['--request-id', 'x', '--request', 'POST http://x/']);
    assert.equal(both.code, 2);
    assert.match(both.err, /--request-id asks about a request that happened/);
  });
});
