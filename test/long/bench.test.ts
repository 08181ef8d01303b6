// The parts of the benchmarks that turn readings into numbers, and the configurations that they measure.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { formatStatusProblems } from '../../src/cmd/status-problems.ts';
import { createFixedSource } from '../../src/sources/fixed-source.ts';
import { translate } from '../../src/translate/translate.ts';
import { type EnvoyOptions, configureEnvoy } from '../bench/peers/envoy-configuration.ts';
import { findVersion } from '../bench/bench-stamp.ts';
import { createForgedTokens, createTokens, expiredToken, oneToken, publicKeyPem } from '../bench/bench-tokens.ts';
import { createCalmRounds, parseProcessorTime, type ProcessorTime } from '../bench/calm-rounds.ts';
import { parseCpuTime, parseThreadTime, readCpuTime } from '../bench/cpu-time.ts';
import { selectExperiments } from '../bench/experiments.ts';
import { createBodyCases } from '../bench/experiments/bodies.ts';
import { requestTargets, selectCases } from '../bench/experiments/requests.ts';
import { configureHaproxy } from '../bench/peers/haproxy-configuration.ts';
import { configureNginx } from '../bench/peers/nginx-configuration.ts';
import { parseResidentMemory, readResidentMemory } from '../bench/process-memory.ts';
import { ourCases, requestCases } from '../bench/request-cases.ts';
import { compare, fewestRounds, findQuantile, settle, summarize } from '../bench/statistics.ts';
import { parseLoadResult, writeLoadScript } from '../bench/wrk-load.ts';
import { waitFor } from '../kit/wait-for.ts';

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
    assert.throws(() => compare([1], [1, 2]), RangeError);
  });

  test('a number alone is settled when its measurements agree, as far as is asked', () => {
    const values = [100, 102, 104, 106, 108, 110, 112, 114];
    assert.ok(!settle(values).ok);
    const wide = settle(values, 0.2);
    assert.ok(wide.ok);
    assert.equal(wide.median, 107);
  });
});

describe('rounds in which others used the machine', () => {
  /** Rounds with so many stolen ticks beside 1,000 busy ones. */
  async function measure(stolenTicks: readonly number[], rounds: number) {
    const told: string[] = [];
    const pauses: number[] = [];
    let taken = 0;
    let time: ProcessorTime = { busy: 5, stolen: 7 };
    const inCalm = createCalmRounds(60, {
      report: (line) => told.push(line),
      readTime: async () => time,
      wait: async (ms) => pauses.push(ms),
    });
    const counted: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      counted.push(
        await inCalm(async () => {
          time = { busy: time.busy + 1_000, stolen: time.stolen + stolenTicks[taken % stolenTicks.length]! };
          return taken++;
        }),
      );
    }
    return { counted, told, pauses };
  }

  test('do not count, and are measured again after a pause', async () => {
    const { counted, told, pauses } = await measure([10, 3_000, 200, 50, 0], 3);
    assert.deepEqual(counted, [0, 3, 4]);
    assert.equal(pauses.length, 2);
    assert.match(told[0]!, /Others took 75 % of the machine: this round does not count \(1 of/);
  });

  test('count in the end: it does not go on for ever', async () => {
    const { counted, told } = await measure([900], 3);
    assert.deepEqual(counted, [60, 61, 62]);
    assert.equal(told.length, 60);
  });
});

