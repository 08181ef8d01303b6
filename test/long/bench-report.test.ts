// What the benchmarks make of their numbers: tables, verdicts, the page and the plot.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { formatMarkdown, formatNumber, formatText, listMissed } from '../bench/bench-report.ts';
import { type Bar, type Finding, judge, type StampedResult, type Target } from '../bench/bench-result.ts';
import { describeBodies } from '../bench/experiments/bodies.ts';
import { describeBusyStreams } from '../bench/experiments/busy-streams.ts';
import { describeChange } from '../bench/experiments/change.ts';
import { describeFlood } from '../bench/experiments/flood.ts';
import { describeIdleStreams } from '../bench/experiments/idle-streams.ts';
import { describeRequests } from '../bench/experiments/requests.ts';
import { describeSoak } from '../bench/experiments/soak.ts';
import { describeStart } from '../bench/experiments/start.ts';
import { describeWorkers } from '../bench/experiments/workers.ts';
import type { Measurements } from '../bench/measure-cases.ts';
import { mergeResults, readKept, replaceSection } from '../bench/performance-page.ts';
import { renderPlot } from '../bench/performance-plot.ts';
import { createProgress } from '../bench/progress-line.ts';
import { requestCases } from '../bench/request-cases.ts';

const stamp = {
  date: '2026-11-15',
  commit: 'abc',
  processor: 'A processor',
  cores: 2,
  versions: { node: '26.0.0', nginx: '1.22.1' },
  accessLog: true,
};
const rounds = Array.from({ length: 10 }, (_, index) => 100 + index);
const times = (factor: number): readonly number[] => rounds.map((value) => value * factor);
const pace = { fewestRounds: 10, mostRounds: 10, secondsPerRound: 1, warmUpSeconds: 1, mostSpoiltRounds: 0 };

function describeWith(factors: Readonly<Record<string, number>>): StampedResult {
  const all = new Map(
    requestCases.map(({ name }) => {
      return [name, { cpuMicrosPerRequest: times(factors[name] ?? 1), requestsPerSecond: rounds }];
    }),
  );
  return { ...describeRequests(requestCases, { all, closer: new Map() }, { pace }), stamp };
}

describe('verdicts', () => {
  const finding = (median: number, kind: Finding['target']['kind']): Finding => {
    return { what: 'it', measured: { ok: true, median, spread: 0 }, unit: 'times', target: { kind, value: 2 } };
  };

  test('of every kind of target, at the bound and beyond it', () => {
    assert.equal(judge(finding(2, 'atMost')), 'met');
    assert.equal(judge(finding(2.001, 'atMost')), 'missed');
    assert.equal(judge(finding(2, 'below')), 'missed');
    assert.equal(judge(finding(1.999, 'below')), 'met');
    assert.equal(judge(finding(2, 'atLeast')), 'met');
    assert.equal(judge(finding(1.999, 'atLeast')), 'missed');
  });

  test('a number meets a target with all of its interval, or it is not sure', () => {
    const measure = (measured: Omit<Extract<Finding['measured'], { ok: true }>, 'ok'>): string =>
      judge({ ...finding(9, 'atMost'), measured: { ok: true, ...measured } });
    assert.equal(measure({ median: 1.9, spread: 0.1 }), 'met');
    assert.equal(measure({ median: 1.95, spread: 0.1 }), 'unsure');
    assert.equal(measure({ median: 2.05, spread: 0.1 }), 'unsure');
    assert.equal(measure({ median: 2.2, spread: 0.1 }), 'missed');
    assert.equal(measure({ median: 1.95, spread: 0.1, range: [1.8, 2] }), 'met');
    assert.equal(measure({ median: 1.9, spread: 0.1, range: [1.85, 2.04] }), 'unsure');
  });

  test('what is not sure is never missed', () => {
    assert.equal(judge({ ...finding(9, 'atMost'), measured: { ok: false, why: 'it moved' } }), 'unsure');
  });

  test('a range that is too wide to be a number may still lie on one side of a target', () => {
    const between = (low: number, high: number, kind: Target['kind']): string =>
      judge({ ...finding(9, kind), measured: { ok: false, why: 'it moved', range: [low, high] } });
    assert.deepEqual(
      [between(1, 2, 'atMost'), between(1.9, 2.1, 'atMost'), between(2.1, 3, 'atMost')],
      ['met', 'unsure', 'missed'],
    );
    assert.deepEqual([between(1, 2, 'below'), between(2, 3, 'below')], ['unsure', 'missed']);
    assert.deepEqual(
      [between(2, 3, 'atLeast'), between(1, 3, 'atLeast'), between(1, 1.9, 'atLeast')],
      ['met', 'unsure', 'missed'],
    );
  });
});

