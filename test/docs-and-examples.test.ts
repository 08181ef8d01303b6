// Everything we show people as configuration is loaded here, exactly as they would load it.
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCheckCommand } from '../src/cmd/check.ts';
import { reasons } from '../src/gateway/reasons.ts';
import { createCertificate } from './self-signed-certificate.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const scratch = mkdtempSync(join(tmpdir(), 'mcp-gateway-docs-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const certificate = createCertificate({ names: ['mcp.example.com', '*.example.com'] });
writeFileSync(join(scratch, 'tls.crt'), certificate.cert);

interface CheckResult {
  readonly code: number;
  readonly problems: readonly { readonly code: string; readonly line: number; readonly message: string }[];
}

async function check(path: string): Promise<CheckResult> {
  let output = '';
  const io = {
    stdout: (text: string) => void (output += text),
    stderr: (text: string) => void (output += text),
    color: false,
    env: { TLS_CRT: certificate.cert, TLS_KEY: certificate.key },
  };
  const code = await runCheckCommand(['-f', path, '--json'], io);
  return { code, problems: (JSON.parse(output) as CheckResult).problems };
}

describe('examples', () => {
  const files = globSync('examples/**/*.yaml', { cwd: root });
  test('there are some', () => assert.ok(files.length >= 5, `${files.length} found`));
  for (const file of files) {
    test(file, async () => {
      const { code, problems } = await check(join(root, file));
      assert.deepEqual(problems, []);
      assert.equal(code, 0);
    });
  }
});

describe('YAML in the documentation', () => {
  const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root })];
  const blocks = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((match, index) => ({ page, index, yaml: match[1]! }));
  });
  test('there are some', () => assert.ok(blocks.length >= 3, `${blocks.length} found`));
  for (const { page, index, yaml } of blocks) {
    test(`${page}, block ${index + 1}`, async () => {
      const file = join(scratch, `${page.replaceAll('/', '-')}-${index}.yaml`);
      // The documentation shows a path that exists on the reader's machine.
      writeFileSync(file, yaml.replaceAll('/etc/mcp-gateway/', `${scratch}/`));
      const { problems } = await check(file);
      // A fragment may refer to things that it does not show; what it shows must be valid.
      assert.deepEqual(
        problems.filter((problem) => problem.code !== 'not_served' && problem.code !== 'condition'),
        [],
      );
    });
  }
});

test('docs/operations.md lists every reason with its status', () => {
  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8');
  const missing = Object.entries(reasons)
    .map(([reason, { status }]) => `| ${status} | \`${reason}\` |`)
    .filter((row) => !page.includes(row));
  assert.deepEqual(missing, []);
});