describe('readings', () => {
  test('CPU time of a process, whatever it is called', () => {
    const stat =
      '4711 (a) b (c) R 1 4711 4711 0 -1 4194304 100 0 0 0 250 50 7 3 20 0 11 0 12345 1000000 2000 18446744073709551615';
    assert.equal(parseCpuTime(stat), 3_100_000);
    assert.throws(() => parseCpuTime('not a stat file'), /not a stat file/);
    assert.equal(parseThreadTime('514991000 2026881 2\n'), 514_991);
    assert.throws(() => parseThreadTime('514991000'), /not a schedstat file/);
  });

  test('CPU time of this process grows', { skip: process.platform !== 'linux' && 'there is no /proc' }, async () => {
    const before = await readCpuTime(process.pid);
    const { user, system } = process.cpuUsage();
    assert.ok(Math.abs(before - (user + system)) < 1_000_000, 'it agrees with what node says');
    const begun = process.cpuUsage();
    while (process.cpuUsage(begun).user < 100_000);
    assert.ok((await readCpuTime(process.pid)) - before >= 50_000);
  });

  test('processor time, and what of it others got', () => {
    const stat = 'cpu  100 20 30 9000 40 5 6 70 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n';
    assert.deepEqual(parseProcessorTime(stat), { busy: 161, stolen: 70 });
    assert.throws(() => parseProcessorTime('cpu 1 2 3\n'), /not \/proc\/stat/);
  });

  test('what wrk did', () => {
    const output = 'Running 1s test @ http://127.0.0.1:1/\n  1 threads and 32 connections\nbench 7033 1000421 2 5\n';
    assert.deepEqual(parseLoadResult(output), { requests: 7_033, seconds: 1.000421, failures: 2, refusals: 5 });
    assert.throws(() => parseLoadResult('unable to connect'), /unable to connect/);
  });

  test('a request in Lua keeps its quotes, backslashes and other bytes', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-bench-test-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const bodies = ['{"a":"\\n\u00e9"}\n', '{}'];
    const request = { method: 'POST', path: '/', headers: { 'x-a': 'b"c' }, bodies } as const;
    const { path, counter } = await writeLoadScript(folder, 'case', request);
    const script = readFileSync(path, 'utf8');
    assert.deepEqual(readFileSync(counter), Buffer.alloc(8), 'nothing was sent yet');
    assert.match(script, /^wrk\.method = "POST"$/m);
    assert.ok(script.includes('wrk.headers["x-a"] = "b\\034c"'), script);
    assert.ok(script.includes('bodies = { "{\\034a\\034:\\034\\092n\\195\\169\\034}\\010", "{}" }'), script);
    assert.match(script, /^ {2}for each = 1, 2 do$/m);
  });

  test('tokens of a load are in a file of their own, one in a line', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-bench-test-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const request = { method: 'GET', path: '/', headers: {}, tokens: () => ['a.b.c', 'd.e.f'] } as const;
    const { path } = await writeLoadScript(folder, 'case', request);
    assert.equal(readFileSync(join(folder, 'case.tokens'), 'utf8'), 'a.b.c\nd.e.f\n');
    assert.match(readFileSync(path, 'utf8'), /io\.lines\("[^"]+case\.tokens"\)/);
  });

  test('memory of a process', { skip: process.platform !== 'linux' && 'there is no /proc' }, async () => {
    assert.equal(parseResidentMemory('Name:\tnode\nVmRSS:\t   2048 kB\nThreads:\t11\n'), 2_097_152);
    assert.throws(() => parseResidentMemory('Name:\tnode\n'), /not a status file/);
    const read = await readResidentMemory(process.pid);
    assert.ok(Math.abs(read / process.memoryUsage.rss() - 1) < 0.3, `${read}`);
  });

  test('versions out of whatever programs print', () => {
    assert.equal(findVersion('nginx version: nginx/1.22.1'), '1.22.1');
    assert.equal(findVersion('envoy  version: 9e5580933739/1.40.0/Clean/RELEASE/BoringSSL'), '1.40.0');
    assert.equal(findVersion('HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/'), '2.6.12');
    assert.equal(findVersion('no idea'), 'unknown');
  });
});

test('who breaks the benchmarks off leaves no worker of a proxy behind', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-pinned-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [taskset, program] = [join(folder, 'taskset'), join(folder, 'break-off.ts')];
  // Stays on no core: this is not about that.
  writeFileSync(taskset, '#!/bin/sh\nshift 2\nexec "$@"\n', { mode: 0o755 });
  const pinned = new URL('../bench/pinned-process.ts', import.meta.url).href;
  const master = 'sleep 600 & echo $!; wait';
  writeFileSync(
    program,
    `import { startPinned } from ${JSON.stringify(pinned)};
const master = startPinned({ taskset: ${JSON.stringify(taskset)}, core: 0, command: 'sh', args: ['-c', ${JSON.stringify(master)}], keepsOutput: true });
setInterval(() => {
  if (!master.readOutput().includes('\\n')) return;
  console.log(master.readOutput().trim());
  process.exit(0);
}, 5);
`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  const worker = Number(stdout);
  assert.ok(worker > 1, stdout);
  await waitFor('the worker has ended', () => !isRunning(worker));
});

