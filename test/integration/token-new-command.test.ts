// `mcp-gatehouse token new`: the token and its policy, in a gateway that reads files, in `check` and in `token inspect`.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { checkCommand } from '../../src/cmd/check.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { buildShortForm, printResources } from '../../src/cmd/short-form.ts';
import { tokenInspectCommand } from '../../src/cmd/token.ts';
import { tokenNewCommand } from '../../src/cmd/token-new.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Printed {
  readonly token: string;
  readonly issuer: string;
  readonly expires: string;
  readonly claims: Record<string, unknown>;
  readonly policy: object;
}

async function collect(
  run: (io: { stdout(text: string): void; stderr(text: string): void; color: false; env: {} }) => Promise<number>,
): Promise<Run> {
  let out = '';
  let err = '';
  const code = await run({
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color: false,
    env: {},
  });
  return { code, out, err };
}

const now = (): number => Date.parse('2026-05-01T12:00:00Z');
const makeToken = (...args: string[]): Promise<Run> =>
  collect((io) => executeCommand(tokenNewCommand, args, { ...io, now }));
const makeRealToken = (...args: string[]): Promise<Run> => collect((io) => executeCommand(tokenNewCommand, args, io));
const inspect = (token: string, ...args: string[]): Promise<Run> =>
  collect((io) =>
    executeCommand(tokenInspectCommand, args, {
      ...io,
      stdin: { isTerminal: false, read: () => Promise.resolve(Buffer.from(token)) },
    }),
  );

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'token-new-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function readClaims(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
}

describe('token new', () => {
  test('the token on standard output, the policy on standard error, as YAML', async () => {
    const { code, out, err } = await makeToken('--sub', 'alice', '--aud', 'api', '--claim', 'groups=["staff"]');
    assert.equal(code, 0);
    assert.match(out, /^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const { iss, jti, ...claims } = readClaims(out);
    assert.match(String(iss), /^https:\/\/test-token\.mcp-gatehouse\.invalid\/[0-9a-f]{24}$/);
    assert.match(String(jti), /^[\w-]{16}$/);
    assert.deepEqual(claims, { sub: 'alice', aud: 'api', groups: ['staff'], iat: 1_777_636_800, exp: 1_777_637_400 });
    assert.match(
      err,
      /^# A policy for a test token \(mcp-gatehouse token new\), which is valid until 2026-05-01T12:10:00Z\./,
    );
    const policy = parse(err) as {
      spec: { targetRefs: object[]; traffic: { jwtAuthentication: { providers: object[] } } };
    };
    assert.deepEqual(policy.spec.targetRefs, [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'mcp' }]);
    const [provider] = policy.spec.traffic.jwtAuthentication.providers as { jwks: { inline: string } }[];
    const { jwks, ...rest } = provider!;
    assert.deepEqual(rest, { name: 'test-token', issuer: iss, audiences: ['api'] });
    const { keys } = JSON.parse(jwks.inline) as { keys: object[] };
    assert.deepEqual(Object.keys(keys[0]!), ['kty', 'crv', 'x', 'y', 'kid', 'alg', 'use']);
  });

  test('--json has all of it; --lifetime and --target are in it', async () => {
    const { out, err } = await makeToken('--json', '--lifetime', '1h', '--target', 'HTTPRoute/tickets');
    assert.equal(err, '');
    const printed = JSON.parse(out) as Printed;
    assert.deepEqual(Object.keys(printed), ['token', 'issuer', 'expires', 'claims', 'policy']);
    assert.equal(printed.expires, '2026-05-01T13:00:00.000Z');
    assert.deepEqual(printed.claims, readClaims(printed.token));
    assert.match(JSON.stringify(printed.policy), /"kind":"HTTPRoute","name":"tickets"/);
    assert.doesNotMatch(out, /"d"|PRIVATE/);
  });

  test('--policy-out writes the policy, again over its own and over nothing else; no other file appears', async (t) => {
    const folder = await makeFolder(t);
    const file = join(folder, 'policy.yaml');
    const first = await makeToken('--policy-out', file);
    assert.deepEqual([first.code, first.err], [0, '']);
    const before = await readFile(file, 'utf8');
    assert.match(before, /issuer: https:\/\/test-token/);
    await makeToken('--policy-out', file);
    assert.notEqual(await readFile(file, 'utf8'), before);
    assert.deepEqual(await readdir(folder), ['policy.yaml']);
    const other = join(folder, 'gateway.yaml');
    await writeFile(other, 'kind: Gateway\n');
    assert.deepEqual(await makeToken('--policy-out', other), {
      code: 1,
      out: '',
      err: `mcp-gatehouse token new: --policy-out: ${other} exists and is no policy of this command; name another file\n`,
    });
    assert.equal(await readFile(other, 'utf8'), 'kind: Gateway\n');
    const nowhere = await makeToken('--policy-out', join(folder, 'a/b.yaml'));
    assert.match(nowhere.err, /b\.yaml cannot be written \(ENOENT\)/);
  });

  test('wrong flags', async (t) => {
    const folder = await makeFolder(t);
    const cases: readonly (readonly [args: string[], code: number, problem: string])[] = [
      [['--lifetime', '61m'], 2, '--lifetime must be between 1s and 1h, not "61m"'],
      [['--target', 'ProxyBackend/x'], 2, '--target must be Gateway/NAME or HTTPRoute/NAME, not "ProxyBackend/x"'],
      [['--claim', 'iss=x'], 2, '--claim cannot set iss: it says that this is a test token'],
      [['--claims', join(folder, 'no.json')], 1, `--claims: the file ${join(folder, 'no.json')} does not exist`],
      [
        Array.from({ length: 33 }, (_, i) => ['--aud', `a${i}`]).flat(),
        2,
        'the policy cannot have spec.traffic.jwtAuthentication.providers[0].audiences: must have at most 32 entries, has 33',
      ],
    ];
    for (const [args, code, problem] of cases) {
      const run = await makeToken(...args);
      assert.deepEqual([run.code, run.out, run.err.split('\n')[0]], [code, '', `mcp-gatehouse token new: ${problem}`]);
    }
  });
});

