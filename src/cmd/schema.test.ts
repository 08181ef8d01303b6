import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaCommand } from './schema.ts';
import { executeCommand } from './command.ts';

async function run(...args: string[]) {
  let [stdout, stderr] = ['', ''];
  const code = await executeCommand(schemaCommand, args, {
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    color: false,
    env: {},
  });
  return { code, stdout, stderr };
}

test('prints the schema of every kind', async () => {
  const { code, stdout, stderr } = await run();
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal((JSON.parse(stdout) as { title: string }).title, 'mcp-gatehouse resources');
});

test('prints the schema of one kind, in any case', async () => {
  for (const name of ['HTTPRoute', 'httproute']) {
    const { code, stdout } = await run(name);
    assert.equal(code, 0);
    assert.equal((JSON.parse(stdout) as { title: string }).title, 'HTTPRoute');
  }
});

test('suggests a kind', async () => {
  assert.deepEqual(await run('ProxyPolice'), {
    code: 2,
    stdout: '',
    stderr: 'mcp-gatehouse schema: no kind ProxyPolice; did you mean ProxyPolicy?\nSee mcp-gatehouse schema --help.\n',
  });
  assert.match(
    (await run('Deployment')).stderr,
    /^mcp-gatehouse schema: no kind Deployment; known are GatewayClass, .*, ProxyPolicy, InferencePool or Pod\n/,
  );
});

test('refuses what it does not know', async () => {
  assert.deepEqual(await run('Gateway', 'more'), {
    code: 2,
    stdout: '',
    stderr: 'mcp-gatehouse schema: unexpected argument "more"\nSee mcp-gatehouse schema --help.\n',
  });
  assert.equal((await run('--yaml')).code, 2);
});

test('helps', async () => {
  const { code, stdout } = await run('--help');
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: mcp-gatehouse schema \[KIND\]/);
});
