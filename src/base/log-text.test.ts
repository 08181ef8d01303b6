import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatLogText } from './log-text.ts';
import { escapeControls, shouldUseColor } from './terminal.ts';

const options = { color: false, isTerminal: false, formatters: {} };
const onTerminal = { ...options, isTerminal: true };

describe('text lines', () => {
  test('an error shows its message, and its stack below', () => {
    const err = { type: 'Error', message: 'boom', stack: 'Error: boom\n    at f (a.ts:1:2)\n    at g (b.ts:3:4)' };
    const line = formatLogText(JSON.stringify({ level: 'error', time: 0, err, msg: 'failed' }), options);
    const [head, ...frames] = line.trimEnd().split('\n');
    assert.match(head!, /ERROR failed +error=boom$/);
    assert.deepEqual(frames, ['    at f (a.ts:1:2)', '    at g (b.ts:3:4)']);
  });

  test('control characters from requests cannot forge lines or move the cursor', () => {
    const line = formatLogText(
      JSON.stringify({ level: 'info', time: 0, agent: 'a\u001b[2Jb\nINFO forged', msg: 'x\ry' }),
      options,
    );
    assert.equal(line.match(/\n/g)?.length, 1);
    // oxlint-disable-next-line no-control-regex -- none may be left
    assert.doesNotMatch(line.trimEnd(), /[\u0000-\u001f\u007f-\u009f]/);
  });

  test('what is no JSON object stays as it is', () => {
    assert.equal(formatLogText('plain\n', options), 'plain\n');
    assert.equal(formatLogText('[1]', options), '[1]');
  });

  test('a problem that is longer than a terminal is wide goes on below its beginning; in a file a line stays a line', () => {
    const msg = `gateway.yaml:7:21 spec.rules[0].backendRefs[0].name: ${'HTTPRoute default/tickets names no backend '.repeat(4)}(BackendNotFound)`;
    const record = JSON.stringify({ level: 'warn', time: 0, msg });
    const lines = formatLogText(record, onTerminal).trimEnd().split('\n');
    assert.equal(lines.length, 3);
    assert.match(lines[0]!, /^[\d:.]{12} WARN  gateway\.yaml:7:21 /);
    for (const line of lines) assert.ok(line.length <= 120, line);
    for (const line of lines.slice(1)) assert.match(line, /^ {19}\S/);
    const whole = formatLogText(record, options);
    assert.equal(lines.map((line) => line.trimStart()).join(' '), whole.trimEnd());
    assert.equal(whole.indexOf('\n'), whole.length - 1);
  });

  test('long values are cut in the middle; what failed is shown in full', () => {
    const file = `/srv/${'a'.repeat(60)}/gateway.yaml`;
    const error = `connect ECONNREFUSED ${'b'.repeat(60)}`;
    const record = JSON.stringify({ level: 'error', time: 0, err: { message: error }, file, msg: 'cannot be read' });
    const line = formatLogText(record, options);
    assert.match(line, / file=\/srv\/a+…a+\/gateway\.yaml\n$/);
    assert.ok(line.includes(`error="${error}"`), line);
    const wrapped = formatLogText(record, onTerminal).split('\n');
    assert.ok(wrapped.length > 2, wrapped.join('\n'));
    assert.ok(
      wrapped.every((each) => each.length <= 120),
      wrapped.join('\n'),
    );
  });

  test('a line without a time still has one column for it', () => {
    assert.match(formatLogText('{"level":"debug","msg":"x"}', options), /^--:--:--\.--- DEBUG x\n$/);
  });
});

test('control characters become visible', () => {
  assert.equal(escapeControls('a\u0000\u001b\u007f\u009b\u202eb'), 'a\\x00\\x1b\\x7f\\x9b\\u202eb');
});

describe('colour', () => {
  const cases: readonly (readonly [Record<string, string>, boolean, boolean])[] = [
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
    [{ TERM: 'dumb' }, true, false],
  ];
  for (const [env, isTerminal, expected] of cases) {
    test(`${JSON.stringify(env)} ${isTerminal ? 'on' : 'off'} a terminal`, () => {
      assert.equal(shouldUseColor(env, isTerminal), expected);
    });
  }
});
