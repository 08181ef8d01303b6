import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSchemaCommand } from './schema.ts';

function run(...args: string[]) {
  let [stdout, stderr] = ['', ''];
  const code = runSchemaCommand(args, {
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
  });
  return { code, stdout, stderr };
}

test('prints the schema of every kind', () => {
  const { code, stdout, stderr } = run();
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal((JSON.parse(stdout) as { title: string }).title, 'mcp-gateway resources');
});

test('prints the schema of one kind, in any case', () => {
  for (const name of ['HTTPRoute', 'httproute']) {
    const { code, stdout } = run(name);
    assert.equal(code, 0);
    assert.equal((JSON.parse(stdout) as { title: string }).title, 'HTTPRoute');
  }
});

test('suggests a kind', () => {
  assert.deepEqual(run('ProxyPolice'), {
    code: 2,
    stdout: '',
    stderr: 'mcp-gateway schema: no kind ProxyPolice; did you mean ProxyPolicy?\n',
  });
  assert.match(
    run('Deployment').stderr,
    /^mcp-gateway schema: no kind Deployment; known are GatewayClass, .*, ProxyPolicy, InferencePool or Pod\n$/,
  );
});

test('refuses what it does not know', () => {
  assert.deepEqual(run('Gateway', 'more'), {
    code: 2,
    stdout: '',
    stderr: 'mcp-gateway schema: unexpected argument more; see mcp-gateway schema --help\n',
  });
  assert.equal(run('--yaml').code, 2);
});

test('helps', () => {
  const { code, stdout } = run('--help');
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: mcp-gateway schema \[KIND\]/);
});