describe('a test token', () => {
  test('is known to token inspect, and a warning of check', async (t) => {
    const folder = await makeFolder(t);
    const short = buildShortForm({ targets: ['http://127.0.0.1:3001/mcp'] });
    assert.ok(short.ok);
    await writeFile(join(folder, 'gateway.yaml'), printResources(short.resources));
    const { out: token } = await makeRealToken('--policy-out', join(folder, 'test.yaml'));
    const inspected = await inspect(token, '-f', folder);
    assert.equal(inspected.code, 0);
    assert.match(inspected.out, /! It is a test token of mcp-gatehouse token new\./);
    assert.match(inspected.out, /✓ default\/test-token, provider test-token .*: takes it/);
    const checked = await collect((io) => executeCommand(checkCommand, ['-f', folder], io));
    assert.equal(checked.code, 0);
    const { iss } = readClaims(token);
    const warning = `accepts test tokens of ${String(iss)} (mcp-gatehouse token new); take it away after the test, deployed gateways refuse it`;
    assert.equal(checked.err, `warning: ProxyPolicy default/test-token: ${warning}\n`);
    const json = await collect((io) => executeCommand(checkCommand, ['-f', folder, '--json'], io));
    assert.deepEqual((JSON.parse(json.out) as CheckReport).warnings, [
      { policy: 'default/test-token', message: warning },
    ]);
  });

  test('is accepted by a gateway that reads files, which warns', async (t) => {
    const { token, policy } = JSON.parse((await makeRealToken('--json', '--target', 'HTTPRoute/mcp')).out) as Printed;
    const upstream = await startMcpUpstream();
    t.after(() => upstream.close());
    const gateway = await runGateway({
      flags: ['--log-format', 'json'],
      resources: (port) => [
        gatewayResource(port),
        routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
        backendResource('mcp', upstream.port),
        policy,
      ],
    });
    t.after(() => gateway.stop());
    const ask = async (authorization: string): Promise<number> =>
      (await fetch(gateway.urlOf('/mcp'), { method: 'POST', body: '{}', headers: { authorization } })).status;
    assert.equal(await ask(`Bearer ${token}`), 200);
    assert.equal(await ask(`Bearer ${(await makeRealToken()).out.trim()}`), 401);
    await waitFor('the warning', () =>
      gateway
        .readLog()
        .some(
          ({ level, msg }) =>
            level === 'warn' && String(msg).startsWith('ProxyPolicy default/test-token: accepts test tokens of '),
        ),
    );
  });
});