test('a change is held against what was there before', () => {
  const measure = (cost: number): { cpuMicrosPerRequest: number[]; requestsPerSecond: number[] } => ({
    cpuMicrosPerRequest: Array.from({ length: 12 }, (_, index) => cost + (index % 3) / 10),
    requestsPerSecond: [],
  });
  const pair = (name: string): { name: string; of: string; to: string } => ({
    name,
    of: `${name}-now`,
    to: `${name}-before`,
  });
  const all = new Map([
    ['a-now', measure(40)],
    ['a-before', measure(41)],
    ['b-now', measure(44)],
    ['b-before', measure(40)],
  ]);
  const result = { ...describeChange([pair('a'), pair('b')], { all, closer: new Map() }), stamp };
  assert.deepEqual(listMissed([result]), ['b: now, beside before: 1.10 times, and it should be at most 1.05 times.']);
  assert.match(formatText([result]), /^a +41\.1 +40\.1 /m);
});

describe('requests', () => {
  test('within all targets', () => {
    const result = describeWith({ 'envoy-jwt': 3, 'envoy-jwt-cache': 1.3, challenge: 0.5, forged: 0.9, nginx: 0.6 });
    assert.deepEqual(listMissed([result]), []);
    const text = formatText([result]);
    assert.match(text, /^jwt +105 +\+-3\.3 % +105 +validates an RS256 token/m);
    assert.match(text, /^JWT-protected request, beside Envoy with jwt_authn +0\.33 times +at most 0\.35 times +met$/m);
    assert.match(text, /^1,000 tokens in turn, beside one token +1 times +at most 1\.10 times +met$/m);
  });

  test('beyond some', () => {
    const result = describeWith({ nginx: 0.4, 'envoy-jwt': 3, 'envoy-jwt-cache': 1.3, challenge: 0.5, forged: 0.9 });
    const sentence =
      'JWT-protected request, beside nginx that checks nothing: 2.50 times, and it should be at most 2 times.';
    assert.deepEqual(listMissed([result]), [sentence]);
    assert.match(formatText([result]), /2\.50 times +at most 2 times +missed$/m);
    assert.match(formatMarkdown([result]), /\| 2\.50 times \| at most 2 times \| \*\*missed\*\* \|/);
  });

  test('the first sight of a token is told as what it costs more', () => {
    const { tables } = describeWith({ 'jwt-first': 2 });
    assert.ok(
      tables[0]!.notes.some((note) => note.includes('costs 105 us more')),
      tables[0]!.notes.join(),
    );
  });

  test('rounds that disagree make no ratio, and the report says why', () => {
    const all = new Map(
      requestCases.map(({ name }, index) => {
        const cpuMicrosPerRequest = rounds.map((_, round) => ((index + round) % 3 === 0 ? 100 : 130));
        return [name, { cpuMicrosPerRequest, requestsPerSecond: rounds }];
      }),
    );
    const result = { ...describeRequests(requestCases, { all, closer: new Map() }, { pace }), stamp };
    const unsure = result.findings.filter((finding) => judge(finding) === 'unsure');
    assert.ok(unsure.length > 0);
    assert.match(formatMarkdown([result]), /it is only known to within \d+\.\d %, and 5\.0 % is the limit\./);
    assert.match(formatMarkdown([result]), /\| 0\.\d+ to 1\.\d+ times \| at most .* \| not sure \|/);
  });

  test('a closer look counts for the ratio between those that it looked at, and for nothing else', () => {
    const measure = (cpuMicrosPerRequest: readonly number[]): Measurements => {
      return { cpuMicrosPerRequest, requestsPerSecond: rounds };
    };
    const all = new Map(requestCases.map(({ name }) => [name, measure(times(1))]));
    // Between 1.0 and 1.2 times as much as one token.
    all.set('jwt-1000', measure(rounds.map((value, round) => value * (round % 2 === 0 ? 1 : 1.2))));
    const closer = new Map([
      ['jwt', measure([...times(2), ...times(2), ...times(2)])],
      ['jwt-1000', measure([...times(2.08), ...times(2.08), ...times(2.08)])],
    ]);
    const describe1000 = (looked: typeof closer): { outcome: string; notes: readonly string[] } => {
      const { findings, tables } = describeRequests(requestCases, { all, closer: looked }, { pace });
      const { notes, rows } = tables[0]!;
      assert.ok(
        findings
          .filter(({ what }) => !what.startsWith('1,000'))
          .every(({ measured }) => measured.ok && measured.median === 1),
      );
      assert.equal(rows.find(([name]) => name === 'jwt')![1], '105');
      return { outcome: judge(findings.find(({ what }) => what.startsWith('1,000'))!), notes };
    };
    assert.equal(describe1000(new Map()).outcome, 'unsure');
    const { outcome, notes } = describe1000(closer);
    assert.equal(outcome, 'met');
    assert.ok(
      notes.some((note) => note.startsWith('30 more of jwt, jwt-1000 alone,')),
      notes.join(),
    );
  });
});

