import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import {
  findDefaultKeyFile,
  readOrCreateSealKeyFile,
  readSealKeyFile,
  rotateSealKeyFile,
  type SealKeyResult,
} from './seal-key-file.ts';
import type { KeyFileSystem } from './key-file.ts';
import { rotateKeyCommand } from './rotate-key.ts';
import { executeCommand } from './command.ts';

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await files.mkdtemp(join(tmpdir(), 'seal-keys-'));
  t.after(() => files.rm(folder, { recursive: true, force: true }));
  return folder;
}

async function writeKeys(t: TestContext, text: string, mode = 0o600): Promise<string> {
  const path = join(await makeFolder(t), 'seal-keys');
  await files.writeFile(path, text, { mode });
  await files.chmod(path, mode);
  return path;
}

function expectKeys(result: SealKeyResult) {
  assert.ok(result.ok, JSON.stringify(result));
  return result.keys;
}

function expectProblem(result: SealKeyResult): { problem: string; message: string } {
  assert.ok(!result.ok);
  return result;
}

const key = randomBytes(32).toString('base64url');
const otherKey = randomBytes(32).toString('base64');

describe('making the file', () => {
  test('a new file is readable by its owner only, and so is its folder', async (t) => {
    const path = join(await makeFolder(t), 'state', 'mcp-gatehouse', 'seal-keys');
    const made = await readOrCreateSealKeyFile(path);
    const keys = expectKeys(made);
    assert.ok(made.ok && made.created);
    assert.equal(keys.current.length, 32);
    assert.equal(keys.previous, undefined);
    assert.equal((await files.stat(path)).mode & 0o777, 0o600);
    assert.equal((await files.stat(join(path, '..'))).mode & 0o777, 0o700);
    assert.deepEqual(await files.readdir(join(path, '..')), ['seal-keys']);
    const again = await readOrCreateSealKeyFile(path);
    assert.deepEqual([again.ok && again.created, expectKeys(again)], [false, keys]);
  });

  test('two files never have the same key', async (t) => {
    const folder = await makeFolder(t);
    const first = expectKeys(await readOrCreateSealKeyFile(join(folder, 'a')));
    const second = expectKeys(await readOrCreateSealKeyFile(join(folder, 'b')));
    assert.notDeepEqual(first.current, second.current);
  });

  test('many that start at once end up with the same keys', async (t) => {
    const path = join(await makeFolder(t), 'x', 'seal-keys');
    const results = await Promise.all(Array.from({ length: 16 }, () => readOrCreateSealKeyFile(path)));
    const all = results.map(expectKeys);
    for (const keys of all) assert.deepEqual(keys, all[0]);
    assert.equal(results.filter((result) => result.ok && result.created).length, 1);
    assert.deepEqual(await files.readdir(join(path, '..')), ['seal-keys']);
  });

  test('a full disk leaves nothing behind, and says so', async (t) => {
    const folder = await makeFolder(t);
    const path = join(folder, 'seal-keys');
    const result = expectProblem(await readOrCreateSealKeyFile(path, fillDisk()));
    assert.equal(result.problem, 'disk_full');
    assert.match(result.message, /is full; there is no key, and nothing was written\. Make room/);
    assert.deepEqual(await files.readdir(folder), []);
  });

  test('a folder that cannot be written to or made', async (t) => {
    const folder = await makeFolder(t);
    const refusing = (code: string): KeyFileSystem => ({
      ...files,
      mkdir: async (): Promise<never> => {
        throw Object.assign(new Error('refused'), { code });
      },
    });
    for (const [code, message] of [
      ['EACCES', /this user may not write to .*; there is no key.*--seal-key-file/],
      ['EROFS', /is read-only/],
    ] as const) {
      const result = expectProblem(await readOrCreateSealKeyFile(join(folder, 'x', 'keys'), refusing(code)));
      assert.equal(result.problem, 'unwritable');
      assert.match(result.message, message);
    }
    await files.writeFile(join(folder, 'file'), '');
    const inFile = expectProblem(await readOrCreateSealKeyFile(join(folder, 'file', 'keys')));
    assert.match(inFile.message, /not a folder/);
  });
});

