// `mcp-gatehouse status --watch`: redrawn in a terminal, changed lines elsewhere, and an end by Ctrl-C.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import type { StatusReport } from '../../src/cmd/status/status-report.ts';
import { program } from '../kit/gateway-program.ts';
import { createTerminal, goodResources, startCluster, startStatus } from './status-command-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const broken = goodResources.replace('name: tickets}]\n---', 'name: ticket}]\n---');
const home = '\u001B[H';

/** What stands on the screen after the last drawing. */
function readScreen(out: string): string {
  return stripVTControlCharacters(out.slice(out.lastIndexOf(home))).replaceAll('\r\n', '\n');
}

describe('status --watch in a terminal', () => {
  test('redraws what changes, and leaves the last report behind', async (t) => {
    const { kubeconfig, put } = await startCluster(t);
    const running = startStatus(['--kubeconfig', kubeconfig, '--watch'], { terminal: createTerminal() });
    await waitFor(() => readScreen(running.out()).includes('All is well.'));
    put(broken);
    await waitFor(() => readScreen(running.out()).includes('BackendNotFound'));
    put(goodResources);
    await waitFor(() => readScreen(running.out()).includes('All is well.'));
    running.interrupt();
    assert.equal(await running.ended, 0);
    const [, after = ''] = running.out().split('\u001B[?1049l');
    assert.match(after, /^Controller[\s\S]*All is well\.\n$/, 'the report, on the screen that was there before');
  });

  test('cuts to the size of the terminal, and follows it', async (t) => {
    const { kubeconfig } = await startCluster(t, broken);
    const terminal = createTerminal(120, 6);
    const running = startStatus(['--kubeconfig', kubeconfig, '--watch'], { terminal });
    await waitFor(() => /… \d+ more lines/.test(readScreen(running.out())));
    assert.equal(readScreen(running.out()).split('\n').length, 6);
    terminal.resize(50, 60);
    const screen = readScreen(running.out());
    assert.match(screen, /not well\.$/);
    assert.ok(!screen.includes('HOSTNAMES'), 'a narrow terminal has no room for it');
    running.interrupt();
    assert.equal(await running.ended, 1, 'the exit code is that of the last report');
    assert.equal(terminal.listeners.size, 0);
  });

  test('an API server that goes away: what is shown is said to be old', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    const running = startStatus(['--kubeconfig', kubeconfig, '--watch'], { terminal: createTerminal(120, 200) });
    await waitFor(() => readScreen(running.out()).includes('All is well.') && cluster.requests.some(isWatch));
    await cluster.goAway();
    await waitFor(() => readScreen(running.out()).includes('what is shown may be old'));
    assert.match(readScreen(running.out()), /✓ {2}tickets/);
    await cluster.comeBack();
    await waitFor(() => readScreen(running.out()).includes('All is well.'));
    running.interrupt();
    assert.equal(await running.ended, 0);
  });
});

function isWatch({ verb }: { readonly verb: string }): boolean {
  return verb === 'watch';
}

describe('status --watch without a terminal', () => {
  test('prints the report, then one line for each change', async (t) => {
    const { cluster, kubeconfig, put } = await startCluster(t);
    const running = startStatus(['--kubeconfig', kubeconfig, '--watch']);
    await waitFor(() => running.out().includes('All is well.\n'));
    put(broken);
    await waitFor(() => running.out().includes('BackendNotFound'));
    cluster.delete('ProxyPolicy', 'default/browsers');
    await waitFor(() => running.out().includes(': gone'));
    running.interrupt();
    assert.equal(await running.ended, 1);
    const lines = running.out().split('All is well.\n')[1]!.trimEnd().split('\n');
    const route = lines.find((line) => line.includes('HTTPRoute'));
    assert.match(
      route ?? '',
      /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}HTTPRoute default\/tickets, at Gateway default\/public: Accepted True, ResolvedRefs False \(BackendNotFound\): .*does not exist$/,
    );
    assert.ok(lines.some((line) => line.endsWith('ProxyPolicy default/browsers, at Gateway default/public: gone')));
    assert.ok(!running.out().includes('\u001B'), 'no escape sequences');
  });

  test('-o json prints one object per line', async (t) => {
    const { kubeconfig, put } = await startCluster(t);
    const running = startStatus(['--kubeconfig', kubeconfig, '--watch', '-o', 'json']);
    const read = (): StatusReport[] =>
      running
        .out()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as StatusReport);
    await waitFor(() => read().length > 0);
    put(broken);
    await waitFor(() => read().at(-1)?.well === false);
    running.interrupt();
    assert.equal(await running.ended, 1);
    assert.equal(read()[0]?.well, true);
  });
});

test('the program ends by Ctrl-C', async (t) => {
  const { kubeconfig } = await startCluster(t);
  const child = spawn(process.execPath, [program, 'status', '--kubeconfig', kubeconfig, '--watch'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (out += text));
  await waitFor(() => out.includes('All is well.'));
  child.kill('SIGINT');
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.deepEqual([code, signal], [0, null]);
});
