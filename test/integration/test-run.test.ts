// The runner of these tests: what fails is told, with the file to run alone, and nothing that goes wrong passes for green.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { formatCounts, formatFailures, formatTimes } from '../../scripts/test-run/progress.ts';
import { runLanes } from '../../scripts/test-run/run-lanes.ts';
import { TestResults } from '../../scripts/test-run/test-results.ts';
import { waitFor } from '../kit/wait-for.ts';

interface Run {
  readonly results: TestResults;
  /** Files in the order in which they ended, failed ones with a mark. */
  readonly finished: readonly string[];
  readonly fileOf: (name: string) => string;
}

/** Runs files with these contents, all in one process unless told. */
async function runContents(
  t: TestContext,
  contents: Readonly<Record<string, string>>,
  isShared: (file: string) => boolean = () => true,
): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-test-run-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const fileOf = (name: string): string => join(folder, `${name}.test.mjs`);
  for (const [name, text] of Object.entries(contents))
    writeFileSync(fileOf(name), `import { after, before, describe, test } from 'node:test';\n${text}`);
  const finished: string[] = [];
  const results = new TestResults({
    finished: (file, _cost, hasFailed) => finished.push(`${file}${hasFailed ? ' failed' : ''}`),
  });
  await runLanes({
    files: Object.keys(contents).map(fileOf),
    lanes: 1,
    isShared,
    isLive: false,
    env: process.env,
    awaitBefore: () => Promise.resolve(),
    results,
    endsWithinMs: 2_000,
  });
  return { results, finished, fileOf };
}

