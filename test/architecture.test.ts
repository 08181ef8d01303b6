// The house rules that a reader relies on: which folder may import which, no cycles, no rooms without a purpose.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { globSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const src = join(root, 'src');

/** Left may import right. A folder may always import itself. `cmd` may import everything. */
const allowed: Record<string, readonly string[]> = {
  cmd: [
    'api',
    'base',
    'cel',
    'demo',
    'gateway',
    'ir',
    'sources',
    'translate',
    'xds',
    'deploy',
    'kubernetes',
    'controller',
    'store',
  ],
  demo: ['base'],
  controller: ['api', 'base', 'deploy', 'ir', 'kubernetes', 'sources', 'translate', 'xds'],
  sources: ['api', 'base', 'kubernetes'],
  translate: ['api', 'cel', 'ir'],
  xds: ['ir', 'base'],
  gateway: ['ir', 'base', 'cel', 'http1', 'store'],
  http1: [],
  store: ['base'],
  deploy: ['api', 'base', 'kubernetes', 'translate'],
  kubernetes: ['base'],
  api: ['base', 'cel'],
  cel: ['base'],
  base: [],
  ir: ['base'],
};

/**
 * The folders inside the gateway, from the ground up: each may import those before it, and the files beside `gateway.ts` all of them. So no two of them import each
 * other. A folder stands where its imports need it; a subfolder is a folder of its own.
 */
const gatewayOrder: readonly string[] = [
  'http', // an exchange, its header fields, the reasons why it can end badly
  'authentication/token',
  'route/table',
  'config', // the configuration in the form that the request path uses: types
  'mcp/read', // bodies to messages
  'request', // what all steps share: the context, verdicts, decisions, answers
  'listen',
  'route',
  'filters',
  'authentication', // what JWT and MCP authentication have in common
  'authentication/login',
  'authentication/login/idp',
  'authentication/login/identity',
  'authentication/login/state',
  'authentication/login/issuer/grants',
  'authentication/login/issuer',
  'authentication/login/clients',
  'authentication/login/pages',
  'authentication/login/endpoints',
  'authentication/jwt',
  'authentication/mcp',
  'authorization',
  'mcp/names', // of a federation: the servers' and the clients'
  'mcp/answer',
  'mcp/judge',
  'mcp/streams',
  'mcp/sessions',
  'policies', // the chains
  'forward/upstream',
  'mcp/federation', // several servers as one: the targets, and what the process knows of them
  'mcp/federation/methods', // a call to a federation
  'inference',
  'forward',
  'observe',
  'config/compile',
  'admin',
  'workers',
  '', // gateway.ts and handle-request.ts
];

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

interface SourceFile {
  readonly path: string;
  readonly imports: readonly string[];
  readonly text: string;
}

function readSources(): SourceFile[] {
  return globSync('**/*.ts', { cwd: src }).map((name) => {
    const text = readFileSync(join(src, name), 'utf8');
    const imports = [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? '');
    return { path: name.split(sep).join('/'), imports, text };
  });
}

function resolveImport(from: string, specifier: string): string {
  return relative(src, resolve(src, dirname(from), specifier))
    .split(sep)
    .join('/');
}

const files = readSources();
const production = files.filter(
  ({ path }) => !path.endsWith('.test.ts') && !path.includes('/testdata/') && !path.includes('/testing/'),
);

test('the scan saw a plausible number of files and imports', () => {
  assert.ok(production.length >= 60, `only ${production.length} source files found`);
  const count = production.reduce((sum, file) => sum + file.imports.filter((name) => name.startsWith('.')).length, 0);
  assert.ok(count >= 120, `only ${count} relative imports found`);
});