describe('other experiments', () => {
  test('bodies: throughput is what counts, for the long ones', () => {
    const measured = new Map(
      Object.entries({ gateway: 0.4, nginx: 1, envoy: 0.8 }).map(([name, factor]) => {
        return [name, { cpuMicrosPerRequest: rounds, requestsPerSecond: times(factor) }];
      }),
    );
    const { tables, findings } = describeBodies([
      { direction: 'to the server', size: '200 B', bytes: 200, measured },
      { direction: 'to the client', size: '1 MB', bytes: 1_048_576, measured },
    ]);
    assert.deepEqual(
      findings.map((finding) => [finding.what, judge(finding)]),
      [['Bodies of 1 MB to the client: throughput, beside nginx that checks nothing', 'missed']],
    );
    assert.deepEqual(tables[0]!.rows[1]!.slice(0, 3), ['1 MB to the client', '105', '43.8']);
  });

  test('flood: what is kept of a share', () => {
    const measured = new Map([
      ['good tokens', { good: rounds, others: rounds }],
      ['no token', { good: times(0.9), others: rounds }],
      ['an expired token', { good: times(0.8), others: rounds }],
      ['forged tokens, no two alike', { good: times(0.5), others: rounds }],
    ]);
    const { findings, tables } = describeFlood(measured);
    assert.deepEqual(findings.map(judge), ['met', 'met', 'missed']);
    assert.equal(tables[0]!.rows[1]![3], '90 %');
  });

  test('workers: growth where there are cores for it, CPU per request everywhere', () => {
    const measured = [
      { rates: rounds, cpu: rounds, slicedRates: [] },
      { rates: times(1.9), cpu: times(1.05), slicedRates: [] },
    ];
    assert.deepEqual(describeWorkers(measured, 4).findings.map(judge), ['met', 'met']);
    const cramped = describeWorkers(measured, 2);
    assert.deepEqual(cramped.findings.map(judge), ['unsure', 'met']);
    assert.match(JSON.stringify(cramped.findings[0]), /takes 4 cores/);
    const slow = [measured[0]!, { rates: times(1.5), cpu: times(1.3), slicedRates: [] }];
    assert.deepEqual(describeWorkers(slow, 8).findings.map(judge), ['missed', 'missed']);
  });

  test('workers: growth by slices of cores, where there are too few of them', () => {
    const measureGrowth = (growth: number, cores: number) =>
      describeWorkers(
        [
          { rates: rounds, cpu: rounds, slicedRates: rounds },
          { rates: times(1.3), cpu: times(1.05), slicedRates: times(growth) },
        ],
        cores,
      );
    const { findings, tables } = measureGrowth(1.95, 2);
    assert.deepEqual(findings.map(judge), ['met', 'met']);
    assert.match(findings[0]!.what, /with 25 % of a core each/);
    assert.equal(tables[0]!.rows[1]!.length, 4);
    assert.deepEqual(measureGrowth(1.7, 2).findings.map(judge), ['missed', 'met']);
    assert.deepEqual(
      measureGrowth(1.95, 4).findings.map(judge),
      ['missed', 'met'],
      'where there are cores these count',
    );
  });

  test('busy streams: an event beside one of nginx', () => {
    const cost = (factor: number): { cpuMicrosPerEvent: readonly number[]; eventsPerSecond: readonly number[] } => {
      return { cpuMicrosPerEvent: times(factor), eventsPerSecond: rounds };
    };
    const measured = new Map([
      ['gateway', cost(1.9)],
      ['nginx', cost(1)],
      ['envoy', cost(1.5)],
    ]);
    assert.deepEqual(describeBusyStreams(measured, 200).findings.map(judge), ['met']);
  });

  test('idle streams: bytes each, and a handful says nothing', () => {
    const idle = (streams: number, lost: number): ReturnType<typeof describeIdleStreams> =>
      describeIdleStreams(
        [
          {
            name: 'gateway',
            streams,
            bytesBefore: 100e6,
            bytesAfter: 100e6 + streams * 25_000,
            held: { minutes: 10, lost, bytes: 300e6 },
          },
        ],
        20_000,
      );
    const { findings, tables } = idle(9_800, 1);
    assert.deepEqual(findings.map(judge), ['missed', 'missed']);
    assert.deepEqual(tables[0]!.rows, [['gateway', '9,800', '100 MB', '345 MB', '25']]);
    assert.ok(tables[0]!.notes[1]!.includes('no room for 10,000'), tables[0]!.notes.join());
    assert.deepEqual(idle(100, 0).findings.map(judge), ['unsure', 'unsure']);
  });

  test('start: median of the starts, and memory', () => {
    const measured = new Map([['gateway', { startMs: times(2), restBytes: rounds.map((value) => value * 7e5) }]]);
    const { findings } = describeStart(measured);
    assert.deepEqual(findings.map(judge), ['met', 'met']);
  });

  test('soak: the end beside what came after warm-up, and a short one says nothing', () => {
    const soak = (growth: number, minutes: number): ReturnType<typeof describeSoak> =>
      describeSoak({
        minutes,
        readings: Array.from({ length: 1_000 }, (_, second) =>
          second < 200 ? 1 : 100e6 * (1 + (growth * second) / 1_000),
        ),
        counts: { clients: 10, requests: 140, answers: new Map() },
      });
    assert.deepEqual(soak(0.02, 30).findings.map(judge), ['met']);
    assert.deepEqual(soak(0.2, 30).findings.map(judge), ['missed']);
    assert.deepEqual(soak(0.2, 5).findings.map(judge), ['unsure']);
  });
});

