// `mcp-gatehouse explain --admin URL --request ...`: a request against the configuration that a running gateway has in force.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ExplainReport } from '../../src/cmd/explain/explain-report.ts';
import {
  baseResources,
  createTicketIssuer,
  gatewayTarget,
  jwtPolicy,
  routeTarget,
  rulesPolicy,
  type Run,
  runExplain,
  toolRules,
  writeFolder,
} from './explain-fixture.ts';
import { listenOnLoopback } from './gateway-fixture.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const issuer = createTicketIssuer();

/** Ids are new every time, and files have no gateway to name. */
function plain({ code, out, err }: Run): Run {
  const text = out
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\n*Note: .*\n/g, '\n')
    .replaceAll(/\n+$/g, '\n');
  return { code, out: text, err };
}

describe('explain by a running gateway', () => {
  let gateway: GatewayRun;
  let resources: (port: number) => readonly object[];
  const admin = (): string => `http://127.0.0.1:${gateway.adminPort}`;
  const request = (): string[] => ['--request', `POST http://127.0.0.1:${gateway.port}/mcp`];

  before(async () => {
    resources = (port) => [
      ...baseResources(port),
      jwtPolicy({ inline: issuer.jwks }),
      rulesPolicy('no-mallory', gatewayTarget, 'Deny', ['jwt.sub == "mallory"']),
      rulesPolicy('team', routeTarget, 'Allow', ['"support" in jwt.groups', 'jwt.sub == "mallory"']),
      toolRules,
    ];
    gateway = await runGateway({ resources });
  });
  after(async () => {
    await gateway?.stop();
  });

  test('says what explain says by the files of the gateway', async (t) => {
    const folder = await writeFolder(t, {
      'support.json': JSON.stringify({ sub: 'alice', groups: ['support'] }),
      'mallory.json': JSON.stringify({ sub: 'mallory', groups: ['support'] }),
      'stranger.json': JSON.stringify({ sub: 'bob', groups: [] }),
    });
    const codes = new Set<number>();
    for (const args of [
      ['--claims', join(folder, 'support.json'), '--tool', 'ticket_list'],
      ['--claims', join(folder, 'support.json'), '--tool', 'ticket_close'],
      ['--claims', join(folder, 'mallory.json'), '--tool', 'ticket_list'],
      ['--claims', join(folder, 'stranger.json')],
      ['--claims', join(folder, 'support.json'), '--tool', 'ticket_list', '--tool', 'admin_reset'],
      [],
    ]) {
      const byGateway = await runExplain(['--admin', admin(), ...request(), ...args]);
      const byFiles = await runExplain(['-f', join(gateway.folder, 'gateway.yaml'), ...request(), ...args]);
      assert.deepEqual(plain(byGateway), plain(byFiles));
      assert.match(
        byGateway.out,
        new RegExp(`^Note: By the configuration that the gateway at ${admin()} has in force`, 'm'),
      );
      codes.add(byGateway.code);
    }
    assert.deepEqual(codes, new Set([0, 1]), 'some are let through, and some are not');
  });

  test('a signature by keys that the gateway does not show counts as good, and it says so', async () => {
    const other = createTicketIssuer();
    const token = await other.sign({ groups: ['support'] });
    const { code, out, err } = await runExplain(
      ['--admin', admin(), ...request(), '--token', '-', '--tool', 'ticket_list'],
      { stdin: token },
    );
    assert.equal(err, '');
    assert.equal(code, 0);
    assert.match(
      out,
      /its signature was not checked and counts as good: the keys are in the policy, and the gateway does not show them$/m,
    );
    assert.match(
      out,
      /^Note: The gateway does not show keys that stand in policies; signatures by them count as good\.$/m,
    );
    const byFiles = await runExplain(
      ['-f', join(gateway.folder, 'gateway.yaml'), ...request(), '--token', '-', '--tool', 'ticket_list'],
      { stdin: token },
    );
    assert.equal(byFiles.code, 1, 'the files have the keys, and it is another key');
  });

  test('is about what is in force, not about what the files say by now', async () => {
    const read = async (): Promise<ExplainReport> => {
      const { out } = await runExplain(['--admin', admin(), ...request(), '--json']);
      return JSON.parse(out) as ExplainReport;
    };
    assert.equal((await read()).verdict.outcome, 'denied');
    gateway.write(baseResources(gateway.port));
    await waitFor(async () => (await read()).verdict.outcome === 'forwarded');
    gateway.write(resources(gateway.port));
    await waitFor(async () => (await read()).verdict.outcome === 'denied');
  });
});

test('something that is no gateway, or nothing: one line, and exit code 2', async (t) => {
  const server = createServer((_, response) => response.end('{"hello": "world"}'));
  const listening = await listenOnLoopback(server);
  const { port } = listening;
  t.after(() => listening.close());
  const other = await runExplain(['--admin', `http://127.0.0.1:${port}`, '--request', 'GET http://a/']);
  assert.equal(
    other.err,
    `mcp-gatehouse explain: http://127.0.0.1:${port} is not the admin port of a gateway: /config answers 200\n`,
  );
  await listening.close();
  const none = await runExplain(['--admin', `http://127.0.0.1:${port}`, '--request', 'GET http://a/']);
  assert.match(none.err, /^mcp-gatehouse explain: no gateway answers at http:.* \(ECONNREFUSED\); --admin says where/);
  assert.deepEqual([other.code, none.code, other.out, none.out], [2, 2, '', '']);
});

test('files of the environment give way to --admin', async (t) => {
  const folder = await writeFolder(t, {});
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, '');
  const { err } = await runExplain(['--admin', 'http://127.0.0.1:1', '--request', 'GET http://a/'], {
    env: { MCP_GATEHOUSE_FILES: file },
  });
  assert.match(err, /no gateway answers at http:\/\/127\.0\.0\.1:1/);
});
