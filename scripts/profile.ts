// Profiles the gateway under the load of a case of the benchmarks: where its time goes, and what it allocates.
// `npm run profile -- jwt`; prints the folder with the files for a browser and for Chrome's developer tools.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { inSession } from '../test/bench/bench-session.ts';
import { findTools, ToolMissingError } from '../test/bench/debian-tools.ts';
import { readCpuTime } from '../test/bench/cpu-time.ts';
import { type CallNode, foldAllocationProfile, foldCpuProfile, scaleTo } from '../test/bench/profile/call-tree.ts';
import { renderFlameGraph } from '../test/bench/profile/flame-graph.ts';
import { formatBytes, formatMicros, formatTop } from '../test/bench/profile/profile-text.ts';
import { connectInspector } from '../test/bench/profile/inspector-client.ts';
import { profiledCases } from '../test/bench/profile/profiled-cases.ts';

const usage = `Usage: npm run profile -- CASE [--seconds N] [--warm-up N] [--out FOLDER] [--top N] [--no-access-log]

Cases: ${profiledCases.map(({ name }) => name).join(', ')}`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    allowNegative: true,
    options: {
      seconds: { type: 'string', default: '8' },
      'warm-up': { type: 'string', default: '5' },
      top: { type: 'string', default: '40' },
      out: { type: 'string' },
      'access-log': { type: 'boolean', default: true },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const each = profiledCases.find(({ name }) => name === positionals[0]);
  const [seconds, warmUp, top] = [values.seconds, values['warm-up'], values.top].map(Number) as [
    number,
    number,
    number,
  ];
  if (each === undefined || positionals.length > 1 || ![seconds, warmUp, top].every((value) => value > 0)) {
    console.error(usage);
    return 2;
  }
  const report = (line: string): void => console.error(line);
  const out = values.out ?? (await mkdtemp(join(tmpdir(), `mcp-gatehouse-profile-${each.name}-`)));
  await mkdir(out, { recursive: true });
  try {
    const found = await findTools(['nginx', 'wrk', 'taskset'], report);
    // Peers have no part in this.
    const tools = { ...found, haproxy: '', envoy: '' };
    const { sizes } = each;
    await inSession({ tools, report, sizes, accessLog: values['access-log'] }, async (session) => {
      report(`Starting ${each.name}`);
      const { gateway, unit, count } = await each.start(session, ['--inspect=127.0.0.1:0']);
      const inspector = await connectInspector(gateway.readErrors());
      report(`Warming up for ${warmUp} s`);
      await delay(warmUp * 1_000);
      let served = 0;
      let cpuMicros = 0;
      const underLoad = async (): Promise<void> => {
        const [before, used] = [await count(), await readCpuTime(gateway.pid)];
        await delay(seconds * 1_000);
        served = (await count()) - before;
        cpuMicros = (await readCpuTime(gateway.pid)) - used;
      };
      const writeFindings = async (
        kind: 'cpu' | 'allocations',
        tree: CallNode,
        format: (weight: number) => string,
      ): Promise<void> => {
        const title = `${each.name}: ${kind === 'cpu' ? 'CPU time' : 'allocated'}`;
        const text = formatTop(tree, { title, unit, served, most: top, format });
        console.log(`\n${text}`);
        await writeFile(join(out, `${each.name}-${kind}.txt`), `${text}\n`);
        await writeFile(join(out, `${each.name}-${kind}.html`), renderFlameGraph(tree, { title, format }));
      };
      report(`Sampling where time goes, for ${seconds} s`);
      const cpu = await inspector.profileCpu(underLoad);
      await writeFile(join(out, `${each.name}.cpuprofile`), JSON.stringify(cpu));
      await writeFindings('cpu', scaleTo(foldCpuProfile(cpu), cpuMicros), formatMicros);
      report(`Sampling what is allocated, for ${seconds} s`);
      const allocations = await inspector.profileAllocations(underLoad);
      await writeFile(join(out, `${each.name}.heapprofile`), JSON.stringify(allocations));
      await writeFindings('allocations', foldAllocationProfile(allocations), formatBytes);
      inspector.close();
    });
  } catch (error) {
    if (!(error instanceof ToolMissingError)) throw error;
    console.error(error.message);
    return 1;
  }
  console.log(`\nWritten to ${out}`);
  return 0;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();
