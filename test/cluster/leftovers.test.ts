// A test cluster leaves nothing behind: no process, link, route, mount or folder, not even when the test process is killed.
import assert from 'node:assert/strict';
import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Child, startChild } from '../kit/child-process.ts';
import type { Cluster } from './cluster.ts';
import { nameHostLink, readLinkIndex } from './host-link.ts';
import { listDescendants, listSurvivors, type ProcessEntry } from './process-tree.ts';
import { runCommand } from './run-command.ts';
import { startCluster } from './start-cluster.ts';
import { waitFor } from '../kit/wait-for.ts';

interface Run {
  readonly slot: number;
  readonly folder: string;
  readonly address: string;
}

const supervisorCommand = /^\S*node .*supervisor\/main\.ts/;

/** Ids are used again. */
const nameProcess = ({ pid, startedAt }: ProcessEntry): string => `${pid} ${startedAt}`;
/** Processes of other files' clusters are no business of ours. */
const foreign = new Set(listDescendants(process.pid).map(nameProcess));
const listOwnDescendants = (): readonly ProcessEntry[] =>
  listDescendants(process.pid).filter((entry) => !foreign.has(nameProcess(entry)));

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** What is left of a run, in words. */
async function findLeftovers({ slot, folder }: Run, processes: readonly ProcessEntry[]): Promise<readonly string[]> {
  const link = nameHostLink(slot);
  const { stdout: routes } = await runCommand('ip', ['-4', 'route', 'show']);
  const mounts = await readFile('/proc/self/mountinfo', 'utf8');
  return [
    ...listSurvivors(processes).map(({ pid, command }) => `process ${pid} ${command}`),
    ...((await readLinkIndex(link)) === undefined ? [] : [`link ${link}`]),
    ...routes.split('\n').filter((route) => route.includes(` ${link} `)),
    ...mounts.split('\n').filter((mount) => mount.includes(folder)),
    ...((await exists(folder)) ? [`folder ${folder}`] : []),
  ];
}

async function startRun(): Promise<{ run: Run; child: Child; processes: readonly ProcessEntry[] }> {
  const child = startChild({
    command: process.execPath,
    args: [join(import.meta.dirname, 'leftover-child.ts')],
    env: process.env,
  });
  after(() => child.stop());
  const run = await child.waitForMessage((message) => message as Run);
  const processes = listDescendants(child.pid);
  const commands = processes.map(({ command }) => command);
  for (const expected of [/^unshare /, /\/etcd /, /\/kube-apiserver /, supervisorCommand, /observed-server\.ts/]) {
    const isThere = commands.some((command) => expected.test(command));
    assert.ok(isThere, String(expected));
  }
  assert.ok((await findLeftovers(run, processes)).length > 5, 'a cluster that runs can be seen');
  return { run, child, processes };
}

const waitUntilClean = async (run: Run, processes: readonly ProcessEntry[]): Promise<void> => {
  let left: readonly string[] = [];
  await waitFor(async () => (left = await findLeftovers(run, processes)).length === 0, {
    retryErrors: true,
    what: 'nothing is left',
    describe: () => left.join('\n'),
  });
};

/** As if another process had a cluster: this one's parent has none, and lives. */
const foreignFolder = join(tmpdir(), `mcp-gatehouse-cluster-${process.ppid}-not-mine`);

before(async () => {
  await mkdir(foreignFolder, { recursive: true });
  await writeFile(join(foreignFolder, 'file'), '');
});

describe('nothing is left', () => {
  /** The first cluster of this process, which two tests use: a start is expensive. */
  let next: Cluster | undefined;
  const startNext = (): Promise<Cluster> => startCluster({ hasCrds: false });
  after(() => next?.stop());

  test('after SIGKILL of the test process', async () => {
    const { run, child, processes } = await startRun();
    process.kill(child.pid, 'SIGKILL');
    await waitUntilClean(run, processes);
  });

  test('after SIGKILL of the test process while the supervisor hangs', async () => {
    const { run, child, processes } = await startRun();
    const supervisor = processes.find(({ command }) => supervisorCommand.test(command));
    assert.ok(supervisor !== undefined);
    process.kill(supervisor.pid, 'SIGSTOP');
    process.kill(child.pid, 'SIGKILL');
    await waitUntilClean(run, processes);
  });

  test('after SIGKILL of the keeper, but for a folder that the next cluster removes', async () => {
    const { run, child, processes } = await startRun();
    const keeper = processes.find(({ parent }) => parent === child.pid);
    assert.ok(keeper !== undefined);
    assert.match(keeper.command, /^sh -c/);
    process.kill(keeper.pid, 'SIGKILL');
    await waitFor(async () => (await findLeftovers(run, processes)).every((what) => what === `folder ${run.folder}`), {
      retryErrors: true,
      what: 'only the folder is left',
    });
    // Its test process has nothing to wait for any more. Until it is buried, its folder counts as in use.
    await waitFor('the test process has ended', () => child.exitCode() !== undefined);
    next = await startNext();
    assert.equal(await exists(run.folder), false);
  });

  test('after the supervisor is killed; the test process is told', async () => {
    next ??= await startNext();
    const cluster = next;
    const processes = listOwnDescendants();
    const run = { slot: cluster.addresses.slot, folder: cluster.folder, address: '' };
    const unshare = processes.find(({ command }) => command.startsWith('unshare '));
    const supervisor = processes.find(({ command }) => supervisorCommand.test(command));
    assert.ok(unshare !== undefined && supervisor !== undefined);
    // What is asked now is not answered before the end.
    process.kill(supervisor.pid, 'SIGSTOP');
    const asked = cluster.exec({ namespace: 'default', pod: 'nobody', command: [] });
    process.kill(unshare.pid, 'SIGKILL');
    await assert.rejects(asked, /The supervisor of the cluster ended/);
    await assert.rejects(cluster.renewTokens(), /The cluster has been stopped/);
    await cluster.stop();
    await waitUntilClean(run, processes);
  });

  test('after stop(), with two clusters at once that do not see each other', async () => {
    const clusters = await Promise.all([startCluster({ hasCrds: false }), startCluster({ hasCrds: false })]);
    for (const cluster of clusters) after(() => cluster.stop());
    const processes = listOwnDescendants();
    const [first, second] = clusters;
    assert.notEqual(first.addresses.slot, second.addresses.slot);
    // What this process still has open to the cluster before must not lead into one of these.
    for (const { addresses } of clusters) assert.notEqual(addresses.slot, next?.addresses.slot);
    await first.api.create('/api/v1/namespaces', { metadata: { name: 'only-here' } });
    const names = (await second.api.list('/api/v1/namespaces')).map(({ metadata }) => metadata.name);
    assert.ok(!names.includes('only-here'));
    for (const cluster of clusters) {
      await cluster.stop();
      const run = { slot: cluster.addresses.slot, folder: cluster.folder, address: '' };
      assert.deepEqual(await findLeftovers(run, []), []);
    }
    await waitFor(() => listSurvivors(processes).length === 0, { retryErrors: true, what: 'no process is left' });
  });
});

test('folders of others are not touched by clusters that start', async () => {
  assert.ok(await exists(join(foreignFolder, 'file')));
  await rm(foreignFolder, { recursive: true });
});
