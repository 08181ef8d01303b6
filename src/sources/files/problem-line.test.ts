import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPosition, formatProblemLine, shortenPath } from './problem-line.ts';

test('a problem is one line: place, field, what is wrong', () => {
  const problem = {
    file: '/srv/conf/a.yaml',
    line: 3,
    column: 5,
    path: ['spec', 'rules', 0, 'mathes'],
    code: 'unknown_field',
    message: 'no such field; did you mean "matches"?',
  } as const;
  assert.equal(
    formatProblemLine(problem, '/srv'),
    'conf/a.yaml:3:5 spec.rules[0].mathes: no such field; did you mean "matches"?',
  );
});

test('without a field or a position these parts are left out, and the consequence comes last', () => {
  const problem = {
    file: '/srv/a.yaml',
    path: [],
    code: 'emptied',
    message: 'has no resources any more',
    consequence: 'keeping its previous content',
  } as const;
  assert.equal(formatProblemLine(problem, '/srv'), 'a.yaml: has no resources any more (keeping its previous content)');
});

test('a file outside of the working directory keeps its absolute path', () => {
  assert.equal(shortenPath('/etc/a.yaml', '/srv'), '/etc/a.yaml');
  assert.equal(shortenPath('/srv2/a.yaml', '/srv'), '/srv2/a.yaml');
  assert.equal(shortenPath('/srv/..a/a.yaml', '/srv'), '..a/a.yaml');
  assert.equal(shortenPath('/srv', '/srv'), '/srv');
  assert.equal(formatPosition({ file: '/etc/a.yaml', line: 2 }, '/srv'), '/etc/a.yaml:2');
});

test('control characters in names cannot move the cursor or forge a line', () => {
  const problem = { file: '/srv/a\u001b[2J\n.yaml', path: ['x\ny'], code: 'invalid', message: 'bad' } as const;
  const line = formatProblemLine(problem, '/srv');
  assert.ok(!line.includes('\u001b') && !line.includes('\n'), line);
});
