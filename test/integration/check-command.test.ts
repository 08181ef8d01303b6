// `mcp-gatehouse check` on real files: what it prints, where, and its exit code.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { checkCommand } from '../../src/cmd/check.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { buildShortForm, printResources } from '../../src/cmd/short-form.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function runCheck(args: readonly string[], env: NodeJS.ProcessEnv = {}, color = false): Promise<Run> {
  let out = '';
  let err = '';
  const io = { stdout: (text: string) => void (out += text), stderr: (text: string) => void (err += text), color, env };
  const code = await executeCommand(checkCommand, args, io);
  return { code, out, err };
}

async function writeFolder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'check-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

function printGoodResources(): string {
  const short = buildShortForm({ targets: ['http://127.0.0.1:3001/mcp'] });
  assert.ok(short.ok);
  return printResources(short.resources);
}

const testdata = join(import.meta.dirname, '../../src/cmd/testdata');

describe('check', () => {
  test('prints what would be served, and exits with 0 when all is well', async (t) => {
    const folder = await writeFolder(t, { 'gateway.yaml': printGoodResources() });
    const { code, out, err } = await runCheck(['-f', folder]);
    assert.equal(err, '');
    assert.equal(
      out,
      [
        'Gateway default/mcp',
        '  http  HTTP 127.0.0.1:3000  any host',
        '    any host',
        '      /mcp/*  -> ProxyBackend default/mcp  HTTPRoute default/mcp, rule 0  OPEN: no policy',
        '',
        'Backends',
        '  ProxyBackend default/mcp  MCP, Streamable HTTP  http://127.0.0.1:3001/mcp',
        '',
        '1 of 1 route is OPEN.',
        'No problems.',
        '',
      ].join('\n'),
    );
    assert.equal(code, 0);
  });

  for (const [name, what, ...flags] of [
    ['check', 'everything there is to print'],
    // A policy in it misses a section, which would close what is open.
    ['check-protection', 'what protects each route, what it overrides, and why', '--allow-unattached'],
    ['check-inference', 'InferencePools with their endpoints, and who chooses among them', '--inference-extension'],
  ] as const) {
    test(`golden: ${what}`, async () => {
      const { code, out, err } = await runCheck(['-f', join(testdata, `${name}.yaml`), ...flags]);
      assert.equal(code, 1);
      // The golden is the same wherever the test is started.
      const text = `${err}\n${out}`.replaceAll(new RegExp(`\\S*${name}\\.yaml:(?=\\d)`, 'g'), `${name}.yaml:`);
      const golden = join(testdata, `${name}.txt`);
      if (process.env['UPDATE_GOLDENS'] === '1') await writeFile(golden, text);
      assert.equal(text, await readFile(golden, 'utf8'));
    });
  }

  test('colours change nothing but the colours', async () => {
    for (const args of [
      ['-f', join(testdata, 'check.yaml')],
      ['-f', join(testdata, 'check-inference.yaml'), '--inference-extension'],
    ]) {
      const plain = await runCheck(args);
      const colored = await runCheck(args, {}, true);
      assert.notEqual(colored.out, plain.out);
      assert.equal(stripVTControlCharacters(colored.out), plain.out);
      assert.equal(stripVTControlCharacters(colored.err), plain.err);
    }
  });

  test('without --inference-extension InferencePools and Pods are refused, and so is a route to one', async () => {
    const file = join(testdata, 'check-inference.yaml');
    const { code, out, err } = await runCheck(['-f', file]);
    assert.equal(code, 1);
    assert.match(
      err,
      /check-inference\.yaml:\d+:\d+ kind: InferencePools are only read with the Inference Extension: start with --inference-extension\n/,
    );
    assert.match(err, /kind: Pods are only read with the Inference Extension: start with --inference-extension\n/);
    assert.match(
      err,
      /: InferencePool llama cannot be used: .*--inference-extension.* \(ResolvedRefs is False: InvalidKind\)/,
    );
    assert.match(out, /\/llama\/\* +-> answers 500 backend_invalid/);
    assert.doesNotMatch(out, /endpoint picker/);
    const fromEnvironment = await runCheck(['-f', file], { MCP_GATEHOUSE_INFERENCE_EXTENSION: 'true' });
    assert.match(fromEnvironment.out, /endpoint picker/);
  });

  test('--json says of every backend whether a picker chooses', async () => {
    const args = ['--json', '--inference-extension', '-f', join(testdata, 'check-inference.yaml')];
    const report = JSON.parse((await runCheck(args)).out) as CheckReport;
    assert.deepEqual(
      report.backends.find(({ backend }) => backend === 'InferencePool/default/llama'),
      {
        backend: 'InferencePool/default/llama',
        transport: 'HTTP',
        endpoints: ['http://127.0.0.2:8000', 'http://127.0.0.2:8001'],
        picker: { endpoints: ['127.0.0.9:9002'], tls: 'unverified', failureMode: 'FailClose', timeoutMs: 10_000 },
        targets: null,
      },
    );
    const others = JSON.parse((await runCheck(['--json', '-f', join(testdata, 'check.yaml')])).out) as CheckReport;
    assert.ok(others.backends.length > 0 && others.backends.every(({ picker }) => picker === null));
  });

  test('reports problems on standard error with file, line and column, and exits with 1', async (t) => {
    const folder = await writeFolder(t, {
      'gateway.yaml': printGoodResources().replace('protocol: HTTP', 'protocl: HTTP'),
    });
    const { code, err, out } = await runCheck([join(folder, 'gateway.yaml')]);
    assert.equal(code, 1);
    assert.match(
      err,
      /^\S+gateway\.yaml:13:7 spec\.listeners\[0\]\.protocl: unknown field; did you mean `protocol`\?$/m,
    );
    assert.match(err, /^1 problem, and 1 more because of it\n$/m);
    assert.doesNotMatch(out, /No problems/);
  });

  test('a file without any resource is a problem: nothing is served', async (t) => {
    const folder = await writeFolder(t, {
      'comments.yaml': '# later\n---\n',
      'empty.yaml': '',
      'gateway.yaml': printGoodResources(),
    });
    for (const name of ['comments.yaml', 'empty.yaml']) {
      const { code, err, out } = await runCheck(['-f', join(folder, name)]);
      assert.equal(code, 1);
      assert.match(err, new RegExp(`^\\S*${name}: 0 resources: nothing is served$`, 'm'));
      assert.doesNotMatch(out, /No problems/);
    }
    const { code, out } = await runCheck(['--json', '-f', join(folder, 'empty.yaml')]);
    const { problems } = JSON.parse(out) as CheckReport;
    assert.deepEqual([code, problems.map((problem) => problem.code)], [1, ['no_resources']]);
    assert.equal((await runCheck(['-f', folder])).code, 0, 'an empty file beside others says nothing');
  });

  test('a file that cannot be read, and a path that does not exist, are problems', async (t) => {
    const folder = await writeFolder(t, { 'a.yaml': 'a: [\n' });
    const { code, err, out } = await runCheck(['-f', join(folder, 'a.yaml'), '-f', join(folder, 'nope')]);
    assert.equal(code, 1);
    assert.match(err, /a\.yaml:\d+:\d+: /);
    assert.match(err, /nope: does not exist/);
    assert.match(out, /Nothing would be served/);
  });

  test('takes paths from the environment, and values of Secrets', async (t) => {
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {token: "${TOKEN}"}\n';
    const folder = await writeFolder(t, { 'gateway.yaml': `${printGoodResources()}---\n${secret}` });
    assert.equal((await runCheck([], { MCP_GATEHOUSE_FILES: folder, TOKEN: 'hunter2' })).code, 0);
    const { code, err } = await runCheck([], { MCP_GATEHOUSE_FILES: folder });
    assert.equal(code, 1);
    assert.match(err, /stringData\.token: the environment variable TOKEN is not set/);
  });

  test('--json: one object, the same members for every problem, no secret', async () => {
    const { code, out, err } = await runCheck(['--json', '-f', join(testdata, 'check.yaml')]);
    assert.equal(code, 1);
    assert.equal(err, '');
    const report = JSON.parse(out) as Record<string, Record<string, unknown>[]>;
    assert.deepEqual(Object.keys(report), [
      'problems',
      'gateways',
      'access',
      'backends',
      'policies',
      'authentications',
      'jwtAuthentications',

      'conditions',
      'online',
      'servers',
      'warnings',
    ]);
    for (const problem of report['problems']!) {
      assert.deepEqual(Object.keys(problem), [
        'file',
        'line',
        'column',
        'kind',
        'namespace',
        'name',
        'path',
        'code',
        'message',
        'causedBy',
      ]);
    }
    const codes = report['problems']!.map((problem) => problem['code']);
    assert.deepEqual(codes, ['unknown_field', 'condition', 'condition', 'not_served', 'condition']);
    const lonely = report['problems']!.find(({ name }) => name === 'lonely');
    assert.deepEqual([lonely?.['line'], lonely?.['column'], lonely?.['kind']], [95, 74, 'ProxyPolicy']);
    assert.deepEqual(report['policies']!.find(({ name }) => name === 'broken')?.['attachments'], [
      { field: 'failure', target: 'HTTPRoute default/web', closed: true },
    ]);
  });

  test('--json: every policy on the way to a route, and why one has no say', async () => {
    const { out } = await runCheck(['--json', '-f', join(testdata, 'check-protection.yaml')]);
    const report = JSON.parse(out) as CheckReport;
    const routes = report.gateways.flatMap(({ listeners }) => listeners.flatMap(({ routes: own }) => own));
    const admin = routes.find(({ rule }) => rule === 'admin')?.protection;
    assert.deepEqual(
      [admin?.state, admin?.summary, admin?.closedBy],
      ['protected', 'token required, rules, CORS', null],
    );
    for (const policy of routes.flatMap(({ protection }) => protection.policies)) {
      assert.deepEqual(Object.keys(policy).toSorted(), [
        'action',
        'because',
        'expressions',
        'field',
        'inForce',
        'issuers',
        'level',
        'mode',
        'overriddenBy',
        'policy',
        'remark',
        'scopes',
        'target',
      ]);
      assert.equal(policy.inForce, policy.overriddenBy === null);
    }
    assert.deepEqual(
      admin?.policies.map(({ policy, field, inForce, because }) => [policy, field, inForce, because]),
      [
        ['default/admins', 'traffic.jwtAuthentication', true, null],
        ['default/everyone', 'traffic.jwtAuthentication', false, 'a more specific level wins'],
        ['default/admins', 'traffic.authorization', true, null],
        ['default/everyone', 'traffic.authorization', true, null],
        ['default/late', 'traffic.authorization', false, 'ProxyPolicy default/admins comes first by name'],
        ['default/late', 'traffic.cors', true, null],
        ['default/browsers', 'traffic.cors', false, 'a more specific level wins'],
      ],
    );
    const missing = report.problems.find(({ name }) => name === 'misspelled');
    assert.deepEqual([missing?.path, missing?.line], ['spec.targetRefs[0].sectionName', 157]);
    const closed = routes.filter(({ httpRoute }) => httpRoute === 'default/teams');
    assert.deepEqual(
      closed.map(({ protection, answers }) => [protection.state, protection.closedBy, answers?.status]),
      Array.from({ length: 2 }, () => ['closed', 'default/misspelled', 500]),
    );
    assert.deepEqual(report.policies.find(({ name }) => name === 'late')?.conflicts, [
      {
        field: 'traffic.authorization',
        target: 'HTTPRoute default/api, rule admin',
        owner: 'default/admins',
        because: 'ProxyPolicy default/admins comes first by name',
      },
    ]);
    assert.deepEqual(report.jwtAuthentications[0], {
      policy: 'default/admins',
      mode: 'Strict',
      location: 'header authorization after "Bearer "',
      providers: [{ name: 'staff', issuer: 'https://staff.example.com', audiences: [], keys: 'inline' }],
    });
    assert.equal(
      routes.find(({ httpRoute, rule }) => httpRoute === 'default/open' && rule === '1')?.protection.state,
      'protected',
    );
  });

  test('--json of files that cannot be read has the same members', async () => {
    const { code, out } = await runCheck(['--json', '-f', '/nowhere/at/all']);
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(out), {
      problems: [
        {
          file: '/nowhere/at/all',
          line: null,
          column: null,
          kind: null,
          namespace: null,
          name: null,
          path: '',
          code: 'not_found',
          message: 'does not exist',
          causedBy: null,
        },
      ],
      gateways: [],
      access: { routes: 0, open: 0, publicAccess: 0, closed: 0 },
      backends: [],
      policies: [],
      authentications: [],
      jwtAuthentications: [],
      conditions: [],
      online: null,
      servers: null,
      warnings: [],
    });
  });

  test('wrong usage is exit code 2 with the nearest flag; --help is 0', async () => {
    const wrong = await runCheck(['--jsn', '-f', 'x']);
    assert.deepEqual([wrong.code, wrong.out], [2, '']);
    assert.match(wrong.err, /unknown flag --jsn; did you mean --json\?/);
    const nothing = await runCheck([]);
    assert.equal(nothing.code, 2);
    assert.match(nothing.err, /say what to check: -f PATH/);
    const help = await runCheck(['--help']);
    assert.deepEqual([help.code, help.err], [0, '']);
    assert.match(
      help.out,
      /^Usage: mcp-gatehouse check -f PATH\.\.\. \[--inference-extension\] \[--deny-unprotected\] \[--allow-unattached\] \[--online \[--try-registration\]\] \[--json\]\n/,
    );
    assert.match(
      help.out,
      /problems +\[\{file, line, column, kind, namespace, name, path, code, message, causedBy\}\]/,
    );
  });
});