describe('the page', () => {
  const result = (name: string, commit: string): StampedResult => {
    return { name, title: name, tables: [], findings: [], bars: [], stamp: { ...stamp, commit } };
  };

  test('what was measured again takes the place of what was there, the rest stays', () => {
    const older = [result('a', '1'), result('c', '1')];
    const merged = mergeResults(older, [result('c', '2'), result('b', '2')], ['a', 'b', 'c']);
    assert.deepEqual(
      merged.map(({ name, stamp: { commit } }) => `${name}${commit}`),
      ['a1', 'b2', 'c2'],
    );
  });

  test('only what is between the marks changes', () => {
    const page = '# Performance\n<!-- bench -->\nold\n<!-- /bench -->\nafter $&\n';
    const replaced = replaceSection(page, [result('a', '1')]);
    assert.ok(replaced.startsWith('# Performance\n<!-- bench -->\nMeasured on') && !replaced.includes('old'), replaced);
    assert.ok(replaced.endsWith('\n<!-- /bench -->\nafter $&\n'), replaced);
    assert.match(
      replaced,
      /Measured on 2026-11-15 at commit 1, 2 cores \(A processor\), node 26\.0\.0, nginx 1\.22\.1\./,
    );
    assert.throws(() => replaceSection('no marks', []), /has no marks/);
  });

  test('is what its numbers say', async () => {
    const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');
    const kept = await readKept();
    assert.equal(page, replaceSection(page, kept), 'docs/performance.md is not what docs/performance.json says');
    const plot = readFileSync(new URL('../../docs/performance.svg', import.meta.url), 'utf8');
    assert.equal(plot, renderPlot(kept.flatMap(({ bars }) => bars)));
  });

  test('says once where and when, or of each if they differ', () => {
    const count = (...commits: string[]): number =>
      formatMarkdown(commits.map((commit, index) => result(`${index}`, commit))).split('Measured on').length - 1;
    assert.equal(count('1', '1', '1'), 1);
    assert.equal(count('1', '2', '1'), 3);
  });

  test('numbers have as many digits as mean something', () => {
    const shown = [0.352, 2, 12.34, 123.4, 12_345.6, 10_000].map(formatNumber);
    assert.deepEqual(shown, ['0.35', '2', '12.3', '123', '12,346', '10,000']);
  });
});

