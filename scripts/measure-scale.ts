// Measures the control plane with many routes, on the test cluster: how long until all are enforced, what one change costs after that, and the memory
// of controller and gateway. `npm run measure:scale`; `-- --routes 1000` for one size, `--write` to put the table into docs/performance.md.
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { formatScale, type ScaleResult } from '../test/cluster/scale-report.ts';
import { measureScale } from '../test/cluster/measure-scale.ts';

const usage = 'Usage: npm run measure:scale -- [--routes N]... [--changes N] [--write]';
const page = join(import.meta.dirname, '..', 'docs', 'performance.md');

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      routes: { type: 'string', multiple: true, default: ['1000', '5000'] },
      changes: { type: 'string', default: '20' },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const sizes = values.routes.map(Number);
  const changes = Number(values.changes);
  if (![...sizes, changes].every((count) => Number.isInteger(count) && count > 0)) {
    console.error(`--routes and --changes take whole numbers from 1 on.\n${usage}`);
    return 2;
  }
  const results: ScaleResult[] = [];
  for (const routes of sizes) {
    results.push(await measureScale({ routes, changes, report: (line) => console.error(`${routes} routes: ${line}`) }));
    // The last cluster's processes are gone; what they left to the kernel takes a moment.
    await sleep(2_000);
  }
  const table = formatScale(results, { processor: cpus()[0]?.model ?? 'unknown', cores: cpus().length });
  console.log(table);
  if (values.write) await writeSection(table);
  return 0;
}

/** Replaces what is between the marks. */
async function writeSection(table: string): Promise<void> {
  const marks = /(<!-- measure:scale -->\n)[^]*?(<!-- \/measure:scale -->)/;
  const text = await readFile(page, 'utf8');
  if (!marks.test(text)) throw new Error(`${page} has no marks <!-- measure:scale --> and <!-- /measure:scale -->`);
  await writeFile(
    page,
    text.replace(marks, (_, start: string, end: string) => `${start}${table}\n${end}`),
  );
}

process.exitCode = await main();
