// docs/install.md: its values are values of the chart, its links lead somewhere, and what it quotes is what the program says.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { parseAllDocuments } from 'yaml';
import { compileExpression } from '../src/cel/compile-expression.ts';
import { checkCertificate } from '../src/controller/check-certificate.ts';

const root = join(import.meta.dirname, '..');
const readText = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = readText('docs/install.md');

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
}

const schema = JSON.parse(readText('charts/proxy/values.schema.json')) as Schema;

/** Keys of a value that the schema does not know, as paths. */
function findUnknown(value: unknown, known: Schema | undefined, path = ''): string[] {
  if (known === undefined) return [path];
  if (Array.isArray(value))
    return value.flatMap((item, index) => findUnknown(item, known.items ?? {}, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
    const more = typeof known.additionalProperties === 'object' ? known.additionalProperties : undefined;
    const isOpen = known.additionalProperties !== false && known.properties === undefined;
    return findUnknown(member, known.properties?.[key] ?? more ?? (isOpen ? {} : undefined), `${path}.${key}`);
  });
}

/** `a.b[0].c=1` as a value. */
function readSetFlag(flag: string): unknown {
  const [path = '', text] = flag.split('=');
  const steps = [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)];
  let value: unknown = text;
  for (const [, key] of steps.toReversed()) value = key === undefined ? [value] : { [key]: value };
  return value;
}

describe('values', () => {
  const flags = [...page.matchAll(/--set(?:-string|-json)? '?([^\s'`]+=[^\s'`]*)/g)].map(([, flag]) => flag!);
  const blocks = [...page.matchAll(/^```yml\n([\s\S]*?)^```$/gm)]
    .flatMap(([, text]) => parseAllDocuments(text!))
    .map((document) => {
      assert.deepEqual(document.errors, []);
      return document.toJS() as Readonly<Record<string, unknown>>;
    });
  const values = blocks.filter((block) => block['apiVersion'] === undefined);

  test('there are some', () => assert.ok(flags.length >= 5 && values.length >= 3, `${flags.length} ${values.length}`));
  for (const flag of flags) test(`--set ${flag}`, () => assert.deepEqual(findUnknown(readSetFlag(flag), schema), []));
  for (const value of values)
    test(`the values ${Object.keys(value).join(', ')}`, () => assert.deepEqual(findUnknown(value, schema), []));

  test('one that does not exist is found', () => {
    assert.deepEqual(findUnknown(readSetFlag('controller.xds.tls.on=true'), schema), ['.controller.xds.tls.on']);
    assert.deepEqual(findUnknown(readSetFlag('imagePullSecrets[0].nam=x'), schema), ['.imagePullSecrets[0].nam']);
    assert.deepEqual(findUnknown({ controllers: 1 }, schema), ['.controllers']);
  });
});

describe('links', () => {
  for (const from of ['docs/install.md', 'docs/monitoring/README.md']) {
    for (const [, target = ''] of readText(from).matchAll(/\]\(([^)]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      test(`${from}: ${target}`, () => {
        const [file = '', anchor] = target.split('#');
        const path = file === '' ? from : join(dirname(from), file);
        assert.ok(existsSync(join(root, path)), path);
        if (anchor !== undefined) assert.ok(listAnchors(readText(path)).includes(anchor), `${path} has no #${anchor}`);
      });
    }
  }
});

/** The anchors of a page's headings, as its readers make them. */
function listAnchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('what the program says', () => {
  const problems = page.slice(page.indexOf('## Day-2 problems'));
  const sources = globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .map(readText)
    .concat(listComposed())
    .join('\n');
  /** Sentences have a blank in them; what differs from case to case is `...`, or an example. */
  const quoted = problems
    .split('\n- ')
    .slice(1)
    .map((item) => item.split('\n\n')[0]!)
    .filter((item) => /^(?:log|status|readyz|Event)\b/.test(item) || /^to (?:read|write|the Lease): log/.test(item))
    .flatMap((item) => [...item.matchAll(/`([^`]+)`/g)].map(([, text]) => text!))
    .filter((text) => text.includes(' '));

  test('there is some', () => assert.ok(quoted.length > 30, `${quoted.length}`));
  for (const text of quoted) {
    test(text, () => {
      for (const part of listFixedParts(text)) assert.ok(sources.includes(part), `nothing in src says: ${part}`);
    });
  }

  test('metrics exist', () => {
    const names = [...page.matchAll(/`(mcp_gateway_\w+)`/g)].map(([, name]) => name!);
    assert.ok(names.length > 10);
    // The controller's are written with a prefix: `${prefix}_leader`.
    const isThere = (name: string): boolean =>
      sources.includes(`'${name}'`) ||
      [`\${prefix}_`, ''].some((prefix) =>
        ['`', "'"].some((mark) =>
          sources.includes(`${mark}${prefix}${name.replace('mcp_gateway_controller_', '')}${mark}`),
        ),
      );
    assert.deepEqual(
      names.filter((name) => !isThere(name)),
      [],
    );
  });

  test('reasons of Events exist', () => {
    for (const [, reason = ''] of problems.matchAll(/Events? `(\w+)`/g))
      assert.ok(sources.includes(`'${reason}'`), reason);
  });
});