test('folders import only what the architecture allows', () => {
  const wrong: string[] = [];
  for (const file of production) {
    const layer = file.path.split('/')[0]!;
    const mayImport = allowed[layer];
    if (mayImport === undefined) {
      wrong.push(`${file.path}: the folder ${layer}/ is not in the table of layers`);
      continue;
    }
    for (const specifier of file.imports) {
      if (!specifier.startsWith('.')) continue;
      const target = resolveImport(file.path, specifier);
      const targetLayer = target.split('/')[0]!;
      if (target.startsWith('..')) wrong.push(`${file.path} imports ${specifier}, outside src/`);
      else if (targetLayer !== layer && !mayImport.includes(targetLayer)) wrong.push(`${file.path} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('no production file relaxes which addresses are called', () => {
  const named = production.filter(({ text }) => text.includes('addressPolicy')).map(({ path }) => path);
  // The fetcher, where tests put their policy in; no production file sets one.
  assert.deepEqual(named, ['base/fetch-json.ts']);
});

test('inside the gateway every folder imports only what is below it', () => {
  const folderOf = (path: string): string => path.split('/').slice(1, -1).join('/');
  const inside = production.filter(({ path }) => path.startsWith('gateway/'));
  const folders = [...new Set(inside.map(({ path }) => folderOf(path)))];
  assert.deepEqual(
    folders.toSorted(),
    gatewayOrder.toSorted(),
    'every folder has its place in gatewayOrder, and no place is without one',
  );
  const wrong = inside.flatMap(({ path, imports }) => {
    const place = gatewayOrder.indexOf(folderOf(path));
    return imports
      .filter((name) => name.startsWith('.'))
      .map((name) => resolveImport(path, name))
      .filter((target) => target.startsWith('gateway/') && folderOf(target) !== folderOf(path))
      .filter((target) => gatewayOrder.indexOf(folderOf(target)) > place)
      .map((target) => `${path} imports ${target}`);
  });
  assert.deepEqual(wrong, []);
});

test('production code imports nothing that is for tests', () => {
  const wrong = production.flatMap((file) =>
    file.imports.filter((name) => /\/testing\/|\.test\.ts$/.test(name)).map((name) => `${file.path} imports ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test('no import cycle, types included', () => {
  const graph = new Map(
    production.map((file) => [
      file.path,
      file.imports.filter((name) => name.startsWith('.')).map((name) => resolveImport(file.path, name)),
    ]),
  );
  const done = new Set<string>();
  const stack: string[] = [];
  const cycles: string[] = [];
  const visit = (path: string): void => {
    const at = stack.indexOf(path);
    if (at !== -1) {
      cycles.push([...stack.slice(at), path].join(' -> '));
      return;
    }
    if (done.has(path)) return;
    stack.push(path);
    for (const next of graph.get(path) ?? []) visit(next);
    stack.pop();
    done.add(path);
  };
  for (const path of graph.keys()) visit(path);
  assert.deepEqual(cycles, []);
});

test('every relative import names a file that exists, with its ending', () => {
  const known = new Set(files.map((file) => file.path));
  const missing = files.flatMap((file) =>
    file.imports
      .filter((name) => name.startsWith('.'))
      .map((name) => resolveImport(file.path, name))
      .filter((target) => !target.startsWith('..') && !known.has(target))
      .map((target) => `${file.path} -> ${target}`),
  );
  assert.deepEqual(missing, []);
});

test('the gateway does not load demo or test packages', () => {
  const banned = [/^oidc-provider/, /^@modelcontextprotocol\//, /^fast-check/];
  const wrong = production
    .filter((file) => !file.path.startsWith('demo/'))
    .flatMap((file) =>
      file.imports
        .filter((name) => banned.some((pattern) => pattern.test(name)))
        .map((name) => `${file.path} imports ${name}`),
    );
  assert.deepEqual(wrong, []);
});

test('translate is pure: no clock, no network, no files, no randomness', () => {
  const impure = [/\bDate\.now\b/, /\bnew Date\(\)/, /\bMath\.random\b/, /\bperformance\.now\b/, /\bprocess\.env\b/];
  const banned = [
    'node:fs',
    'node:net',
    'node:http',
    'node:https',
    'node:http2',
    'node:tls',
    'node:dns',
    'node:child_process',
  ];
  const wrong: string[] = [];
  for (const file of production.filter((each) => each.path.startsWith('translate/'))) {
    for (const pattern of impure) if (pattern.test(file.text)) wrong.push(`${file.path} uses ${pattern.source}`);
    // isIP and its like are pure, and only happen to live beside sockets.
    const text = file.text.replace(
      /import \{ (?:(?:isIP(?:v[46])?|SocketAddress|BlockList)(?:, )?)+ \} from 'node:net';/,
      '',
    );
    const imports = [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? '');
    for (const name of imports)
      if (banned.some((ban) => name === ban || name.startsWith(`${ban}/`))) wrong.push(`${file.path} imports ${name}`);
  }
  assert.deepEqual(wrong, []);
});

test('the request path knows no node:http objects', () => {
  const wrong = production
    .filter((file) => file.path.startsWith('gateway/') && !/^gateway\/(listen|forward|admin)\//.test(file.path))
    .filter((file) => /\b(IncomingMessage|ServerResponse|Http2Stream)\b/.test(file.text.replace(/\/\/.*$/gm, '')))
    .map((file) => file.path);
  assert.deepEqual(wrong, []);
});

test('names say a purpose', () => {
  const odd = files.filter(
    (file) =>
      /(^|\/)(utils?|helpers?|common|misc|types)(\.ts|\/)/.test(file.path) ||
      (/[A-Z_]/.test(file.path) && !file.path.startsWith('ir/gen/')),
  );
  assert.deepEqual(
    odd.map((file) => file.path),
    [],
  );
});

test('source files stay small enough to be one concern', () => {
  const big = production
    .filter((file) => !file.path.startsWith('ir/gen/'))
    .filter((file) => file.text.split('\n').length > 450);
  assert.deepEqual(
    big.map((file) => `${file.path}: ${file.text.split('\n').length} lines`),
    [],
  );
});

test('the lock file is complete for every platform and names no registry host', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string>; resolved?: string; link?: true }>;
  };
  const entries = Object.entries(lock.packages);
  assert.ok(entries.length > 100);
  assert.deepEqual(
    entries.filter(([, { resolved, link }]) => resolved !== undefined && link === undefined).map(([name]) => name),
    [],
  );
  // Of a workspace it is its folder.
  assert.deepEqual(
    entries.flatMap(([, { resolved, link }]) => (link === true ? [resolved] : [])),
    ['scripts/checkout-node'],
  );
  // `npm ci` refuses a lock file that leaves out another platform's packages.
  const missing = entries.flatMap(([, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !entries.some(([path]) => path.endsWith(`node_modules/${name}`)),
    ),
  );
  assert.deepEqual(missing, []);
});

test('what the Inference Extension needs is loaded only by those who load it on purpose', () => {
  const loaders = new Map([
    ['gateway/inference/load-picked-call.ts', 'gateway/inference/picked-call.ts'],
    ['gateway/mcp/federation/methods/load-federated-call.ts', 'gateway/mcp/federation/methods/federated-call.ts'],
    ['translate/load-inference-translation.ts', 'translate/inference-translation.ts'],
  ]);
  const byPath = new Map(production.map((file) => [file.path, file]));
  const pattern = /(?:^|\n)\s*(?:import|export)\s(?!type\b)(?:[^'"`;]*?\sfrom\s)?\s*['"](\.[^'"]+)['"]/g;
  const dynamic = /(?<!typeof )\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g;
  const list = (file: SourceFile, kind: RegExp): string[] =>
    [...file.text.matchAll(kind)].map((match) => resolveImport(file.path, match[1]!));
  const loaded = new Set<string>();
  const visit = (path: string): void => {
    const file = byPath.get(path);
    if (loaded.has(path) || file === undefined) return;
    loaded.add(path);
    for (const next of list(file, pattern)) visit(next);
    // Commands load each other, and a few parts, on demand: all of that counts, but for what the switch guards.
    for (const next of list(file, dynamic)) if (loaders.get(path) !== next) visit(next);
  };
  visit('cmd/main.ts');
  assert.ok(loaded.has('translate/translate.ts') && loaded.has('gateway/forward/forward-request.ts'));
  for (const [loader, guarded] of loaders) {
    assert.ok(loaded.has(loader), loader);
    assert.deepEqual(list(byPath.get(loader)!, dynamic), [guarded]);
  }
  const isGuarded = (path: string): boolean =>
    path.startsWith('ir/gen/envoy/') ||
    /^translate\/(inference-|endpoint-picker)/.test(path) ||
    /^gateway\/inference\/(?!load-|pick-)/.test(path);
  assert.deepEqual([...loaded].filter(isGuarded).toSorted(), []);
  assert.ok([...byPath.keys()].filter(isGuarded).length > 10);
});

test('the page about the test kit shows a test that runs', () => {
  const page = readFileSync(join(root, 'test/kit/README.md'), 'utf8');
  const shown = readFileSync(join(root, 'test/integration/kit-example.test.ts'), 'utf8');
  assert.ok(
    page.includes(`\`\`\`ts\n${shown}\`\`\``),
    'test/kit/README.md and test/integration/kit-example.test.ts differ',
  );
});
