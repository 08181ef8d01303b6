// The log of a real process: no line is lost however the process ends, and a reader that is away does no harm.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const logModule = new URL('../../src/base/log.ts', import.meta.url).href;
const shutdownModule = new URL('../../src/base/shutdown.ts', import.meta.url).href;

/** What Node makes of the sources is kept, as the launcher does: a dozen processes load them. */
const compiled = join(import.meta.dirname, '../../node_modules/.cache/mcp-gatehouse');

const head = `
import { createLog } from ${JSON.stringify(logModule)};
import { createShutdown, logCrashes } from ${JSON.stringify(shutdownModule)};
const log = createLog({ level: 'info', format: 'json' });
`;

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly lines: readonly Record<string, unknown>[];
}

function start(script: string): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '--eval', `${head}${script}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  });
}

async function run(script: string, during?: (child: ChildProcess, output: () => string) => void): Promise<Ended> {
  const child = start(script);
  let output = '';
  child.stdout!.setEncoding('utf8');
  child.stdout!.on('data', (chunk: string) => {
    output += chunk;
    during?.(child, () => output);
  });
  child.stderr!.resume();
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const lines = output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, signal, lines };
}

function expectAll(lines: Ended['lines'], count: number): void {
  const numbers = lines.filter((line) => line['i'] !== undefined).map((line) => line['i']);
  assert.deepEqual(
    numbers.toSorted((left, right) => Number(left) - Number(right)),
    Array.from({ length: count }, (_, index) => index),
  );
}

describe('no line is lost', () => {
  const count = 20_000;
  const write = `for (let i = 0; i < ${count}; i += 1) log.info({ i, padding: 'x'.repeat(100) }, 'line');`;

  test('at a normal end', async () => {
    const { code, lines } = await run(write);
    assert.equal(code, 0);
    expectAll(lines, count);
  });

  test('at process.exit', async () => {
    const { code, lines } = await run(`${write} process.exit(3);`);
    assert.equal(code, 3);
    expectAll(lines, count);
  });

  test('at process.exit, while the reader takes longer than exit would wait for one that does not read', async () => {
    let pauses = 0;
    const { code, lines } = await run(`${write} process.exit(3);`, ({ stdout }) => {
      if (pauses === 5) return;
      pauses += 1;
      stdout!.pause();
      setTimeout(() => stdout!.resume(), 500);
    });
    assert.equal(pauses, 5);
    assert.equal(code, 3);
    expectAll(lines, count);
  });

  test('at process.exit while a write is under way', async () => {
    const { code, lines } = await run(
      `${write} setImmediate(() => setImmediate(() => { log.info({ i: ${count} }, 'last'); process.exit(4); }));`,
    );
    assert.equal(code, 4);
    expectAll(lines, count + 1);
  });

  test('at a crash, which is logged too', async () => {
    const { code, lines } = await run(`logCrashes(log); ${write} throw new Error('boom');`);
    assert.equal(code, 1);
    expectAll(lines, count);
    const crash = lines.at(-1)!;
    assert.equal(crash['level'], 'error');
    assert.equal((crash['err'] as { message: string }).message, 'boom');
  });

  test('at a rejection that nobody handles', async () => {
    const { code, lines } = await run(
      `logCrashes(log); log.info({ i: 0 }, 'line'); Promise.reject(new Error('lost'));`,
    );
    assert.equal(code, 1);
    expectAll(lines, 1);
    assert.equal(lines.at(-1)!['origin'], 'unhandledRejection');
  });

  // Access lines may wait; whatever ends the process, they are written, and before the lines that came later.
  const writeLines = `for (let i = 0; i < 100; i += 1) log.writeLine('info', Date.now(), ',"i":' + i + '}\\n');`;

  for (const [name, end, expectedCode] of [
    ['a normal end', '', 0],
    ['process.exit', 'process.exit(3);', 3],
    ['a crash', `logCrashes(log); throw new Error('boom');`, 1],
    ['SIGTERM', `createShutdown({ log }); setInterval(() => {}, 1000); process.kill(process.pid, 'SIGTERM');`, 0],
  ] as const) {
    test(`of those that may wait, at ${name}`, async () => {
      const { code, lines } = await run(`${writeLines} ${end}`);
      assert.equal(code, expectedCode);
      assert.deepEqual(
        lines.slice(0, 100).map((line) => line['i']),
        Array.from({ length: 100 }, (_, index) => index),
      );
      assert.equal(
        lines.slice(100).every((line) => line['i'] === undefined),
        true,
      );
    });
  }

  test('of those that may wait, while nothing else is logged', async () => {
    const { lines } = await run(`${writeLines} setInterval(() => {}, 1000);`, (child, output) => {
      if (output().includes('"i":99')) child.kill('SIGKILL');
    });
    expectAll(lines, 100);
  });

  test('in a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-log-'));
    try {
      const file = join(folder, 'gateway.log');
      await run(`log.info({}, 'started');
        const other = createLog({ level: 'info', format: 'json', destination: ${JSON.stringify(file)} });
        for (let i = 0; i < 1000; i += 1) other.info({ i }, 'line');
        await other.flush();
        other.close();`);
      const lines = readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expectAll(lines, 1000);
      assert.deepEqual(
        lines.map((line) => line['i']),
        Array.from({ length: 1000 }, (_, index) => index),
        'in order',
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('signals', () => {
  const serve = `
    const shutdown = createShutdown({ log });
    setInterval(() => {}, 1000);
  `;

  test('SIGTERM drains and exits with 0', async () => {
    const { code, lines } = await run(
      `${serve} shutdown.addStep({ name: 'drain', timeoutMs: 60000, run: async () => { log.info({}, 'draining'); } }); log.info({}, 'up');`,
      (child, output) => {
        if (output().includes('"up"') && !output().includes('shutting down')) child.kill('SIGTERM');
      },
    );
    assert.equal(code, 0);
    const messages = lines.map((line) => line['msg']);
    assert.deepEqual(messages, ['up', 'shutting down', 'draining', 'stopped']);
    assert.equal(lines[1]!['reason'], 'SIGTERM');
  });

  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`a second ${signal} exits at once with ${expected}`, async () => {
      let again: NodeJS.Timeout | undefined;
      const { code, lines } = await run(
        `${serve} shutdown.addStep({ name: 'slow', timeoutMs: 600000, run: () => new Promise(() => { log.info({}, 'slow'); }) }); log.info({}, 'up');`,
        (child, output) => {
          if (!output().includes('shutting down')) child.kill(signal);
          // Signals that come right after the first count as the same one, so it is sent until it is heard.
          if (output().includes('"slow"')) again ??= setInterval(() => child.kill(signal), 50);
        },
      );
      clearInterval(again);
      assert.equal(code, expected);
      assert.equal(lines.at(-1)!['msg'], 'second signal: exiting at once');
    });
  }
});

test('stdout that is a file: the log and what others write there stand in order, nothing overwrites anything', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'out');
  // As `mcp-gatehouse demo > out` has it: not in append mode.
  const file = openSync(path, 'w');
  const script = `log.info({}, 'first'); log.flushSync(); process.stdout.write('second\\n'); log.info({}, 'third');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `${head}${script}`], {
    stdio: ['ignore', file, 'inherit'],
  });
  closeSync(file);
  assert.deepEqual(await once(child, 'close'), [0, null]);
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  assert.equal(lines.length, 3, lines.join('\n'));
  assert.match(lines[0]!, /"first"/);
  assert.equal(lines[1], 'second');
  assert.match(lines[2]!, /"third"/);
});

