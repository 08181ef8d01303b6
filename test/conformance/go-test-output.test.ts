// What a Go test binary prints is read test by test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GoTestReader, type GoTestResult, summarizeLines } from './go-test-output.ts';

function readAll(text: string): { readonly results: readonly GoTestResult[]; readonly ownLines: readonly string[] } {
  const reader = new GoTestReader('Root');
  const results = text.split('\n').flatMap((line) => reader.read(line.replace('^', '\u0016')) ?? []);
  return { results, ownLines: reader.ownLines };
}

test('tests that run at the same time keep what each has said', () => {
  const { results, ownLines } = readAll(`^=== RUN   Root
    setup
^=== RUN   Root/First
    first begins
^=== PAUSE Root/First
^=== NAME  Root
    goes on
^=== RUN   Root/Second
^=== RUN   Root/Second/part
    second fails
^--- FAIL: Root/Second/part (1.00s)
    said after its end
^--- FAIL: Root/Second (2.00s)
^=== CONT  Root/First
    first goes on
half a line^--- PASS: Root/First (0.50s)
^=== RUN   Root/Third
    not supported
^--- SKIP: Root/Third (0.00s)
^--- FAIL: Root (3.00s)
^=== NAME
^FAIL`);
  assert.deepEqual(
    results.map(({ lines, failures, ...rest }) => ({
      ...rest,
      lines: lines.map((line) => line.trim()),
      failures,
    })),
    [
      { name: 'Second', outcome: 'failed', lines: ['second fails', 'said after its end'], failures: ['part'] },
      { name: 'First', outcome: 'passed', lines: ['first begins', 'first goes on', 'half a line'], failures: [] },
      { name: 'Third', outcome: 'skipped', lines: ['not supported'], failures: [] },
    ],
  );
  assert.deepEqual(
    ownLines.map((line) => line.trim()),
    ['setup', 'goes on'],
  );
});

test('a test whose name begins like another one is its own', () => {
  const { results } = readAll(`^=== RUN   Root/A
^--- PASS: Root/AB (0.00s)
^--- PASS: Root/A (0.00s)
^--- PASS: RootOfAnother/A (0.00s)`);
  assert.deepEqual(
    results.map(({ name }) => name),
    ['AB', 'A'],
  );
});

test('what is said again and again is said once, where it was said last', () => {
  const lines = [
    'helpers.go:1: 2026-11-15T12:38:47.305Z: not ready (after 4.2µs)',
    'helpers.go:2: other',
    'helpers.go:1: 2026-11-15T12:38:48.4Z: not ready (after 1.5s)',
  ];
  assert.deepEqual(summarizeLines(lines), [
    'helpers.go:2: other',
    'helpers.go:1: 2026-11-15T12:38:48.4Z: not ready (after 1.5s) (2 times)',
  ]);
  assert.equal(summarizeLines(Array.from({ length: 1000 }, (_, index) => `line ${index}`)).at(-1), 'line 999');
});