describe('a run of tests', () => {
  test('has one process for many files, whose hooks are their own', async (t) => {
    const { results, finished, fileOf } = await runContents(t, {
      one: "before(() => (globalThis.begun = 'one')); after(() => (globalThis.ended = true)); test('a', () => {}); describe('b', () => test('c', () => {}));",
      two: "test('begun', (t) => t.assert.deepEqual([globalThis.begun, globalThis.ended], ['one', true])); test.skip('not now', () => {});",
    });
    assert.deepEqual(formatFailures(results), '');
    assert.deepEqual(finished, [fileOf('one'), fileOf('two')]);
    assert.match(formatCounts(results, 1), /^4 tests in 1 suites, 1\.0 s\n3 passed, 0 failed, 1 skipped$/);
    assert.match(formatTimes(results), /one\.test\.mjs +\d+\.\d+ /);
  });

  test('gives a file a process of its own where it needs one', async (t) => {
    const { results } = await runContents(
      t,
      { one: "test('a', () => (globalThis.here = true));", two: "test('b', (t) => t.assert.ok(!globalThis.here));" },
      () => false,
    );
    assert.deepEqual(results.failures, []);
  });

  test('tells what failed, what it printed, and how to run it alone; and goes on', async (t) => {
    const { results, finished, fileOf } = await runContents(t, {
      bad: "console.log('printed'); describe('outer', () => test('inner', () => { throw new Error('the reason'); }));",
      broken: 'this is no program',
      good: "test('good', () => {});",
    });
    assert.deepEqual(finished, [`${fileOf('bad')} failed`, `${fileOf('broken')} failed`, fileOf('good')]);
    const text = formatFailures(results);
    assert.match(text, /✖ outer > inner\n {2}Error: the reason/);
    assert.match(text, /It printed:\n {2}printed/);
    assert.match(text, new RegExp(`Alone: npx node --test ${fileOf('bad')}`));
    assert.match(text, /✖ \(the file itself\)\n {2}.*SyntaxError/s);
  });

  test('fails when a file ends the process, and runs the rest', async (t) => {
    const { results, finished, fileOf } = await runContents(t, {
      exits: "test('exits', () => process.exit(0));",
      good: "test('good', () => {});",
    });
    assert.deepEqual(finished, [`${fileOf('exits')} failed`, fileOf('good')]);
    assert.match(formatFailures(results), /The process of the tests ended with 0/);
  });

  test('fails when something is left open, and names it', async (t) => {
    const { results } = await runContents(t, {
      leaves:
        "import { createServer } from 'node:net'; test('leaves', () => void createServer().listen(0, '127.0.0.1'));",
    });
    assert.match(formatFailures(results), /did not end after its last file; open: .*TCPServerWrap/);
  });

  // Lanes have another way to know this than node:test itself (scripts/test-run/follow-tests.ts).
  test('knows which test an error belongs to, wherever it is thrown', async (t) => {
    const throwers = {
      timer: "setTimeout(() => { throw new Error('of timer'); }, 1);",
      immediate: "setImmediate(() => { throw new Error('of immediate'); });",
      tick: "process.nextTick(() => { throw new Error('of tick'); });",
      microtask: "queueMicrotask(() => { throw new Error('of microtask'); });",
      promise: "void Promise.reject(new Error('of promise'));",
      later: "void (async () => { await new Promise(setImmediate); throw new Error('of later'); })();",
      file: "fs.stat('.', () => { throw new Error('of file'); });",
      server:
        "const server = net.createServer((socket) => { socket.destroy(); throw new Error('of server'); }).listen(0, '127.0.0.1', () => net.connect(server.address().port, '127.0.0.1').on('close', () => {})); t.after(() => server.close());",
    };
    const tests = Object.entries(throwers).map(
      ([name, text]) =>
        `test('${name}', async (t) => { ${text} await new Promise((resolve) => t.signal.addEventListener('abort', resolve)); });`,
    );
    const { results, fileOf } = await runContents(t, {
      throws: `import fs from 'node:fs'; import net from 'node:net'; describe('all', { concurrency: true }, () => { ${tests.join('\n')} });`,
      good: "test('good', () => {});",
    });
    const file = fileOf('throws');
    assert.deepEqual(
      results.failures
        .map((failure) => [failure.file, failure.title, /of \w+/.exec(failure.error)?.[0]])
        .filter(([, title]) => title !== 'all'),
      Object.keys(throwers).map((name) => [file, `all > ${name}`, `of ${name}`]),
    );
  });

  test('knows which test a nested test or hook belongs to, whatever was awaited before', async (t) => {
    const { results } = await runContents(t, {
      nested: `
        import { setTimeout as delay } from 'node:timers/promises';
        await delay(1);
        const seen = [];
        test('outer', async () => {
          await delay(1);
          before(() => seen.push('before'));
          after(() => seen.push('after'));
          await test('inner', async () => { await delay(1); await test('innermost', () => seen.push('innermost')); });
        });
        test('last', (t) => t.assert.deepEqual(seen, ['before', 'innermost', 'after']));`,
    });
    assert.deepEqual(formatFailures(results), '');
    assert.deepEqual(
      results.ends.map((end) => end.path.join(' > ')),
      ['outer > inner > innermost', 'outer > inner', 'outer', 'last'],
    );
  });

  test('fails when a test goes on after its end', async (t) => {
    const { results } = await runContents(t, {
      late: "test('late', () => void setTimeout(() => { throw new Error('too late'); }, 50));",
    });
    assert.match(formatFailures(results), /too late/);
  });
});

describe('waiting', () => {
  test('gives the answer that came', async () => {
    let asked = 0;
    assert.equal(await waitFor('three', () => ((asked += 1) === 3 ? 'here' : undefined)), 'here');
  });

  test('says what it waited for and what it last saw', async () => {
    await assert.rejects(
      waitFor('the pod is ready', () => false, { timeoutMs: 20, describe: () => 'the pod is pending' }),
      /Waited 0\.02 s in vain: the pod is ready\. Last seen: false\nthe pod is pending/,
    );
  });

  test('ends with an error, unless errors may pass', async () => {
    const fail = (): never => {
      throw new Error('refused');
    };
    await assert.rejects(waitFor(fail), /^Error: refused$/);
    await assert.rejects(waitFor('it', fail, { timeoutMs: 20, retryErrors: true }), /in vain: it\. Last seen: refused/);
  });
});
