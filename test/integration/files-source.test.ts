// Files on disk -> resources, through everything that people and machines do to files.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, truncate, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Resources } from '../../src/api/resources.ts';
import { FilesSource, type FilesSourceOptions } from '../../src/sources/files/files-source.ts';
import { formatProblemLine } from '../../src/sources/files/problem-line.ts';
import { waitForValue } from '../kit/wait-for.ts';

const gateway = (name: string, port: number | string = 3000): string => `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: ${name}
spec:
  gatewayClassName: proxy
  listeners:
  - name: http
    port: ${port}
    protocol: HTTP
`;

const backend = (name: string, port = 3001): string => `apiVersion: gateway.proxy/v1alpha1
kind: ProxyBackend
metadata: {name: ${name}}
spec:
  mcp:
    targets:
    - name: ${name}
      static: {host: 127.0.0.1, port: ${port}, path: /mcp}
`;

const policy = (name: string, target = 'public', kind = 'ProxyPolicy'): string => `apiVersion: gateway.proxy/v1alpha1
kind: ${kind}
metadata:
  name: ${name}
spec:
  targetRefs:
  - {group: gateway.networking.k8s.io, kind: Gateway, name: ${target}}
  traffic:
    cors: {allowOrigins: ["https://a.example"]}
`;

const secret = (name: string, value: string): string => `apiVersion: v1
kind: Secret
metadata: {name: ${name}}
stringData:
  token: ${value}
`;

const keysPolicy = (name: string, file: string): string => `apiVersion: gateway.proxy/v1alpha1
kind: ProxyPolicy
metadata: {name: ${name}}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: public}]
  traffic:
    jwtAuthentication:
      providers:
      - name: idp
        issuer: https://idp.example
        jwks: {file: ${file}}
`;

const keySet = (kid: string): string =>
  JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', kid, x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] });

/** The text of the key set of the first policy in force. */
const inlineKeys = ({ proxyPolicies }: Resources): string | undefined =>
  proxyPolicies[0]?.spec.traffic?.jwtAuthentication?.providers[0]?.jwks.inline;

interface Fixture {
  readonly folder: string;
  readonly source: FilesSource;
  readonly write: (file: string, ...documents: readonly string[]) => Promise<void>;
  /** Resources as "Kind/namespace/name", with "!" in front of invalid ones. */
  readonly names: () => string[];
  /** Problems as lines, relative to the folder. */
  readonly lines: () => string[];
}

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'files-source-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function writeDocuments(folder: string, file: string, documents: readonly string[]): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), documents.join('---\n'));
}