/** A process that has ended and that nobody has asked about yet is not running. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('cases', () => {
  test('have names of their own, and belong to a group of the plot', () => {
    assert.equal(new Set(requestCases.map(({ name }) => name)).size, requestCases.length);
    for (const { name, group } of requestCases) assert.ok(group, name);
  });

  test('targets compare cases that there are', () => {
    const names = new Set(requestCases.map(({ name }) => name));
    for (const { of, to } of requestTargets) assert.ok(names.has(of) && names.has(to), `${of} ${to}`);
  });

  test('a case that is asked for comes with those that it is held against', () => {
    const names = (...words: string[]): string[] => selectCases(words).map(({ name }) => name);
    assert.deepEqual(names('jwt-rules'), ['plain', 'jwt-rules']);
    assert.deepEqual(names('jwt'), ['jwt', 'nginx', 'envoy-jwt', 'envoy-jwt-cache']);
    assert.deepEqual(names('metadata'), ['metadata']);
    assert.equal(selectCases(undefined).length, requestCases.length);
  });

  test('an experiment is asked for as a whole or by its cases', () => {
    const selected = selectExperiments(['bodies', 'jwt', 'plain']);
    assert.ok(typeof selected !== 'string');
    assert.deepEqual(
      selected.map(({ experiment, cases }) => [experiment.name, cases]),
      [
        ['requests', ['jwt', 'plain']],
        ['bodies', undefined],
      ],
    );
    assert.equal(selectExperiments(['jwt', 'unheard-of']), 'There is no experiment or case called unheard-of.');
    const whole = selectExperiments([]);
    assert.ok(typeof whole !== 'string');
    const names = whole.map(({ experiment }) => experiment.name);
    assert.ok(names.includes('requests') && names.includes('idle-streams') && !names.includes('soak'), names.join());
  });

  const gatewayCases = [...ourCases, ...createBodyCases('to the server', 200)];
  for (const { name, proxy, description } of gatewayCases) {
    if (proxy.kind !== 'gateway') continue;
    test(`${name} (${description}) is a configuration without problems`, async () => {
      const source = createFixedSource(proxy.resources({ gateway: 3000, upstream: 3001 }));
      assert.deepEqual(await source.start(), { ok: true });
      const all = source.resources.get();
      assert.deepEqual(formatStatusProblems(translate(all), all), []);
    });
  }

  test('bodies are as long as they say', () => {
    for (const bytes of [200, 10_240, 1_048_576]) {
      for (const { request } of createBodyCases('to the server', bytes)) {
        const [body = ''] = request.bodies ?? [];
        assert.equal(body.length, bytes);
        assert.equal((JSON.parse(body) as { method: string }).method, 'tools/call');
      }
    }
  });
});

describe('tokens', () => {
  const verifies = (token: string): boolean => {
    const [header, payload, signature] = token.split('.') as [string, string, string];
    return verify('RSA-SHA256', Buffer.from(`${header}.${payload}`), publicKeyPem, Buffer.from(signature, 'base64url'));
  };

  test('good ones are good and all different', () => {
    const tokens = createTokens(20);
    assert.equal(new Set(tokens).size, 20);
    assert.ok(tokens.every(verifies));
    assert.notEqual(createTokens(1, 20)[0], tokens[0]);
  });

  test('forged ones look like them and are not', () => {
    const tokens = createForgedTokens(20);
    assert.equal(new Set(tokens).size, 20);
    assert.ok(!tokens.some(verifies));
    const lengths = new Set([...tokens, oneToken].map((token) => token.length));
    assert.equal(lengths.size, 1, 'nothing tells them from good ones but the signature');
  });

  test('the expired one is expired and good otherwise', () => {
    assert.ok(verifies(expiredToken));
    const claims = JSON.parse(Buffer.from(expiredToken.split('.')[1]!, 'base64url').toString()) as { exp: number };
    assert.ok(claims.exp * 1_000 < Date.now());
  });
});

describe('peers', () => {
  const ports = { gateway: 3000, upstream: 3001 };

  test('all of them have one worker, keep connections and write an access log', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-bench-test-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const nginx = configureNginx({ ...ports, folder });
    assert.match(nginx, /^worker_processes 1;$/m);
    assert.match(nginx, /proxy_http_version 1\.1;\n\s+proxy_set_header Connection "";/);
    assert.match(nginx, /^\s+access_log \/dev\/null combined;$/m);
    assert.match(nginx, /proxy_buffering on;/);
    assert.match(configureNginx({ ...ports, folder }, { streams: true }), /proxy_buffering off;/);
    const haproxy = configureHaproxy({ ...ports, folder });
    assert.match(haproxy, /^ {2}nbthread 1$/m);
    assert.match(haproxy, /^ {2}option httplog$/m);
    assert.match(haproxy, /jwt_verify\(txn\.alg,"[^"]+key\.pem"\) 1/);
    assert.equal(readFileSync(join(folder, 'key.pem'), 'utf8'), publicKeyPem);
    assert.match(configureEnvoy({ ...ports, folder }, {}), /FileAccessLog","path":"\/dev\/null"/);
  });

  test('Envoy has the filters that it is asked for, and no other', () => {
    const filters = (options: EnvoyOptions): string[] =>
      [
        ...configureEnvoy({ ...ports, folder: '' }, options).matchAll(/"envoy\.filters\.http\.(\w+)","typed_config"/g),
      ].map((match) => match[1]!);
    assert.deepEqual(filters({}), ['router']);
    assert.deepEqual(filters({ jwt: {} }), ['jwt_authn', 'router']);
    assert.deepEqual(filters({ jwt: { cache: true }, rbac: true }), ['jwt_authn', 'rbac', 'router']);
    const text = (cache: boolean): string => configureEnvoy({ ...ports, folder: '' }, { jwt: { cache } });
    assert.ok(text(true).includes('jwt_cache_config') && !text(false).includes('jwt_cache_config'));
  });
});
