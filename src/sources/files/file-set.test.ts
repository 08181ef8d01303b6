import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { describeFileError, listFiles } from './file-set.ts';

async function makeFolder(t: TestContext, files: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'file-set-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), 'a: 1\n');
  }
  return folder;
}

async function listNames(folder: string, paths: readonly string[] = [folder]): Promise<string[]> {
  const { files, problems } = await listFiles(paths);
  assert.deepEqual(problems, []);
  return files.map(({ path }) => relative(folder, path));
}

describe('listFiles', () => {
  test('takes YAML and JSON files of a folder and of those below, by name', async (t) => {
    const folder = await makeFolder(t, [
      'b.yaml',
      'a.yml',
      'c.json',
      'D.YAML',
      'sub/deep/x.yaml',
      'readme.md',
      'yaml',
      'x.yaml.txt',
    ]);
    assert.deepEqual(await listNames(folder), ['D.YAML', 'a.yml', 'b.yaml', 'c.json', 'sub/deep/x.yaml']);
  });

  test('leaves out what is hidden, and what editors leave behind', async (t) => {
    const names = [
      'a.yaml',
      '.a.yaml',
      '.git/b.yaml',
      'a.yaml~',
      '#a.yaml#',
      '.#a.yaml',
      '.a.yaml.swp',
      'a.yaml.bak',
      'a.yaml.tmp',
      '~a.yaml',
      '4913',
    ];
    assert.deepEqual(await listNames(await makeFolder(t, names)), ['a.yaml']);
  });

  test('reads a mounted ConfigMap once, through its links, and sees when it is swapped', async (t) => {
    const folder = await makeFolder(t, [
      '..2026_01/a.yaml',
      '..2026_01/b.yaml',
      '..2026_02/a.yaml',
      '..2026_02/b.yaml',
    ]);
    await symlink('..2026_01', join(folder, '..data'));
    await symlink('..data/a.yaml', join(folder, 'a.yaml'));
    await symlink('..data/b.yaml', join(folder, 'b.yaml'));
    assert.deepEqual(await listNames(folder), ['a.yaml', 'b.yaml']);
    const before = await listFiles([folder]);
    await symlink('..2026_02', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    const after = await listFiles([folder]);
    assert.notDeepEqual(after.files, before.files);
  });

  test('a path may be a file, whatever its name; each file counts once', async (t) => {
    const folder = await makeFolder(t, ['a.yaml', 'gateway.conf', '.hidden/x.yaml']);
    assert.deepEqual(await listNames(folder, [join(folder, 'gateway.conf')]), ['gateway.conf']);
    assert.deepEqual(await listNames(folder, [join(folder, '.hidden')]), ['.hidden/x.yaml']);
    assert.deepEqual(await listNames(folder, [join(folder, 'a.yaml'), folder, folder]), ['a.yaml']);
  });

  test('a link to a folder above does not go round for ever', async (t) => {
    const folder = await makeFolder(t, ['sub/a.yaml']);
    await symlink('..', join(folder, 'sub/up'));
    assert.deepEqual(await listNames(folder), ['sub/a.yaml']);
  });

  test('says what it could not look at', async (t) => {
    const folder = await makeFolder(t, ['notes.txt']);
    await symlink('gone.yaml', join(folder, 'lost.yaml'));
    await symlink('gone', join(folder, 'lost'));
    await symlink('loop.yaml', join(folder, 'loop.yaml'));
    const { problems } = await listFiles([folder, join(folder, 'nope')]);
    assert.deepEqual(
      problems.map(({ path, code, message }) => `${relative(folder, path)} ${code}: ${message}`),
      [
        'loop.yaml unreadable: is a symbolic link that leads back to itself',
        'lost.yaml unreadable: does not exist',
        'nope not_found: does not exist',
      ],
    );
    assert.equal((await listFiles(['/dev/null'])).problems[0]?.message, 'is neither a file nor a folder');
  });

  test('a folder without any file to read is a problem', async (t) => {
    const folder = await makeFolder(t, ['notes.txt']);
    assert.equal((await listFiles([folder])).problems[0]?.code, 'no_resources');
  });

  test('the fingerprint changes with size, time and inode', async (t) => {
    const folder = await makeFolder(t, ['a.yaml']);
    const file = join(folder, 'a.yaml');
    const look = async (): Promise<string> => (await listFiles([folder])).files[0]!.fingerprint;
    const seen = new Set([await look()]);
    await writeFile(file, 'a: 12\n');
    seen.add(await look());
    await utimes(file, 1, 1);
    seen.add(await look());
    await writeFile(`${file}.tmp`, 'a: 12\n');
    await utimes(`${file}.tmp`, 1, 1);
    await rename(`${file}.tmp`, file);
    seen.add(await look());
    assert.equal(seen.size, 4);
    seen.add(await look());
    assert.equal(seen.size, 4);
  });
});

test('why a file cannot be read is said in plain words', () => {
  const words = {
    ENOENT: 'does not exist',
    EACCES: 'cannot be read by this user: check its permissions',
    EISDIR: 'is a folder',
    EIO: 'cannot be read (EIO)',
  };
  for (const [code, text] of Object.entries(words))
    assert.equal(describeFileError(Object.assign(new Error('x'), { code })), text);
  assert.equal(describeFileError('x'), 'cannot be read (unknown error)');
});
