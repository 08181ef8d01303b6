// examples/deploy: what systemd and Compose say about the files, where they are there, and that the command lines in them are ones that the program takes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import * as z from 'zod';
import { imageUser } from '../scripts/image/components.ts';
import { gatewayCommands } from '../src/cmd/gateway-commands.ts';
import { readFlags } from '../src/cmd/flags.ts';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '../examples/deploy');

/** Fails when the program would refuse the command line. */
async function checkCommandLine([name, ...args]: readonly string[]): Promise<void> {
  const listed = gatewayCommands[name!];
  assert.ok(listed !== undefined, `${name} is in the image`);
  const read = readFlags(await listed.load(), args, {});
  assert.equal(read.kind, 'values', JSON.stringify(read));
}

async function isThere(command: string, ...args: readonly string[]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  );
}

async function makeFolder(context: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-deploy-'));
  context.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

test('the systemd unit: systemd takes every line, and the program takes its command line', async (context) => {
  const text = await readFile(join(folder, 'mcp-gatehouse.service'), 'utf8');
  const start = /^ExecStart=\S+\/mcp-gatehouse (.+)$/m.exec(text)![1]!;
  await checkCommandLine(start.split(' '));
  assert.match(text, /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
  if (!(await isThere('systemd-analyze', '--version'))) {
    context.diagnostic('there is no systemd-analyze');
    return;
  }
  const unit = join(await makeFolder(context), 'mcp-gatehouse.service');
  // It asks whether the program is there.
  await writeFile(unit, text.replace('/usr/local/bin/mcp-gatehouse', process.execPath));
  const { stdout, stderr } = await run('systemd-analyze', ['verify', unit]);
  assert.equal(stdout + stderr, '');
});

test('the Compose file: its fields, and the command lines in it', async (context) => {
  const file = join(folder, 'compose.yaml');
  const { services } = z
    .strictObject({
      services: z.strictObject({
        gateway: z.strictObject({
          image: z.string(),
          command: z.array(z.string()),
          ports: z.array(z.templateLiteral(['127.0.0.1:', z.number(), ':', z.number()])),
          volumes: z.array(z.string()),
          read_only: z.literal(true),
          cap_drop: z.tuple([z.literal('ALL')]),
          security_opt: z.tuple([z.literal('no-new-privileges:true')]),
          healthcheck: z.strictObject({
            test: z.array(z.string()),
            interval: z.string(),
            timeout: z.string(),
            retries: z.number(),
            start_period: z.string(),
          }),
          stop_grace_period: z.string(),
          restart: z.literal('unless-stopped'),
        }),
      }),
    })
    .parse(parse(await readFile(file, 'utf8')));
  await checkCommandLine(services.gateway.command);
  // Without a shell: CMD, not CMD-SHELL.
  const [kind, program, ...args] = services.gateway.healthcheck.test;
  assert.deepEqual([kind, program], ['CMD', 'mcp-gatehouse']);
  await checkCommandLine(args);
  assert.ok((await readFile(file, 'utf8')).includes(`install -d -o ${imageUser} -g ${imageUser} -m 700 state`));
  if (await isThere('docker', 'compose', 'version')) await run('docker', ['compose', '-f', file, 'config', '--quiet']);
  else context.diagnostic('there is no docker compose');
});