/** A disk that takes a file's name but nothing of its content. */
function fillDisk(): KeyFileSystem {
  return {
    ...files,
    async open(...args) {
      const handle = await files.open(...args);
      handle.writeFile = () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
      return handle;
    },
  };
}

describe('reading the file', () => {
  test('both slots, in base64 and base64url, with comments', async (t) => {
    const path = await writeKeys(t, `# ours\n\ncurrent: ${key} # 2026\r\nprevious:   ${otherKey}\n`);
    const keys = expectKeys(await readSealKeyFile(path));
    assert.deepEqual(Buffer.from(keys.current), Buffer.from(key, 'base64url'));
    assert.deepEqual(Buffer.from(keys.previous ?? []), Buffer.from(otherKey, 'base64'));
  });

  test('a file that others can read is refused, whatever is in it', async (t) => {
    for (const mode of [0o640, 0o604, 0o660, 0o644, 0o610]) {
      const path = await writeKeys(t, `current: ${key}\n`, mode);
      const { problem, message } = expectProblem(await readSealKeyFile(path));
      assert.equal(problem, 'insecure');
      assert.match(message, new RegExp(`mode 0${mode.toString(8)}\\)\\. Run: chmod 600 .*rotate-key --drop-previous`));
      // Nor is it replaced by a new one.
      assert.equal((await readOrCreateSealKeyFile(path)).ok, false);
    }
  });

  test('a folder that everybody can write to is refused, unless only owners can take files away', async (t) => {
    const path = await writeKeys(t, `current: ${key}\n`);
    await files.chmod(join(path, '..'), 0o777);
    assert.match(expectProblem(await readSealKeyFile(path)).message, /Everybody can write to .* chmod 700/);
    await files.chmod(join(path, '..'), 0o1777);
    assert.ok((await readSealKeyFile(path)).ok);
  });

  const bad: readonly [name: string, text: string, problem: string, message: RegExp][] = [
    ['empty', '', 'truncated', /has no current key: it seems to be cut off\. Restore it, or delete it/],
    ['only comments', '# x\n', 'truncated', /no current key/],
    ['only a previous key', `previous: ${key}\n`, 'truncated', /no current key/],
    ['cut off in a key', `current: ${key.slice(0, 20)}`, 'truncated', /line 1, has a key of 15 bytes instead of 32/],
    ['cut off in a name', `current: ${key}\nprev`, 'truncated', /line 2, has no key/],
    ['no base64', 'current: not!base64\n', 'malformed', /line 1, has a key that is not base64.*openssl rand/],
    ['too long a key', `current: ${randomBytes(33).toString('base64')}\n`, 'malformed', /no usable key/],
    ['a placeholder', `current: ${Buffer.alloc(32).toString('base64')}\n`, 'malformed', /no usable key/],
    ['twice the same slot', `current: ${key}\ncurrent: ${otherKey}\n`, 'malformed', /second current key/],
    ['the same key twice', `current: ${key}\nprevious: ${key}\n`, 'malformed', /same key twice/],
    ['something else', 'apiVersion: v1\n', 'malformed', /must read "current: KEY"/],
    ['far too much', `current: ${key}\n${'#'.repeat(5000)}`, 'malformed', /too large/],
  ];
  for (const [name, text, problem, message] of bad) {
    test(`${name}: refused, and no key is shown`, async (t) => {
      const result = expectProblem(await readSealKeyFile(await writeKeys(t, text)));
      assert.equal(result.problem, problem);
      assert.match(result.message, message);
      assert.ok(!result.message.includes(key.slice(0, 10)) && !result.message.includes(otherKey.slice(0, 10)));
    });
  }

  test('a folder in its place, and no file at all', async (t) => {
    const folder = await makeFolder(t);
    await files.mkdir(join(folder, 'x'), { mode: 0o700 });
    assert.match(expectProblem(await readSealKeyFile(join(folder, 'x'))).message, /not a regular file/);
    assert.equal(expectProblem(await readSealKeyFile(join(folder, 'y'))).problem, 'missing');
    assert.equal(expectProblem(await readSealKeyFile(join(folder, 'y', 'z'))).problem, 'missing');
  });
});

