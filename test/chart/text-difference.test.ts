// A difference fails on any change: it makes the second text again, says where, and stays the same when both texts grow elsewhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDifference, formatDifference } from './text-difference.ts';

const before = `kind: Deployment
spec:
  containers:
    - name: first
      image: a
      env:
        - name: LEVEL
          value: info
    - name: second
      image: a
      env:
        - name: LEVEL
          value: info
`;

/** The line of this number, counted from 0, becomes these lines. */
function replaceLine(text: string, index: number, ...lines: readonly string[]): string {
  return text
    .split('\n')
    .toSpliced(index, 1, ...lines)
    .join('\n');
}

test('the same text has no difference', () => {
  assert.equal(formatDifference(before, before), '');
  assert.equal(applyDifference(before, ''), before);
});

test('a change says in which lines it is nested, with the lines before it that tell it from others', () => {
  const changed = formatDifference(before, replaceLine(before, 9, '      image: b'));
  assert.equal(
    changed,
    `@@ Deployment spec: containers: - name: second
     - name: second
-      image: a
+      image: b
`,
  );
  assert.notEqual(changed, formatDifference(before, replaceLine(before, 4, '      image: b')));
});

test('every change of one line has a difference of its own, and it makes the text again', () => {
  const lines = before.split('\n');
  const texts = lines.flatMap((line, index) => [
    replaceLine(before, index, `${line} `),
    replaceLine(before, index, `${line}#`),
    replaceLine(before, index),
    replaceLine(before, index, line, 'new'),
    replaceLine(before, index, 'new', line),
    replaceLine(before, index, line, line),
  ]);
  const differences = texts.map((text) => formatDifference(before, text));
  for (const [index, text] of texts.entries()) assert.equal(applyDifference(before, differences[index]!), text);
  assert.equal(new Set(differences).size, new Set(texts).size);
});

test('several changes at once make the text again', () => {
  const after = `first: line\n${replaceLine(replaceLine(before, 12, '          value: debug'), 4)}last: line\n`;
  assert.equal(applyDifference(before, formatDifference(before, after)), after);
});

test('it stays the same when both texts have a line more elsewhere', () => {
  const grow = (text: string): string => text.replace('spec:\n', 'spec:\n  replicas: 1\n');
  const after = replaceLine(before, 12, '          value: debug');
  assert.equal(formatDifference(grow(before), grow(after)), formatDifference(before, after));
});

test('it does not apply to a text in which its place is missing or not the only one', () => {
  const difference = formatDifference(before, replaceLine(before, 9, '      image: b'));
  assert.throws(() => applyDifference(before.replace('- name: second', '- name: other'), difference), /0 times/);
  assert.throws(() => applyDifference(before + before, difference), /2 times/);
});
