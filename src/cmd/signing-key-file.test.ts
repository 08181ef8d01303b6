// The file with the keys of issued tokens: made, read, rotated, and refused. What it has in common with the seal key file, seal-key-file.test.ts tests in full.
import assert from 'node:assert/strict';
import * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createSigningKey, formatSigningKey } from '../base/signing-key.ts';
import { executeCommand } from './command.ts';
import { type KeyFileSystem, readKeyFile } from './key-file.ts';
import { rotateKeyCommand } from './rotate-key.ts';
import {
  describeSigningKeyFile,
  findSigningKeyFile,
  readOrCreateSigningKeyFile,
  rotateSigningKeyFile,
  type SigningKeyResult,
} from './signing-key-file.ts';
import { announceMs, type DatedSigningKey } from './signing-keys.ts';

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await files.mkdtemp(join(tmpdir(), 'signing-keys-'));
  t.after(() => files.rm(folder, { recursive: true, force: true }));
  return folder;
}

async function writeText(t: TestContext, text: string, mode = 0o600): Promise<string> {
  const path = join(await makeFolder(t), 'signing-keys');
  await files.writeFile(path, text, { mode });
  await files.chmod(path, mode);
  return path;
}

const read = (path: string): Promise<SigningKeyResult> => readKeyFile(path, describeSigningKeyFile());

function expectKeys(result: SigningKeyResult): readonly DatedSigningKey[] {
  assert.ok(result.ok, JSON.stringify(result));
  return result.keys;
}

const listKids = (keys: readonly DatedSigningKey[]): string[] => keys.map(({ kid }) => kid);

describe('making the file', () => {
  test('readable by its owner only; many that start at once end up with the same key', async (t) => {
    const path = join(await makeFolder(t), 'state', 'signing-keys');
    const results = await Promise.all(Array.from({ length: 8 }, () => readOrCreateSigningKeyFile(path)));
    const all = results.map(expectKeys);
    for (const keys of all) assert.deepEqual(listKids(keys), listKids(all[0]!));
    assert.equal(results.filter((result) => result.ok && result.created).length, 1);
    assert.equal((await files.stat(path)).mode & 0o777, 0o600);
    assert.equal((await files.stat(join(path, '..'))).mode & 0o777, 0o700);
    assert.deepEqual(await files.readdir(join(path, '..')), ['signing-keys']);
    const again = expectKeys(await read(path));
    assert.deepEqual([again.length, again[0]!.signsFrom], [1, again[0]!.createdAt]);
  });

  test('its place is beside the seal key file', () => {
    assert.equal(findSigningKeyFile('/var/lib/x/seal-keys'), '/var/lib/x/signing-keys');
    assert.equal(findSigningKeyFile(undefined), undefined);
  });
});

describe('reading the file', () => {
  const material = createSigningKey();
  const entry = {
    kid: 'k1',
    createdAt: '2026-01-01T00:00:00.000Z',
    signsFrom: '2026-01-01T00:05:00Z',
    privateKey: formatSigningKey(material),
  };
  const write = (...keys: readonly object[]): string => JSON.stringify({ keys });

  test('with keys of your own', async (t) => {
    const [key] = expectKeys(await read(await writeText(t, write(entry))));
    assert.deepEqual([key!.kid, key!.signsFrom], ['k1', Date.UTC(2026, 0, 1, 0, 5)]);
    assert.deepEqual(Buffer.from(key!.privateKey), Buffer.from(material.privateKey));
  });

  test('that others can read is refused, whatever is in it, and not replaced', async (t) => {
    for (const mode of [0o640, 0o604]) {
      const path = await writeText(t, write(entry), mode);
      const result = await read(path);
      assert.ok(!result.ok && result.problem === 'insecure');
      assert.match(result.message, /signing key file .*Run: chmod 600 .*rotate-key --signing --drop-previous/);
      assert.equal((await readOrCreateSigningKeyFile(path)).ok, false);
    }
  });

  const bad: readonly [name: string, text: string, problem: string, message: RegExp][] = [
    ['empty', '', 'truncated', /Restore it, or delete it to have a new one made/],
    ['cut off', write(entry).slice(0, -20), 'truncated', /Restore it, or delete it/],
    ['no keys', '{"keys": []}', 'truncated', /has no keys\. Restore it/],
    ['something else', 'apiVersion: v1\n', 'truncated', /Restore it/],
    ['two members of one name', '{"keys": [], "keys": []}', 'malformed', /Restore it/],
    ['an unknown member', '{"keys": [], "key": 1}', 'malformed', /has the member "key", which is not known/],
    ['no object', write([]), 'malformed', /keys\[0\], is not an object with kid/],
    ['an unknown member of a key', write({ ...entry, alg: 'ES256' }), 'malformed', /the member "alg"/],
    ['no kid', write({ ...entry, kid: '' }), 'malformed', /keys\[0\], needs a kid/],
    ['a kid twice', write(entry, entry), 'malformed', /keys\[1\], has the kid of a key before it/],
    ['no time', write({ ...entry, signsFrom: 'tomorrow' }), 'malformed', /needs signsFrom: a time such as/],
    ['no such day', write({ ...entry, createdAt: '2026-13-01T00:00:00Z' }), 'malformed', /needs createdAt/],
    ['no key', write({ ...entry, privateKey: 'x' }), 'malformed', /none for ES256/],
    ['far too much', write(entry) + ' '.repeat(70_000), 'malformed', /too large/],
  ];
  for (const [name, text, problem, message] of bad)
    test(`${name}: refused, and no key is shown`, async (t) => {
      const result = await read(await writeText(t, text));
      assert.ok(!result.ok);
      assert.equal(result.problem, problem);
      assert.match(result.message, message);
      assert.ok(!result.message.includes(entry.privateKey.slice(30, 60)));
    });
});