/** Sentences that are put together of words. */
function listComposed(): string[] {
  const noFiles = { certificateChain: undefined, privateKey: undefined, ca: undefined };
  const missing = checkCertificate(noFiles, 'proxy.proxy-system.svc', 0);
  const malformed = compileExpression('jwt.groups +', 'request');
  return [missing.ok ? '' : missing.problem, malformed.ok ? '' : malformed.problem.message];
}

/** What of a quoted sentence is the program's own: without the names of the examples, and what the API server says. */
function listFixedParts(text: string): string[] {
  const ofOthers = /is forbidden: User|cannot list resource|404 page not found|Waiting for controller/;
  if (ofOthers.test(text)) return [];
  return text
    .replace(/^(?:Programmed|Accepted) is False, (\w+): /, '$1...')
    .replace(/spec\.[^:]+: line \d+, column \d+: /, '')
    .split(
      /\.\.\.|proxy\.proxy-system\.svc|tools\/[\w-]+|; issuer|\(\/etc\/mcp-gateway\/xds-tls\)|; the configuration in force/,
    )
    .map((part) => part.replace(/^\W+|[\s.;:,]+$/g, ''))
    .filter((part) => part.length > 6);
}

describe('TLS in two commands', () => {
  const [, block = ''] = /^Turn it on in two commands.*\n```sh\n([\s\S]*?)^```$/m.exec(page)!;
  const [make = '', upgrade = ''] = block.trim().split('\n');
  const [openssl = '', kubectl = ''] = make.split(' && ');

  test('they are two, and the second sets the value', () => {
    assert.equal(block.trim().split('\n').length, 2);
    assert.match(upgrade, /^helm upgrade proxy charts\/proxy .* --set controller\.xds\.tls\.enabled=true$/);
  });

  test('the first makes a certificate that the controller serves with, and gateways trust', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-two-commands-'));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const [program = '', ...args] = openssl.split(' ');
    const { error, status, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
    if (error !== undefined) return context.skip('there is no openssl');
    assert.equal(status, 0, stderr);
    const files = Object.fromEntries(
      [...kubectl.matchAll(/--from-file=([\w.]+)(?:=([\w.]+))?/g)].map(([, key, file = key]) => [
        key!,
        readFileSync(join(folder, file!), 'utf8'),
      ]),
    );
    const { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca } = files;
    const check = checkCertificate(
      { certificateChain: cert, privateKey: key, ca },
      'proxy.proxy-system.svc',
      Date.now(),
    );
    assert.ok(check.ok, JSON.stringify(check));
    const server = createServer({ cert, key }, (socket) => socket.end()).listen(0, '127.0.0.1');
    context.after(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', servername: 'proxy.proxy-system.svc', ca });
    await once(socket, 'secureConnect');
    assert.equal(socket.authorized, true);
    socket.destroy();
  });
});