describe('a reader that is away', () => {
  test('a closed pipe neither ends nor hangs the process', async () => {
    const child = start(`
      log.info({}, 'up');
      process.on('SIGUSR2', () => { for (let i = 0; i < 100; i += 1) log.info({ i }, 'into nothing'); log.flush().then(() => { log.info({}, 'more'); process.stderr.write('flushed'); process.exit(7); }); });
      setInterval(() => {}, 1000);`);
    await once(child.stdout!, 'data');
    child.stdout!.destroy();
    await once(child.stdout!, 'close');
    child.kill('SIGUSR2');
    const [chunk] = (await once(child.stderr!, 'data')) as [Buffer];
    assert.equal(chunk.toString(), 'flushed');
    const [code] = (await once(child, 'exit')) as [number];
    assert.equal(code, 7);
  });

  for (const [kind, write] of [
    ['lines', `log.info({ i: i++, big }, 'line')`],
    // In many pieces, as access lines are.
    [
      'lines that may wait',
      `{ let rest = ',"i":' + i++ + ',"big":"'; for (let p = 0; p < 50; p += 1) rest += piece + (i % 10); log.writeLine('info', Date.now(), rest + '"}\\n'); }`,
    ],
  ] as const)
    test(`a reader that stops reading costs bounded memory, with ${kind}; what was dropped is counted`, async () => {
      // 64 KiB fit into a pipe and 16 MiB may wait; 40 MB are written while nobody reads.
      const child = start(`
      const big = 'x'.repeat(1000);
      const piece = 'x'.repeat(19);
      let i = 0;
      function burst() { for (let n = 0; n < 1000 && i < 40000; n += 1) ${write}; if (i < 40000) setImmediate(burst); else process.stderr.write(String(process.memoryUsage().rss)); }
      burst();
      process.on('SIGUSR2', () => { log.info({}, 'late'); log.flush().then(() => process.exit(0)); });
      setInterval(() => {}, 1000);`);
      const [rss] = (await once(child.stderr!, 'data')) as [Buffer];
      assert.equal(Number(rss.toString()) < 400 * 1024 * 1024, true, `${rss.toString()} bytes`);
      const chunks: string[] = [];
      let asked = false;
      child.stdout!.setEncoding('utf8');
      child.stdout!.on('data', (chunk: string) => {
        const recent = `${chunks.at(-1) ?? ''}${chunk}`;
        chunks.push(chunk);
        if (asked || !recent.includes('lines were lost')) return;
        asked = true;
        child.kill('SIGUSR2');
      });
      const [code] = (await once(child, 'close')) as [number];
      assert.equal(code, 0);
      const lines = chunks
        .join('')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      const written = lines.filter((line) => line['i'] !== undefined).length;
      const dropped = lines.reduce((sum, line) => sum + Number(line['dropped'] ?? 0), 0);
      assert.equal(written + dropped, 40_000);
      assert.equal(dropped > 0, true);
      assert.equal(lines.at(-1)!['msg'], 'late');
    });
});