describe('rotating', () => {
  test('adds a key that signs later; a leaked one is replaced at once; a full disk changes nothing', async (t) => {
    const path = join(await makeFolder(t), 'signing-keys');
    const [first] = expectKeys(await readOrCreateSigningKeyFile(path));
    const now = first!.createdAt + 1000;
    const rotated = expectKeys(await rotateSigningKeyFile(path, { dropPrevious: false, now }));
    assert.deepEqual(listKids(expectKeys(await read(path))), listKids(rotated));
    assert.deepEqual([rotated[0]!.kid, rotated[1]!.signsFrom], [first!.kid, now + announceMs]);

    const full: KeyFileSystem = {
      ...files,
      async open(...args) {
        const handle = await files.open(...args);
        handle.writeFile = () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
        return handle;
      },
    };
    const failed = await rotateSigningKeyFile(path, { dropPrevious: false, now }, full);
    assert.ok(!failed.ok && /full; the keys are as they were/.test(failed.message));
    assert.deepEqual(listKids(expectKeys(await read(path))), listKids(rotated));

    const fresh = expectKeys(await rotateSigningKeyFile(path, { dropPrevious: true, now }));
    assert.equal(fresh.length, 1);
    assert.ok(!listKids(rotated).includes(fresh[0]!.kid));
    assert.equal((await files.stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await files.readdir(join(path, '..')), ['signing-keys']);
  });

  test('the command: says what became of it, and never shows a key', async (t) => {
    const folder = await makeFolder(t);
    const path = join(folder, 'signing-keys');
    const run = async (...args: string[]): Promise<[number, string]> => {
      let text = '';
      const add = (part: string): void => void (text += part);
      const io = {
        stdout: add,
        stderr: add,
        color: false,
        env: { MCP_GATEHOUSE_SEAL_KEY_FILE: join(folder, 'seal-keys') },
      };
      return [await executeCommand(rotateKeyCommand, args, io), text];
    };
    assert.deepEqual(await run('--signing'), [
      1,
      `mcp-gatehouse rotate-key: There is no signing key file ${path}. A gateway makes it when it first needs one.\n`,
    ]);
    await readOrCreateSigningKeyFile(path);
    const [code, text] = await run('--signing');
    assert.equal(code, 0);
    assert.match(text, /has a new key, which signs from \d{4}-.*Z\. Access tokens until then stay good\.\n$/);
    assert.equal(expectKeys(await read(path)).length, 2);
    assert.match((await run('--signing', '--signing-key-file', path))[1], /which signs from/);
    assert.match((await run('--signing', '--drop-previous'))[1], /no other\. Access tokens until now are refused/);
    assert.equal(expectKeys(await read(path)).length, 1);
    const [wrong, said] = await run('--signing-key-file', path);
    assert.equal(wrong, 2);
    assert.match(said, /--signing-key-file goes with --signing/);
    assert.ok(!text.includes('PRIVATE'));
  });
});
