import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPosition, formatProblemLine, shortenPath } from './problem-line.ts';

test('a problem is one line: place, field, what is wrong', () => {
  const problem = {
    file: '/work/conf/a.yaml',
    line: 3,
    column: 5,
    path: ['spec', 'rules', 0, 'mathes'],
    code: 'unknown_field',
    message: 'no such field; did you mean "matches"?',
  } as const;
  assert.equal(
    formatProblemLine(problem, '/work'),
    'conf/a.yaml:3:5 spec.rules[0].mathes: no such field; did you mean "matches"?',
  );
});

test('without a field or a position these parts are left out, and the consequence comes last', () => {
  const problem = {
    file: '/work/a.yaml',
    path: [],
    code: 'emptied',
    message: 'has no resources any more',
    consequence: 'keeping its content from before',
  } as const;
  assert.equal(
    formatProblemLine(problem, '/work'),
    'a.yaml: has no resources any more (keeping its content from before)',
  );
});

test('a file outside of the working directory keeps its absolute path', () => {
  assert.equal(shortenPath('/etc/a.yaml', '/work'), '/etc/a.yaml');
  assert.equal(shortenPath('/work2/a.yaml', '/work'), '/work2/a.yaml');
  assert.equal(shortenPath('/work/..a/a.yaml', '/work'), '..a/a.yaml');
  assert.equal(shortenPath('/work', '/work'), '/work');
  assert.equal(formatPosition({ file: '/etc/a.yaml', line: 2 }, '/work'), '/etc/a.yaml:2');
});

test('control characters in names cannot move the cursor or forge a line', () => {
  const problem = { file: '/work/a\u001b[2J\n.yaml', path: ['x\ny'], code: 'invalid', message: 'bad' } as const;
  const line = formatProblemLine(problem, '/work');
  assert.ok(!line.includes('\u001b') && !line.includes('\n'), line);
});