function listNames(resources: Resources): string[] {
  const { invalid, unreadableSecretNamespaces: _, ...lists } = resources;
  const good = Object.values(lists).flatMap((list) =>
    list.map(({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`),
  );
  return [...good, ...invalid.map(({ kind, namespace, name }) => `!${kind}/${namespace}/${name}`)];
}

async function startSource(
  t: TestContext,
  files: Readonly<Record<string, readonly string[]>>,
  options: Partial<FilesSourceOptions> = {},
): Promise<Fixture> {
  const folder = await makeFolder(t);
  for (const [file, documents] of Object.entries(files)) await writeDocuments(folder, file, documents);
  const source = new FilesSource({
    paths: [folder],
    environment: {},
    workingDirectory: folder,
    watch: false,
    ...options,
  });
  t.after(() => source.stop());
  const started = await source.start();
  assert.deepEqual(started, { ok: true });
  return {
    folder,
    source,
    write: (file, ...documents) => writeDocuments(folder, file, documents),
    names: () => listNames(source.resources.get()),
    lines: () => source.problems.get().map((problem) => formatProblemLine(problem, folder)),
  };
}

const portIs =
  (port: number) =>
  (resources: Resources): boolean =>
    resources.gateways[0]?.spec.listeners[0]?.port === port;

const quickTimes = { settle: 5, settleDoubtful: 50, patience: 60_000, poll: 50 };

describe('at start', () => {
  test('resources come from all files, sorted by kind and name, with their places', async (t) => {
    const { folder, source, names, lines } = await startSource(t, {
      'z.yaml': [gateway('b'), backend('one')],
      'sub/a.json': [JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })],
      'c.yml': [gateway('a', 3002)],
    });
    assert.deepEqual(names(), [
      'Gateway/default/a',
      'Gateway/default/b',
      'Namespace//team',
      'ProxyBackend/default/one',
    ]);
    assert.deepEqual(lines(), []);
    const identity = { kind: 'ProxyBackend', namespace: 'default', name: 'one' };
    assert.deepEqual(source.locate(identity), { file: join(folder, 'z.yaml'), line: 12, column: 1 });
    assert.equal(source.locate({ ...identity, name: 'two' }), undefined);
  });

  test('the order of files and documents does not matter', async (t) => {
    const one = await startSource(t, { 'a.yaml': [gateway('a'), backend('x')], 'b.yaml': [policy('p')] });
    const other = await startSource(t, { 'a.yaml': [policy('p')], 'b.yaml': [backend('x'), gateway('a')] });
    assert.deepEqual(one.source.resources.get(), other.source.resources.get());
  });

  test('a resource that does not validate is reported with its place; the others are in force', async (t) => {
    const { names, lines } = await startSource(t, {
      'a.yaml': [gateway('good'), gateway('bad', '"80"').replace('protocol', 'protocl')],
    });
    assert.deepEqual(names(), ['Gateway/default/good', '!Gateway/default/bad']);
    assert.equal(lines().length, 2);
    assert.match(lines()[0]!, /^a\.yaml:20:11 spec\.listeners\[0\]\.port: must be .*number/);
    assert.match(lines()[1]!, /^a\.yaml:21:5 spec\.listeners\[0\]\.protocl: unknown field; did you mean `protocol`\?$/);
  });

  test('a missing field is reported at its parent', async (t) => {
    const { lines } = await startSource(t, { 'a.yaml': [gateway('a').replace('  gatewayClassName: proxy\n', '')] });
    assert.match(lines()[0]!, /^a\.yaml:5:1 spec\.gatewayClassName: required/);
  });

  const failures: readonly [what: string, prepare: (folder: string) => Promise<string[]>, line: RegExp][] = [
    ['a path that does not exist', async (folder) => [join(folder, 'nope')], /^nope: does not exist$/],
    [
      'a file with a syntax error',
      async (folder) => {
        await writeFile(join(folder, 'a.yaml'), gateway('a'));
        await writeFile(join(folder, 'b.yaml'), 'kind: ProxyPolicy\n  spec: [\n');
        return [folder];
      },
      /^b\.yaml:\d+:\d+: /,
    ],
    [
      'a file that is no text',
      async (folder) => {
        await writeFile(join(folder, 'b.yaml'), Buffer.from([0x6b, 0xff, 0xfe]));
        return [folder];
      },
      /^b\.yaml: is not UTF-8 text; save it as UTF-8$/,
    ],
    [
      'a file that is too large',
      async (folder) => {
        await writeFile(join(folder, 'b.yaml'), '');
        await truncate(join(folder, 'b.yaml'), 9 * 1024 * 1024);
        return [folder];
      },
      /^b\.yaml: is larger than 8 MiB/,
    ],
    [
      'a link that leads nowhere',
      async (folder) => {
        await symlink('gone.yaml', join(folder, 'b.yaml'));
        return [folder];
      },
      /^b\.yaml: does not exist$/,
    ],
  ];
  for (const [what, prepare, line] of failures) {
    test(`${what} is a failure: it may hold a policy`, async (t) => {
      const folder = await makeFolder(t);
      const source = new FilesSource({ paths: await prepare(folder), environment: {}, workingDirectory: folder });
      t.after(() => source.stop());
      const started = await source.start();
      assert.ok(!started.ok);
      assert.match(started.problems.map((problem) => formatProblemLine(problem, folder)).join('\n'), line);
      assert.deepEqual(listNames(source.resources.get()), []);
    });
  }

  test('a folder without files and a file without resources are no failures', async (t) => {
    const { lines, names } = await startSource(t, {});
    assert.deepEqual(
      lines().map((line) => line.replace(/^.*: /, '')),
      ['has no file that ends in .yaml, .yml or .json'],
    );
    assert.deepEqual(names(), []);
    const comments = await startSource(t, { 'a.yaml': ['# nothing here yet\n'] });
    assert.deepEqual(comments.lines(), []);
  });

  test('of two resources with the same name the later one is a problem that names the first', async (t) => {
    const { names, lines, source } = await startSource(t, {
      'a.yaml': [backend('x'), gateway('g')],
      'b.yaml': [gateway('g', 4000)],
    });
    assert.deepEqual(names(), ['Gateway/default/g', 'ProxyBackend/default/x']);
    assert.equal(source.resources.get().gateways[0]?.spec.listeners[0]?.port, 3000);
    assert.deepEqual(lines(), [
      'b.yaml:4:9 metadata.name: Gateway default/g is already written in a.yaml:13; rename or remove one of the two (this one is not in force)',
    ]);
  });

  test('a second policy of the same name closes what only it protects', async (t) => {
    const same = await startSource(t, { 'a.yaml': [policy('p')], 'b.yaml': [policy('p')] });
    assert.deepEqual(same.names(), ['ProxyPolicy/default/p']);
    const other = await startSource(t, { 'a.yaml': [policy('p')], 'b.yaml': [policy('p', 'private')] });
    assert.deepEqual(other.names(), ['ProxyPolicy/default/p', '!ProxyPolicy/default/p']);
  });

  test('a policy with a typo in its kind, or without one, fails closed', async (t) => {
    const { names, lines } = await startSource(t, {
      'a.yaml': [
        policy('a', 'public', 'ProxyPolcy'),
        policy('b').replace('kind: ProxyPolicy\n', ''),
        policy('c', 'public', 'Guard'),
      ],
    });
    assert.deepEqual(names(), ['!ProxyPolicy/default/a', '!ProxyPolicy/default/b', '!ProxyPolicy/default/c']);
    assert.match(lines()[0]!, /did you mean ProxyPolicy\? \(its target refuses requests/);
  });
});

describe('a resource that becomes bad', () => {
  test('keeps its last good form, and that is said', async (t) => {
    const { names, lines, source, write } = await startSource(t, { 'a.yaml': [gateway('g'), policy('p')] });
    await write('a.yaml', gateway('g', 0), policy('p', 'other'));
    await source.reload();
    assert.deepEqual(names(), ['Gateway/default/g', 'ProxyPolicy/default/p']);
    assert.equal(source.resources.get().gateways[0]?.spec.listeners[0]?.port, 3000);
    assert.equal(source.resources.get().proxyPolicies[0]?.spec.targetRefs?.[0]?.name, 'other');
    assert.equal(lines().length, 1);
    assert.match(lines()[0]!, /^a\.yaml:9:11 spec\.listeners\[0\]\.port: .* \(keeping the previous version\)$/);
    await write('a.yaml', gateway('g', 4000), policy('p', 'other'));
    await source.reload();
    assert.equal(source.resources.get().gateways[0]?.spec.listeners[0]?.port, 4000);
    assert.deepEqual(lines(), []);
  });

  test('keeps it over several bad edits, and when it moves to another file', async (t) => {
    const { names, source, write } = await startSource(t, { 'a.yaml': [gateway('g'), backend('x')] });
    await write('a.yaml', gateway('g', 0), backend('x'));
    await source.reload();
    await write('a.yaml', backend('x'));
    await write('b.yaml', gateway('g', 99_999));
    await source.reload();
    assert.deepEqual(names(), ['Gateway/default/g', 'ProxyBackend/default/x']);
    assert.equal(source.resources.get().gateways[0]?.spec.listeners[0]?.port, 3000);
  });

  test('is removed when it is deleted, and does not come back from memory', async (t) => {
    const { names, source, write } = await startSource(t, { 'a.yaml': [policy('p'), gateway('public')] });
    await write('a.yaml', gateway('public'));
    await source.reload();
    assert.deepEqual(names(), ['Gateway/default/public']);
    await write('a.yaml', policy('p').replace('targetRefs', 'targetRfs'), gateway('public'));
    await source.reload();
    assert.deepEqual(names(), ['Gateway/default/public', '!ProxyPolicy/default/p']);
  });

  const disguises: readonly [what: string, document: string][] = [
    ['its kind is misspelled', policy('p', 'public', 'ProxyPolcy')],
    ['its kind is gone', policy('p').replace('kind: ProxyPolicy\n', '')],
    ['its kind and its targets are gone', 'metadata: {name: p}\n'],
    ['its name is gone', policy('p').replace('metadata:\n  name: p\n', '')],
    ['it is no mapping any more', 'ProxyPolicy\n'],
  ];
  for (const [what, document] of disguises) {
    test(`is not taken for deleted when ${what}`, async (t) => {
      const { names, lines, source, write } = await startSource(t, { 'a.yaml': [policy('p'), gateway('public')] });
      await write('a.yaml', document, gateway('public'));
      await source.reload();
      assert.deepEqual(names(), ['Gateway/default/public', 'ProxyPolicy/default/p']);
      assert.match(lines()[0]!, /keeping the previous version/);
    });
  }
});

describe('a file that becomes bad', () => {
  const damages: readonly [what: string, damage: (file: string) => Promise<void>, line: RegExp][] = [
    [
      'is emptied',
      (file) => truncate(file, 0),
      /^policy\.yaml: has no resources any more; .* \(keeping its previous content\)$/,
    ],
    [
      'has only comments left',
      (file) => writeFile(file, '# nothing\n---\n'),
      /^policy\.yaml: has no resources any more/,
    ],
    [
      'has only an empty list left',
      (file) => writeFile(file, 'apiVersion: v1\nkind: List\nitems: []\n'),
      /^policy\.yaml: has no resources/,
    ],
    [
      'has a syntax error',
      (file) => writeFile(file, 'kind: [\n'),
      /^policy\.yaml:\d+:\d+: .* \(keeping its previous content\)$/,
    ],
    ['is broken off', (file) => truncate(file, 40), /^policy\.yaml.*keeping/],
    [
      'has a key twice',
      (file) => writeFile(file, `${policy('p')}kind: ProxyPolicy\n`),
      /"kind" appears twice.*\(keeping its previous content\)$/,
    ],
    [
      'is replaced by a link that leads nowhere',
      async (file) => {
        await unlink(file);
        await symlink('gone', file);
      },
      /^policy\.yaml: does not exist \(keeping its previous content\)$/,
    ],
  ];
  for (const [what, damage, line] of damages) {
    test(`keeps its content when it ${what}, until it is mended`, async (t) => {
      const { folder, names, lines, source, write } = await startSource(t, {
        'policy.yaml': [policy('p')],
        'a.yaml': [gateway('public')],
      });
      const before = source.resources.get();
      await damage(join(folder, 'policy.yaml'));
      await source.reload();
      assert.equal(source.resources.get(), before);
      assert.match(lines().join('\n'), line);
      // What else changed takes effect, and the file is still remembered at the next change.
      await write('a.yaml', gateway('public', 4000));
      await source.reload();
      assert.deepEqual(names(), ['Gateway/default/public', 'ProxyPolicy/default/p']);
      assert.equal(source.resources.get().gateways[0]?.spec.listeners[0]?.port, 4000);
      await rm(join(folder, 'policy.yaml'));
      await write('policy.yaml', policy('p', 'other'));
      await source.reload();
      assert.deepEqual(lines(), []);
      assert.equal(source.resources.get().proxyPolicies[0]?.spec.targetRefs?.[0]?.name, 'other');
    });
  }

  test('is gone when it is deleted', async (t) => {
    const { folder, names, lines, source } = await startSource(t, {
      'policy.yaml': [policy('p')],
      'a.yaml': [gateway('public')],
    });
    await rm(join(folder, 'policy.yaml'));
    await source.reload();
    assert.deepEqual(names(), ['Gateway/default/public']);
    assert.deepEqual(lines(), []);
  });

  test('that was named on the command line is gone when it is deleted, and reported', async (t) => {
    const folder = await makeFolder(t);
    await writeDocuments(folder, 'a.yaml', [gateway('a')]);
    await writeDocuments(folder, 'b.yaml', [gateway('b', 3001)]);
    const fixture = await startSource(t, {}, { paths: [join(folder, 'a.yaml'), join(folder, 'b.yaml')] });
    await rm(join(folder, 'b.yaml'));
    await fixture.source.reload();
    assert.deepEqual(fixture.names(), ['Gateway/default/a']);
    assert.match(fixture.lines()[0]!, /b\.yaml: does not exist$/);
  });

  test('a folder that disappears keeps everything: it may be a lost mount', async (t) => {
    const folder = await makeFolder(t);
    await writeDocuments(folder, 'conf/a.yaml', [gateway('a')]);
    const fixture = await startSource(t, {}, { paths: [join(folder, 'conf')] });
    await rename(join(folder, 'conf'), join(folder, 'elsewhere'));
    await fixture.source.reload();
    assert.deepEqual(fixture.names(), ['Gateway/default/a']);
    assert.match(fixture.lines()[0]!, /conf: does not exist \(keeping its previous content\)$/);
    await rename(join(folder, 'elsewhere'), join(folder, 'conf'));
    await fixture.source.reload();
    assert.deepEqual(fixture.lines(), []);
  });

  test('a change that is bad as a whole leaves everything as it was, and says so', async (t) => {
    const { lines, source, write } = await startSource(t, { 'a.yaml': [gateway('a')], 'b.yaml': [policy('p')] });
    const before = source.resources.get();
    await write('a.yaml', 'a: [');
    await write('b.yaml', '\tb');
    await source.reload();
    assert.equal(source.resources.get(), before);
    assert.equal(lines().length, 2);
    for (const line of lines()) assert.match(line, /\(keeping its previous content\)$/);
  });

  test('a new file that is broken holds back what came with it: it may hold the policy for it', async (t) => {
    const { folder, names, lines, source, write } = await startSource(t, { 'a.yaml': [gateway('a')] });
    await write('b.yaml', gateway('b', 3001));
    await write('policy.yaml', 'kind: [');
    await source.reload();
    assert.deepEqual(names(), ['Gateway/default/a']);
    assert.match(
      lines()[0]!,
      /^policy\.yaml:.* \(it may hold a policy, so the previous configuration stays in force until it can be read\)$/,
    );
    await write('policy.yaml', policy('p', 'b'));
    await source.reload();
    assert.deepEqual(names(), ['Gateway/default/a', 'Gateway/default/b', 'ProxyPolicy/default/p']);
    await write('c.yaml', 'kind: [');
    await source.reload();
    await rm(join(folder, 'c.yaml'));
    await source.reload();
    assert.deepEqual(lines(), []);
  });
});

describe('keys of a policy in a file', () => {
  test('are read beside the file that names them; one that is broken later keeps the previous keys', async (t) => {
    const { folder, names, lines, source } = await startSource(t, {
      'conf/a.yaml': [gateway('public'), keysPolicy('p', 'keys.json')],
      // Of a folder that is read: a key set is no resource.
      'conf/keys.json': [keySet('one')],
    });
    const file = join(folder, 'conf/keys.json');
    assert.deepEqual(lines(), []);
    assert.deepEqual(names(), ['Gateway/default/public', 'ProxyPolicy/default/p']);
    assert.equal(inlineKeys(source.resources.get()), keySet('one'));
    const damages: readonly (readonly [text: string, problem: string])[] = [
      ['{', 'is not valid JSON'],
      ['{}', 'is not a key set; use a JSON object with a non-empty list `keys`'],
      ['{"keys": [{"kty": "oct", "k": "AA"}]}', 'keys[0] is a symmetric key; use a public key'],
      [
        '{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA", "d": "hunter2"}]}',
        'keys[0] is a private key; paste the public one (without d)',
      ],
      ['{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}, 7]}', 'has no public key that can be read'],
      [`{"keys": [], "x": "${'x'.repeat(65_536)}"}`, 'is larger than 64 KiB, the maximum'],
    ];
    for (const [text, problem] of damages) {
      await writeFile(file, text);
      await source.reload();
      const place = 'conf/a.yaml:22:22 spec.traffic.jwtAuthentication.providers[0].jwks.file';
      assert.deepEqual(lines(), [`${place}: the file ${file} ${problem} (keeping the previous version)`]);
      assert.equal(source.problems.get()[0]?.code, 'unresolved_value');
      assert.equal(inlineKeys(source.resources.get()), keySet('one'), text);
    }
    await rm(file);
    await source.reload();
    assert.match(lines()[0]!, /keys\.json does not exist \(keeping the previous version\)$/);
    assert.equal(inlineKeys(source.resources.get()), keySet('one'));
    await writeFile(file, keySet('two'));
    await source.reload();
    assert.deepEqual(lines(), []);
    assert.equal(inlineKeys(source.resources.get()), keySet('two'));
  });

  test('missing at the start: the policy is invalid, and its targets are known', async (t) => {
    const { names, lines, source } = await startSource(t, {
      'a.yaml': [gateway('public'), keysPolicy('p', '../nowhere/keys.json')],
    });
    assert.deepEqual(names(), ['Gateway/default/public', '!ProxyPolicy/default/p']);
    assert.match(
      lines()[0]!,
      /jwks\.file: the file .*nowhere\/keys\.json does not exist \(its target refuses requests until this is fixed\)$/,
    );
    const [invalid] = source.resources.get().invalid;
    assert.deepEqual((invalid!.raw as { spec: { targetRefs: unknown } }).spec.targetRefs, [
      { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'public' },
    ]);
  });

  test('only regular files are read, and only instead of inline', async (t) => {
    const folder = await makeFolder(t);
    await promisify(execFile)('mkfifo', [join(folder, 'pipe')]);
    for (const [file, problem] of [
      ['/dev/zero', /the file \/dev\/zero is not a regular file/],
      [join(folder, 'pipe'), /pipe is not a regular file/],
      [folder, /is (?:a folder|not a regular file)/],
      ['"a\\0b"', /cannot be read \(ERR_INVALID_ARG_VALUE\)/],
      ["keys.json, inline: '{}'", /jwks: must have either inline or file, not both/],
      ['""', /jwks\.file: must not be empty/],
      ['[7]', /jwks\.file: must be a string/],
      ['"${KEYS}"', /^[^\n]*jwks\.file: \$\{NAME\} is replaced in stringData of a Secret only[^\n]*$/],
    ] as const) {
      const { names, lines } = await startSource(t, { 'a.yaml': [keysPolicy('p', file)] });
      assert.deepEqual(names(), ['!ProxyPolicy/default/p']);
      assert.match(lines().join('\n'), problem);
    }
  });

  test('a file of resources that is named by mistake is still read', async (t) => {
    const { names, lines } = await startSource(t, {
      'a.yaml': [keysPolicy('p', 'b.yaml')],
      'b.yaml': [gateway('public'), policy('q')],
    });
    assert.deepEqual(names(), ['Gateway/default/public', 'ProxyPolicy/default/q', '!ProxyPolicy/default/p']);
    assert.match(lines()[0]!, /b\.yaml is not valid JSON/);
  });
});

describe('Secrets', () => {
  test('take values from the environment and from files; a missing one is a problem', async (t) => {
    const folder = await makeFolder(t);
    await writeFile(join(folder, 'token'), 'from a file\n');
    const { names, lines, source, write } = await startSource(
      t,
      {
        'a.yaml': [
          secret('env', '${TOKEN}'),
          secret('file', `\${file:${join(folder, 'token')}}`),
          secret('lost', '${NOPE}'),
        ],
      },
      { environment: { TOKEN: 'from the environment' } },
    );
    assert.deepEqual(
      source.resources.get().secrets.map(({ stringData }) => stringData['token']),
      ['from the environment', 'from a file'],
    );
    assert.deepEqual(names(), ['Secret/default/env', 'Secret/default/file', '!Secret/default/lost']);
    assert.deepEqual(lines(), [
      'a.yaml:17:10 stringData.token: the environment variable NOPE is not set; set it, or write ${file:/path/to/file}',
    ]);
    assert.equal(source.problems.get()[0]?.code, 'unresolved_value');
    await writeFile(join(folder, 'token'), 'changed');
    await source.reload();
    assert.equal(source.resources.get().secrets[1]?.stringData['token'], 'changed');
    await rm(join(folder, 'token'));
    await source.reload();
    assert.equal(source.resources.get().secrets[1]?.stringData['token'], 'changed');
    assert.match(
      lines()[0]!,
      /^a\.yaml:11:10 stringData\.token: the file .*token does not exist \(keeping the previous version\)$/,
    );
    await write('a.yaml', gateway('a').replace('name: http', 'name: ${TOKEN}'));
    await source.reload();
    assert.match(lines()[0]!, /listeners\[0\]\.name/);
  });

  test('never show their values in a problem, nor in what is handed on as invalid', async (t) => {
    const value = 'hunter2-hunter2';
    const bad = (change: (text: string) => string): string => change(secret('s', value));
    const documents = [
      bad((text) => text.replace('token:', 'to ken:')),
      bad((text) => text.replace('stringData', 'stringDta')),
      bad((text) => text.replace('stringData', 'data')),
      bad((text) => text.replace('Secret', 'Secrt')),
      bad((text) => text.replace('kind: Secret\n', '')),
      bad((text) => text.replace('Secret', 'Unheard')),
      bad((text) => text.replace(/stringData:[^]*/, `stringData: ${value}\n`)),
      bad((text) => text.replace(/stringData:[^]*/, `stringData: [${value}]\n`)),
      bad((text) => text.replace(/stringData:[^]*/, `spec: {token: ${value}}\n`)),
      bad((text) => `${text}type: [${value}]\n`),
      bad((text) => text.replace(value, `${value}\${${value}`)),
      bad((text) => text.replace(value, '${EMPTY}')),
      bad((text) => text.replace(value, `[${value}]`)),
      bad((text) => text.replace('v1', value)),
    ];
    for (const document of documents) {
      const { lines, source } = await startSource(t, { 'a.yaml': [document] }, { environment: { EMPTY: '' } });
      assert.ok(lines().length > 0, document);
      assert.doesNotMatch(lines().join('\n'), /hunter2/);
      assert.doesNotMatch(JSON.stringify([source.problems.get(), source.resources.get().invalid]), /hunter2/, document);
    }
  });
});

describe('changes on disk are noticed', { timeout: 180_000 }, () => {
  const watched = { watch: true, watchTimes: quickTimes };

  for (const [mode, watchTimes] of [
    ['by notices', { ...quickTimes, poll: 3_600_000 }],
    ['by looking from time to time', quickTimes],
  ] as const) {
    test(`${mode}: written in place, replaced by a rename, removed, and in a new folder`, async (t) => {
      const { folder, source, write } = await startSource(t, { 'a.yaml': [gateway('g')] }, { watch: true, watchTimes });
      await write('a.yaml', gateway('g', 3001));
      await waitForValue(source.resources, portIs(3001));
      await write('a.yaml.tmp', gateway('g', 3002));
      await rename(join(folder, 'a.yaml.tmp'), join(folder, 'a.yaml'));
      await waitForValue(source.resources, portIs(3002));
      await write('new/deep/b.yaml', backend('x'));
      await waitForValue(source.resources, ({ proxyBackends }) => proxyBackends.length === 1);
      await write('new/deep/b.yaml', backend('x', 3009));
      await waitForValue(
        source.resources,
        ({ proxyBackends }) => proxyBackends[0]?.spec.mcp.targets[0]?.static?.port === 3009,
      );
      await rm(join(folder, 'new'), { recursive: true });
      await waitForValue(source.resources, ({ proxyBackends }) => proxyBackends.length === 0);
      await write('a.yaml', gateway('g', 0));
      const problems = await waitForValue(source.problems, ([problem]) => problem?.code === 'invalid');
      assert.match(problems[0]!.consequence ?? '', /keeping the previous version/);
      assert.ok(portIs(3002)(source.resources.get()));
    });
  }

  test('a mounted ConfigMap that is swapped, seen as a whole', async (t) => {
    const folder = await makeFolder(t);
    await writeDocuments(folder, '..1/a.yaml', [gateway('g', 3001)]);
    await writeDocuments(folder, '..1/b.yaml', [backend('x', 3001)]);
    await symlink('..1', join(folder, '..data'));
    await symlink('..data/a.yaml', join(folder, 'a.yaml'));
    await symlink('..data/b.yaml', join(folder, 'b.yaml'));
    const { source } = await startSource(t, {}, { ...watched, paths: [folder] });
    const seen: (readonly [number | undefined, number | undefined])[] = [];
    source.resources.subscribe(({ gateways, proxyBackends }) =>
      seen.push([gateways[0]?.spec.listeners[0]?.port, proxyBackends[0]?.spec.mcp.targets[0]?.static?.port]),
    );
    for (const port of [3002, 3003, 3004]) {
      await writeDocuments(folder, `..${port}/a.yaml`, [gateway('g', port)]);
      await writeDocuments(folder, `..${port}/b.yaml`, [backend('x', port)]);
      await symlink(`..${port}`, join(folder, '..data_tmp'));
      await rename(join(folder, '..data_tmp'), join(folder, '..data'));
      await waitForValue(source.resources, portIs(port));
    }
    assert.deepEqual(seen, [
      [3002, 3002],
      [3003, 3003],
      [3004, 3004],
    ]);
  });

  test('a folder behind a link that is pointed elsewhere', async (t) => {
    const folder = await makeFolder(t);
    await writeDocuments(folder, 'v1/a.yaml', [gateway('g', 3001)]);
    await writeDocuments(folder, 'v2/a.yaml', [gateway('g', 3002)]);
    await symlink('v1', join(folder, 'current'));
    const { source } = await startSource(
      t,
      {},
      { ...watched, paths: [join(folder, 'current')], watchTimes: { ...quickTimes, poll: 3_600_000 } },
    );
    await symlink('v2', join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, 'current'));
    await waitForValue(source.resources, portIs(3002));
  });

  test('a file that a Secret takes its value from', async (t) => {
    const folder = await makeFolder(t);
    await writeFile(join(folder, 'token'), 'one');
    const { source } = await startSource(
      t,
      { 'a.yaml': [secret('s', `\${file:${join(folder, 'token')}}`)] },
      { ...watched, watchTimes: { ...quickTimes, poll: 3_600_000 } },
    );
    await writeFile(join(folder, 'token.tmp'), 'two');
    await rename(join(folder, 'token.tmp'), join(folder, 'token'));
    await waitForValue(source.resources, ({ secrets }) => secrets[0]?.stringData['token'] === 'two');
  });

  test('a file with the keys of a policy', async (t) => {
    const folder = await makeFolder(t);
    await writeFile(join(folder, 'keys.json'), keySet('one'));
    const { source } = await startSource(
      t,
      { 'a.yaml': [gateway('public'), keysPolicy('p', join(folder, 'keys.json'))] },
      { ...watched, watchTimes: { ...quickTimes, poll: 3_600_000 } },
    );
    await writeFile(join(folder, 'keys.tmp'), keySet('two'));
    await rename(join(folder, 'keys.tmp'), join(folder, 'keys.json'));
    await waitForValue(source.resources, (resources) => inlineKeys(resources) === keySet('two'));
    await writeFile(join(folder, 'keys.json'), '{"keys": [');
    await waitForValue(source.problems, ([problem]) => problem?.message.endsWith('is not valid JSON') === true);
    assert.equal(inlineKeys(source.resources.get()), keySet('two'));
  });

  test('touching a file, or writing the same again, causes nothing', async (t) => {
    const { folder, source, write } = await startSource(
      t,
      { 'a.yaml': [gateway('g')] },
      { ...watched, watchTimes: { ...quickTimes, settleDoubtful: 600_000 } },
    );
    const seen: (number | undefined)[] = [];
    let problems = 0;
    source.resources.subscribe(({ gateways }) => seen.push(gateways[0]?.spec.listeners[0]?.port));
    source.problems.subscribe(() => problems++);
    await utimes(join(folder, 'a.yaml'), 1, 1);
    await source.reload();
    await write('a.yaml', `# a comment\n${gateway('g')}`);
    await source.reload();
    await writeFile(join(folder, 'notes.txt'), 'x');
    await write('a.yaml', gateway('g', 3001));
    await waitForValue(source.resources, portIs(3001));
    assert.deepEqual(seen, [3001]);
    assert.equal(problems, 0);
  });

  test('the last of many quick changes is never missed, also of the same size', async (t) => {
    const { folder, source } = await startSource(t, { 'a.yaml': [gateway('g')] }, watched);
    for (let round = 0; round < 5; round++) {
      const last = 4000 + round * 100 + 39;
      for (let port = last - 39; port <= last; port++) await writeFile(join(folder, 'a.yaml'), gateway('g', port));
      await waitForValue(source.resources, portIs(last));
    }
  });

  test('steady writing does not hold up changes for ever', async (t) => {
    const { folder, source } = await startSource(
      t,
      { 'a.yaml': [gateway('g')] },
      { ...watched, watchTimes: { ...quickTimes, settle: 20, patience: 100 } },
    );
    let port = 5000;
    const done = new AbortController();
    const writing = (async () => {
      while (!done.signal.aborted)
        await writeFile(join(folder, 'a.yaml'), gateway('g', (port = port === 60_000 ? 5000 : port + 1)));
    })();
    try {
      await waitForValue(source.resources, ({ gateways }) => (gateways[0]?.spec.listeners[0]?.port ?? 0) > 5000);
    } finally {
      done.abort();
      await writing;
    }
    await waitForValue(source.resources, portIs(port));
  });

  test('an editor that deletes a file before it writes it anew takes nothing away', async (t) => {
    const { folder, source, write } = await startSource(
      t,
      { 'a.yaml': [gateway('g')], 'policy.yaml': [policy('p', 'g')] },
      { ...watched, watchTimes: { ...quickTimes, settleDoubtful: 600_000 } },
    );
    const seen: number[] = [];
    source.resources.subscribe(({ proxyPolicies }) => seen.push(proxyPolicies.length));
    const text = await readFile(join(folder, 'policy.yaml'), 'utf8');
    for (let round = 0; round < 3; round++) {
      await rename(join(folder, 'policy.yaml'), join(folder, 'policy.yaml~'));
      await writeFile(join(folder, 'policy.yaml'), text.slice(0, 10));
      await writeFile(join(folder, 'policy.yaml'), text);
    }
    await write('a.yaml', gateway('g', 3001));
    await waitForValue(source.resources, portIs(3001));
    assert.deepEqual(seen, [1]);
  });

  test('nothing changes after stop', async (t) => {
    const { source, write } = await startSource(t, { 'a.yaml': [gateway('g')] }, watched);
    await write('a.yaml', gateway('g', 3001));
    await source.stop();
    const stopped = source.resources.get();
    const other = await startSource(t, { 'a.yaml': [gateway('g')] }, watched);
    await write('a.yaml', gateway('g', 3002));
    await other.write('a.yaml', gateway('g', 3003));
    await waitForValue(other.source.resources, portIs(3003));
    assert.equal(source.resources.get(), stopped);
    await source.stop();
  });
});
