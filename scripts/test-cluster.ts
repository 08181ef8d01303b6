// `npm run test:cluster`: the tests of test/cluster, two files at once, each on a cluster of its own. `-- NAME...` runs some of them (`control-plane-login`),
// `-- --list` names them all.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const checkout = join(import.meta.dirname, '..');
const ending = '.test.ts';
const names = readdirSync(join(checkout, 'test', 'cluster'))
  .filter((file) => file.endsWith(ending))
  .map((file) => file.slice(0, -ending.length));

const { values, positionals } = parseArgs({ options: { list: { type: 'boolean' } }, allowPositionals: true });
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')} in test/cluster. There are: ${names.join(', ')}`);
  process.exitCode = 2;
} else if (values.list === true) {
  console.log(names.join('\n'));
} else {
  process.exitCode = runTests(positionals.length === 0 ? names : positionals);
}

function runTests(chosen: readonly string[]): number {
  const files = chosen.map((name) => join('test', 'cluster', `${name}${ending}`));
  const flags = ['--test', '--import', './test/keep-compiled-code.mjs', '--test-concurrency=2'];
  for (const args of [[join('scripts', 'build-program.ts')], [...flags, ...files]]) {
    const { status } = spawnSync(process.execPath, args, { cwd: checkout, stdio: 'inherit' });
    if (status !== 0) return status ?? 1;
  }
  return 0;
}