describe('rotating', () => {
  test('the current key becomes the previous one, and the file stays private', async (t) => {
    const path = join(await makeFolder(t), 'seal-keys');
    const before = expectKeys(await readOrCreateSealKeyFile(path));
    const rotated = expectKeys(await rotateSealKeyFile(path, { dropPrevious: false }));
    assert.deepEqual(rotated.previous, before.current);
    assert.notDeepEqual(rotated.current, before.current);
    assert.deepEqual(expectKeys(await readSealKeyFile(path)), rotated);
    assert.equal((await files.stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await files.readdir(join(path, '..')), ['seal-keys']);
  });

  test('a leaked key is forgotten at once', async (t) => {
    const path = join(await makeFolder(t), 'seal-keys');
    const before = expectKeys(await readOrCreateSealKeyFile(path));
    const rotated = expectKeys(await rotateSealKeyFile(path, { dropPrevious: true }));
    assert.equal(rotated.previous, undefined);
    assert.notDeepEqual(rotated.current, before.current);
  });

  test('a full disk changes nothing', async (t) => {
    const path = join(await makeFolder(t), 'seal-keys');
    const before = expectKeys(await readOrCreateSealKeyFile(path));
    const result = expectProblem(await rotateSealKeyFile(path, { dropPrevious: false }, fillDisk()));
    assert.match(result.message, /full; the keys are as they were/);
    assert.deepEqual(expectKeys(await readSealKeyFile(path)), before);
    assert.deepEqual(await files.readdir(join(path, '..')), ['seal-keys']);
  });

  test('the command: says what became of it, and never shows a key', async (t) => {
    const path = join(await makeFolder(t), 'seal-keys');
    const run = async (...args: string[]): Promise<[number, string]> => {
      let text = '';
      const add = (part: string): void => void (text += part);
      const io = { stdout: add, stderr: add, color: false, env: { MCP_GATEHOUSE_SEAL_KEY_FILE: path } };
      return [await executeCommand(rotateKeyCommand, args, io), text];
    };
    assert.deepEqual(await run(), [
      1,
      `mcp-gatehouse rotate-key: There is no seal key file ${path}. A gateway makes it when it first needs one.\n`,
    ]);
    await readOrCreateSealKeyFile(path);
    const [code, text] = await run();
    assert.equal(code, 0);
    assert.match(text, /has a new key; .* Nobody has to log in again\.\n$/);
    assert.match((await run('--drop-previous'))[1], /no other\. Every client registers and logs in again/);
    assert.equal((await run('--seal-key'))[0], 2);
    assert.match((await run('--help'))[1], /Usage: mcp-gatehouse rotate-key/);
    const written = await files.readFile(path, 'utf8');
    const current = /current: (\S+)/.exec(written)?.[1];
    assert.ok(current !== undefined && !text.includes(current));
  });
});

test('the default place follows the XDG Base Directory specification', () => {
  assert.equal(findDefaultKeyFile({ XDG_STATE_HOME: '/s', HOME: '/h' }), '/s/mcp-gatehouse/seal-keys');
  assert.equal(findDefaultKeyFile({ HOME: '/h' }), '/h/.local/state/mcp-gatehouse/seal-keys');
  assert.equal(
    findDefaultKeyFile({ XDG_STATE_HOME: 'relative', HOME: '/h' }),
    '/h/.local/state/mcp-gatehouse/seal-keys',
  );
  assert.equal(findDefaultKeyFile({ HOME: '' }), undefined);
});

test('keys in the folder of the former name stay in use until there are others', async (t) => {
  const folder = await makeFolder(t);
  const told: string[] = [];
  const find = (): string | undefined =>
    findDefaultKeyFile({ XDG_STATE_HOME: folder }, (former, current) => told.push(former, current));
  const [former, current] = [join(folder, 'mcp-gateway', 'seal-keys'), join(folder, 'mcp-gatehouse', 'seal-keys')];
  assert.equal((await readOrCreateSealKeyFile(former)).ok, true);
  assert.equal(find(), former);
  assert.deepEqual(told, [former, current]);
  assert.equal((await readOrCreateSealKeyFile(current)).ok, true);
  assert.equal(find(), current);
  assert.equal(told.length, 2);
});
