// The parts of the benchmarks that turn readings into numbers, and the configurations that they measure.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { formatStatusProblems } from '../src/cmd/status-problems.ts';
import { createFixedSource } from '../src/sources/fixed-source.ts';
import { translate } from '../src/translate/translate.ts';
import { createReport, formatReport } from './bench/bench-report.ts';
import { parseCpuTime, readCpuTime } from './bench/cpu-time.ts';
import { jwtCases } from './bench/jwt-cases.ts';
import { compare, fewestRounds, findQuantile, summarize } from './bench/statistics.ts';
import { parseLoadResult, writeLoadScript } from './bench/wrk-load.ts';

describe('statistics', () => {
  test('quantiles lie between the values where they have to', () => {
    assert.equal(findQuantile([3, 1, 2], 0.5), 2);
    assert.equal(findQuantile([1, 2, 3, 4], 0.5), 2.5);
    assert.equal(findQuantile([1, 2, 3, 4, 5], 0.25), 2);
    assert.throws(() => findQuantile([], 0.5), RangeError);
  });

  test('the interval of the median is that of the sign test', () => {
    // Tables of order statistics: for 10 values it reaches from the second to the ninth, for 25 from the eighth to the eighteenth.
    const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
    assert.deepEqual(summarize(upTo(10)), { median: 5.5, spread: (9 - 2) / 5.5 });
    assert.deepEqual(summarize(upTo(25)), { median: 13, spread: (18 - 8) / 13 });
    assert.deepEqual(summarize(upTo(fewestRounds)), { median: 3.5, spread: (6 - 1) / 3.5 });
  });

  test('what disturbs both cases of a round disturbs no ratio', () => {
    const base = [100, 300, 120, 500, 90, 110, 250, 100];
    const values = base.map((value) => value * 1.1);
    const ratio = compare(values, base);
    assert.ok(ratio.ok);
    assert.ok(Math.abs(ratio.median - 1.1) < 1e-9);
  });

  test('no ratio from rounds that disagree, or from too few of them', () => {
    const base = Array.from({ length: 12 }, () => 100);
    const unsure = compare(
      base.map((_, index) => 90 + 5 * (index % 5)),
      base,
    );
    assert.ok(!unsure.ok);
    assert.match(unsure.why, /^it is only known to within \d+\.\d %/);
    const few = compare([110, 110, 110], [100, 100, 100]);
    assert.deepEqual(few, { ok: false, why: '3 rounds are too few; 6 are needed' });
  });
});

describe('readings', () => {
  test('CPU time of a process, whatever it is called', () => {
    const stat =
      '4711 (a) b (c) R 1 4711 4711 0 -1 4194304 100 0 0 0 250 50 7 3 20 0 11 0 12345 1000000 2000 18446744073709551615';
    assert.equal(parseCpuTime(stat), 3_100_000);
    assert.throws(() => parseCpuTime('not a stat file'), /not a stat file/);
  });

  test('CPU time of this process grows', { skip: process.platform !== 'linux' && 'there is no /proc' }, async () => {
    const before = await readCpuTime(process.pid);
    const { user, system } = process.cpuUsage();
    assert.ok(Math.abs(before - (user + system)) < 1_000_000, 'it agrees with what node says');
    const begun = process.cpuUsage();
    while (process.cpuUsage(begun).user < 100_000);
    assert.ok((await readCpuTime(process.pid)) - before >= 50_000);
  });

  test('what wrk did', () => {
    const output = 'Running 1s test @ http://127.0.0.1:1/\n  1 threads and 32 connections\nbench 7033 1000421 2\n';
    assert.deepEqual(parseLoadResult(output), { requests: 7_033, seconds: 1.000421, failures: 2 });
    assert.throws(() => parseLoadResult('unable to connect'), /unable to connect/);
  });

  test('a request in Lua keeps its quotes, backslashes and other bytes', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gateway-bench-test-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const request = { method: 'POST', path: '/', headers: { 'x-a': 'b"c' }, body: '{"a":"\\n\u00e9"}\n' } as const;
    const script = readFileSync(await writeLoadScript(folder, 'case', request), 'utf8');
    assert.match(script, /^wrk\.method = "POST"$/m);
    assert.ok(script.includes('wrk.headers["x-a"] = "b\\034c"'), script);
    assert.ok(script.includes('wrk.body = "{\\034a\\034:\\034\\092n\\195\\169\\034}\\010"'), script);
  });
});

describe('cases', () => {
  test('have names of their own, and the first is the plain one', () => {
    assert.equal(new Set(jwtCases.map(({ name }) => name)).size, jwtCases.length);
    assert.equal(jwtCases[0]!.name, 'plain');
    assert.deepEqual(
      jwtCases.map(({ name }) => name),
      ['plain', 'jwt', 'jwt-rules', 'mcp-rules'],
    );
  });

  for (const { name, resources } of jwtCases) {
    test(`${name} is a configuration without problems`, async () => {
      const source = createFixedSource(resources({ gateway: 3000, upstream: 3001 }));
      assert.deepEqual(await source.start(), { ok: true });
      const all = source.resources.get();
      assert.deepEqual(formatStatusProblems(translate(all), all.invalid), []);
    });
  }
});

describe('report', () => {
  const rounds = Array.from({ length: 10 }, (_, index) => 100 + index);
  const pace = { fewestRounds: 10, mostRounds: 10, secondsPerRound: 1, warmUpSeconds: 1 };
  const measure = (factors: Record<string, number>): ReturnType<typeof createReport> =>
    createReport(
      jwtCases,
      new Map(
        jwtCases.map(({ name }) => {
          const cpuMicrosPerRequest = rounds.map((value) => value * (factors[name] ?? 1));
          return [name, { cpuMicrosPerRequest, requestsPerSecond: rounds }];
        }),
      ),
      { pace, accessLog: true },
    );

  test('within the limits', () => {
    const report = measure({ jwt: 1.05, 'jwt-rules': 1.1, 'mcp-rules': 1.5 });
    assert.deepEqual(report.overLimit, []);
    const text = formatReport(report);
    assert.match(text, /^plain +104\.5 +\+-3\.3 % +105 +1$/m);
    assert.match(text, /^jwt-rules +115\.0 .* 1\.10 \(\+-0\.0 %\) +1\.15$/m);
    assert.match(text, /access log: on, a JSON line per request/);
  });

  test('beyond a limit', () => {
    const report = measure({ 'jwt-rules': 1.2 });
    assert.deepEqual(report.overLimit, ['jwt-rules costs 1.20 times plain; the limit is 1.15.']);
    assert.ok(formatReport(report).endsWith('jwt-rules costs 1.20 times plain; the limit is 1.15.'));
  });
});
