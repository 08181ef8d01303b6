// Several processes that write to one pipe, whose reader is slow: every line arrives as it was written.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

const destination = new URL('../../src/base/log-destination.ts', import.meta.url).href;

/** Writes lines of many lengths, among them some that no pipe takes as one with others. */
const writer = `
  const { openLogDestination } = await import('${destination}');
  const log = openLogDestination(1, { isShared: true, maxWaitingBytes: 1e9 });
  const name = process.argv[1];
  for (let number = 0; number < 3000; number += 1) {
    const filler = name.repeat((number * 37) % 900);
    log.write(name + ' ' + number + ' ' + filler + ' end\\n');
    if (number % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await log.flush();
`;

test('lines of several processes do not mix', async () => {
  const child = spawn('sh', ['-c', '("$0" -e "$1" a & "$0" -e "$1" b & wait) | cat', process.execPath, writer], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    // The writers find the pipe full again and again.
    await delay(1);
  }
  const lines = text.split('\n').slice(0, -1);
  assert.equal(lines.length, 6_000);
  for (const line of lines) {
    const [name, number, filler] = line.split(' ') as [string, string, string];
    assert.equal(line, `${name} ${number} ${name.repeat((Number(number) * 37) % 900)} end`);
    assert.equal(filler.length, (Number(number) * 37) % 900);
  }
});
