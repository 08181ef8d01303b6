// What the heavier suites install: once, whoever asks at the same time, and whole or not at all.
import assert from 'node:assert/strict';
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Installation, InstallationError, installOnce } from '../../scripts/install-once.ts';

async function makeFolder(t: { after: (end: () => Promise<void>) => void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'install-once-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function describeProgram(parent: string, install: Installation['install']): Installation {
  const folder = join(parent, 'programs', 'one');
  const isInstalled = (): Promise<boolean> =>
    access(join(folder, 'program')).then(
      () => true,
      () => false,
    );
  return { title: 'One 1.0', folder, isInstalled, install, report() {} };
}

test('four who ask at the same time get what one of them installs', async (t) => {
  const parent = await makeFolder(t);
  let installations = 0;
  const program = describeProgram(parent, async (building) => {
    installations += 1;
    assert.deepEqual(await readdir(building), []);
    await writeFile(join(building, 'program'), 'v1');
    return building;
  });
  await Promise.all(Array.from({ length: 4 }, () => installOnce(program)));
  assert.equal(installations, 1);
  assert.equal(await readFile(join(program.folder, 'program'), 'utf8'), 'v1');
});

test('one that fails leaves nothing, and the one that waits for it installs', async (t) => {
  const parent = await makeFolder(t);
  let installations = 0;
  const program = describeProgram(parent, async (building) => {
    installations += 1;
    await writeFile(join(building, 'half'), '');
    if (installations === 1) throw new InstallationError('One 1.0 could not be downloaded.');
    assert.deepEqual(await readdir(building), ['half']);
    await writeFile(join(building, 'program'), 'v1');
    return building;
  });
  const outcomes = await Promise.allSettled([installOnce(program), installOnce(program)]);
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  assert.equal(installations, 2);
  assert.deepEqual((await readdir(join(parent, 'programs'))).toSorted(), ['one', 'one.lock']);
});

test('what is there but not whole is replaced', async (t) => {
  const parent = await makeFolder(t);
  const program = describeProgram(parent, async (building) => {
    await writeFile(join(building, 'program'), 'v1');
    return building;
  });
  await installOnce(program);
  await rm(join(program.folder, 'program'));
  await writeFile(join(program.folder, 'left over'), '');
  await installOnce(program);
  assert.deepEqual(await readdir(program.folder), ['program']);
});