describe('the plot', () => {
  const bars: readonly Bar[] = [
    { group: 'A & B', label: 'jwt', ours: true, value: 50, spread: 0.1 },
    { group: 'A & B', label: 'envoy', ours: false, value: 100, spread: 0 },
    { group: 'C', label: 'nginx', ours: false, value: 25, spread: 0 },
  ];
  const svg = renderPlot(bars);
  const widths = [...svg.matchAll(/<rect class="(ours|peer)" x="150" y="[\d.]+" width="([\d.]+)"/g)].map((match) => {
    return { kind: match[1], width: Number(match[2]) };
  });

  test('bars are as long as their values', () => {
    assert.deepEqual(
      widths.map(({ kind }) => kind),
      ['ours', 'peer', 'peer'],
    );
    assert.ok(Math.abs(widths[1]!.width / widths[0]!.width - 2) < 0.01);
    assert.ok(Math.abs(widths[0]!.width / widths[2]!.width - 2) < 0.01);
  });

  test('is readable in light and dark, and for who cannot see it', () => {
    assert.match(svg, /@media \(prefers-color-scheme: dark\)/);
    assert.match(svg, /<desc id="plot-text">A &#38; B: jwt 50, envoy 100\. C: nginx 25\.<\/desc>/);
    assert.ok(!svg.includes('A & B'));
  });

  test('nothing measured is no mistake', () => {
    assert.match(renderPlot([]), /^<svg /);
  });
});

describe('progress', () => {
  const collect = (isTTY: boolean): string => {
    let written = '';
    const write = (text: string): boolean => {
      written += text;
      return true;
    };
    const progress = createProgress({ write, isTTY, columns: 30 });
    progress.show('one');
    progress.show('two that is longer than the terminal is wide');
    progress.end();
    return written;
  };

  test('is one line on a terminal, never wider than it', () => {
    const written = collect(true);
    assert.ok(!written.includes('\n'));
    for (const line of written.split('\r\u001b[K')) assert.ok(line.length < 30, line);
  });

  test('is lines in a log', () => {
    assert.deepEqual(collect(false).match(/^\d+:\d\d .+$/gm)?.length, 2);
  });
});
