// Everything we show people as configuration is loaded here, exactly as they would load it.
import assert from 'node:assert/strict';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkCommand } from '../src/cmd/check.ts';
import { executeCommand } from '../src/cmd/command.ts';
import { explainCommand } from '../src/cmd/explain.ts';
import { buildShortForm, printResources } from '../src/cmd/short-form.ts';
import { reasons } from '../src/gateway/http/reasons.ts';
import { createCertificate } from './self-signed-certificate.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const scratch = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-docs-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
// Pages name key files as the examples do.
cpSync(join(root, 'examples/keys'), join(scratch, 'keys'), { recursive: true });

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
  // Pages with InferencePools say that they need the switch.
  const flags = /^kind: InferencePool$/m.test(readFileSync(path, 'utf8')) ? ['--inference-extension'] : [];
  const code = await executeCommand(checkCommand, ['-f', path, '--json', ...flags], io);
  return { code, problems: (JSON.parse(output) as CheckResult).problems };
}

describe('examples', () => {
  const files = globSync('examples/*.yaml', { cwd: root });
  test('there are some', () => assert.ok(files.length >= 5, `${files.length} found`));
  for (const file of files) {
    test(file, async () => {
      const { code, problems } = await check(join(root, file));
      assert.deepEqual(problems, []);
      assert.equal(code, 0);
    });
  }
});

// `echo '...' > file` and `npx mcp-gatehouse explain ...  # what comes of it`, in the comments of the examples.
describe('commands in the examples', () => {
  const found = globSync('examples/*.yaml', { cwd: root }).flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    const commands = lines.flatMap((line) => /^# {3}(.+)$/.exec(line)?.[1] ?? []);
    return commands.some((command) => command.includes(' explain ')) ? [{ file, commands }] : [];
  });
  test('there are some', () => assert.ok(found.length >= 3, `${found.length} found`));
  for (const { file, commands } of found) {
    const folder = mkdtempSync(join(scratch, 'example-'));
    for (const command of commands) {
      const written = /^echo '(.+)' > (\S+)$/.exec(command);
      if (written !== null) {
        writeFileSync(join(folder, written[2]!), written[1]!);
        continue;
      }
      const explained = /^npx mcp-gatehouse explain (.+?) {2}# (.+)$/.exec(command);
      if (explained === null) {
        test(`${file}: ${command}`, () => assert.equal(command, `npx mcp-gatehouse check -f ${file}`));
        continue;
      }
      test(`${file}: ${explained[1]}`, async () => {
        const words = [...explained[1]!.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
        const args = words.map((word) =>
          word === file ? join(root, file) : word.replace(/^(?=\w+\.json$)/, `${folder}/`),
        );
        let output = '';
        const write = (text: string): void => void (output += text);
        const code = await executeCommand(explainCommand, args, {
          stdout: write,
          stderr: write,
          color: false,
          env: {},
        });
        if (explained[2] === 'let through') {
          assert.equal(code, 0, output);
          assert.match(output, /^Allowed: forwarded to /m);
          return;
        }
        const [status, reason] = explained[2]!.split(' ');
        assert.equal(code, 1, output);
        assert.match(output, new RegExp(`^Denied: ${reason}\\b`, 'm'));
        assert.match(output, new RegExp(`^ {2}HTTP/1\\.1 ${status} `, 'm'));
      });
    }
  }
});

describe('README.md', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');

  test('its policies fit the resources that run --target prints', async () => {
    const [, target] = /^npx mcp-gatehouse run --target (\S+) --print > gateway\.yaml$/m.exec(readme)!;
    const short = buildShortForm({ targets: [target!] });
    assert.ok(short.ok);
    const policies = /^```yaml\n([\s\S]*?)^```$/m.exec(readme)![1]!;
    const file = join(scratch, 'readme-gateway.yaml');
    writeFileSync(file, `${printResources(short.resources)}---\n${policies}`);
    const { code, problems } = await check(file);
    assert.deepEqual(problems, []);
    assert.equal(code, 0);
  });

  test('its explain prints what it shows', async () => {
    const shown =
      /^echo '(.+)' > bob\.json\nnpx mcp-gatehouse explain -f (\S+) (.+)\n```\n```text\n([\s\S]*?)^```$/m.exec(readme)!;
    const [, claims, file, flags, expected] = shown;
    const folder = mkdtempSync(join(scratch, 'readme-'));
    writeFileSync(join(folder, 'bob.json'), claims!);
    const words = [...flags!.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
    const args = words.map((word) => (word === 'bob.json' ? join(folder, word) : word));
    let output = '';
    const write = (text: string): void => void (output += text);
    await executeCommand(explainCommand, ['-f', join(root, file!), ...args], {
      stdout: write,
      stderr: write,
      color: false,
      env: {},
    });
    assert.equal(output, expected);
  });
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
