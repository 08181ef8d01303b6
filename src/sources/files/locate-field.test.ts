import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readYaml } from './read-yaml.ts';
import type { FieldSide } from './locate-field.ts';

function locate(text: string, path: readonly (string | number)[], side?: FieldSide): string {
  const result = readYaml(text);
  assert.ok(result.ok);
  const { line, column } = result.resources.at(-1)!.locate(path, side);
  return `${line}:${column}`;
}

const text = `# a route
kind: HTTPRoute
metadata:
  name: tickets
  labels: {app.kubernetes.io/name: x}
spec:
  empty:
  rules:
  - name: first
    matches:
      - path: {type: Exact, value: /mcp}
  -
    name: second
  - &third
    name: third
  - *third
`;

describe('locateField', () => {
  test('a value lies where it starts', () => {
    assert.equal(locate(text, ['kind']), '2:7');
    assert.equal(locate(text, ['metadata', 'name']), '4:9');
    assert.equal(locate(text, ['metadata', 'labels', 'app.kubernetes.io/name']), '5:36');
    assert.equal(locate(text, ['spec', 'rules', 0, 'matches', 0, 'path', 'value']), '11:36');
    assert.equal(locate(text, ['spec', 'rules', 1, 'name']), '13:11');
  });

  test('an unknown field lies at its key', () => {
    assert.equal(locate(text, ['metadata', 'labels'], 'key'), '5:3');
    assert.equal(locate(text, ['spec', 'rules', 0, 'matches', 0, 'path', 'value'], 'key'), '11:29');
  });

  test('a missing field lies at its parent', () => {
    assert.equal(locate(text, ['metadata', 'namespace']), '3:1');
    assert.equal(locate(text, ['spec', 'rules', 0, 'backendRefs']), '9:5');
    assert.equal(locate(text, ['spec', 'rules', 9, 'name']), '8:3');
    assert.equal(locate(text, ['status']), '2:1');
    assert.equal(locate(text, ['spec', 'rules', 0, 'matches', 0, 'path', 'type', 'deeper']), '11:16');
  });

  test('a value that is not there lies at its key', () => {
    assert.equal(locate(text, ['spec', 'empty']), '7:3');
    assert.equal(locate(text, ['spec', 'empty', 'inner']), '7:3');
  });

  test('what an alias stands for lies at its anchor, the alias itself where it is', () => {
    assert.equal(locate(text, ['spec', 'rules', 3]), '16:5');
    assert.equal(locate(text, ['spec', 'rules', 3, 'name']), '15:11');
  });

  test('the resource as a whole lies where it starts, also in a later document and with CRLF', () => {
    assert.equal(locate(text, []), '2:1');
    assert.equal(locate('a: 1\r\n---\r\n# x\r\nb:\r\n  c: 1\r\n', []), '4:1');
    assert.equal(locate('a: 1\r\n---\r\n# x\r\nb:\r\n  c: 1\r\n', ['b', 'c']), '5:6');
  });

  test('JSON on one line', () => {
    assert.equal(locate('{"kind":"A","spec":{"port":0}}', ['spec', 'port']), '1:28');
    assert.equal(locate('{"kind":"A","spec":{"port":0}}', ['spec', 'prt']), '1:13');
  });

  test('a key that is no text in YAML', () => {
    assert.equal(locate('kind: A\ndata:\n  1: x\n', ['data', '1']), '3:6');
  });

  test('positions are found again after the syntax tree was thrown away', async () => {
    const many = Array.from({ length: 50 }, (_, index) => `kind: A\nspec:\n  index: ${index}\n`).join('---\n');
    const result = readYaml(many);
    assert.ok(result.ok);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // A WeakRef holds on until the current job ends.
    await new Promise((turn) => setImmediate(turn));
    collect();
    assert.deepEqual(result.resources[49]!.locate(['spec', 'index']), { line: 49 * 4 + 3, column: 10 });
  });
});
