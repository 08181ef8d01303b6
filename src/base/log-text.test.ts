import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatLogText } from './log-text.ts';
import { escapeControls, shouldUseColor } from './terminal.ts';

const options = { color: false, formatters: {} };

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
