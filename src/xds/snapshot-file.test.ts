import assert from 'node:assert/strict';
import * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { create, toJson } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import * as fc from 'fast-check';
import { type Log, silentLog } from '../base/log.ts';
import { BackendSchema, PolicySchema, SecretSchema } from '../ir/gen/config_pb.ts';
import type { HeldResource, HeldResources } from './client-resources.ts';
import { resourceTypes } from './resource-types.ts';
import { readSnapshotFile, SnapshotWriter, type SnapshotWriterOptions } from './snapshot-file.ts';
import { effort } from '../../test/kit/effort.ts';
import { waitFor } from '../../test/kit/wait-for.ts';

const typeUrl = (list: string): string => resourceTypes.find((type) => type.list === list)!.typeUrl;

const secret = create(SecretSchema, { key: 's', value: { case: 'text', value: 'hunter2' } });
const backend = create(BackendSchema, { key: 'b', kind: { case: 'http', value: { hostHeader: 'x' } } });
const closed = create(PolicySchema, {
  key: 'n/p/x/y',
  spec: { case: 'failure', value: { status: 500, reason: 'PolicyNotReadable' } },
});
const held = (message: HeldResource['message'], name: string, problem?: string): HeldResource => ({
  name,
  version: 'v1',
  message,
  problem,
});
const some: HeldResources = new Map([
  [typeUrl('secrets'), [held(secret, 's')]],
  [typeUrl('backends'), [held(backend, 'b'), held(undefined, 'gone', 'cannot be decoded')]],
  [typeUrl('policies'), [held(closed, 'n/p/x/y', 'cannot be decoded')]],
]);

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await files.mkdtemp(join(tmpdir(), 'snapshot-'));
  t.after(() => files.rm(folder, { recursive: true, force: true }));
  return join(folder, 'snapshot');
}

async function write(
  path: string,
  resources: HeldResources = some,
  options: Partial<SnapshotWriterOptions> = {},
): Promise<void> {
  const writer = new SnapshotWriter({ path, gateway: 'n/g', log: silentLog, settleMs: 3_600_000, ...options });
  writer.save(resources);
  await writer.close();
}

function describeResources(resources: HeldResources): unknown {
  return resourceTypes.map(({ typeUrl: url, schema }) =>
    (resources.get(url) ?? []).map(({ name, version, message }) => [name, version, toJson(schema, message!)]),
  );
}

describe('a snapshot file', () => {
  test('with content that this program does not know is not used in part', async (t) => {
    const path = await makeFolder(t);
    const newer = create(PolicySchema, { key: 'n/p/x/y' });
    newer.$unknown = [{ no: 99, wireType: WireType.Varint, data: new Uint8Array([1]) }];
    await write(path, new Map([[typeUrl('policies'), [held(newer, 'n/p/x/y')]]]));
    assert.deepEqual(await readSnapshotFile(path, 'n/g'), {
      kind: 'refused',
      problem: 'cannot be decoded: the resource n/p/x/y has unknown content: (field 99)',
    });
  });

  test('gives back what was in force', async (t) => {
    const path = await makeFolder(t);
    await write(path);
    const read = await readSnapshotFile(path, 'n/g');
    assert.ok(read.kind === 'read');
    assert.deepEqual(describeResources(read.resources), [
      [['s', 'v1', { key: 's', text: 'hunter2' }]],
      [['b', 'v1', { key: 'b', http: { hostHeader: 'x' } }]],
      // What stands in for a version that cannot be read is served, and asked for again.
      [['n/p/x/y', '', { key: 'n/p/x/y', failure: { status: 500, reason: 'PolicyNotReadable' } }]],
      [],
      [],
    ]);
  });

  test('of thousands of resources as well', async (t) => {
    const path = await makeFolder(t);
    const many: HeldResources = new Map([
      [
        typeUrl('secrets'),
        Array.from({ length: 2_345 }, (_, index) =>
          held(create(SecretSchema, { key: `s${index}`, value: { case: 'text', value: 'x' } }), `s${index}`),
        ),
      ],
    ]);
    await write(path, many);
    const read = await readSnapshotFile(path, 'n/g');
    assert.ok(read.kind === 'read');
    assert.deepEqual(describeResources(read.resources), describeResources(many));
  });

  test('can be read by its owner only, and nothing else is left beside it', async (t) => {
    const path = await makeFolder(t);
    await write(path);
    await write(path);
    const { mode } = await files.stat(path);
    assert.equal(mode & 0o777, 0o600);
    assert.deepEqual(await files.readdir(join(path, '..')), ['snapshot']);
  });

  test('that is not there is no problem', async (t) => {
    assert.deepEqual(await readSnapshotFile(await makeFolder(t), 'n/g'), { kind: 'missing' });
  });

  test('of another Gateway, another version or another program is refused', async (t) => {
    const path = await makeFolder(t);
    await write(path);
    const problemOf = async (gateway: string) => {
      const read = await readSnapshotFile(path, gateway);
      assert.ok(read.kind === 'refused');
      return read.problem;
    };
    assert.equal(await problemOf('n/other'), 'belongs to the Gateway n/g, not to n/other');
    const text = await files.readFile(path, 'latin1');
    await files.writeFile(path, text.replace('mcp-gateway-snapshot 1', 'mcp-gateway-snapshot 2'), 'latin1');
    assert.equal(await problemOf('n/g'), 'was written by another version of this program');
    await files.writeFile(path, 'kind: Gateway\n');
    assert.equal(await problemOf('n/g'), 'is not a snapshot file');
    await files.writeFile(path, '');
    assert.equal(await problemOf('n/g'), 'is not a snapshot file');
    await files.rm(path);
    await files.mkdir(path);
    assert.match(await problemOf('n/g'), /^cannot be read: EISDIR/);
  });

  test('with any byte changed, or cut off anywhere, is refused', async (t) => {
    const path = await makeFolder(t);
    await write(path);
    const good = await files.readFile(path);
    const changed = fc.record({ at: fc.nat(good.length - 1), to: fc.nat(255) }).map(({ at, to }) => {
      const bytes = Buffer.from(good);
      bytes[at] = bytes[at] === to ? to ^ 1 : to;
      return bytes;
    });
    const cut = fc.nat(good.length - 1).map((length) => good.subarray(0, length));
    const longer = fc.uint8Array({ minLength: 1 }).map((more) => Buffer.concat([good, more]));
    await fc.assert(
      fc.asyncProperty(fc.oneof(changed, cut, longer), async (bytes) => {
        await files.writeFile(path, bytes);
        assert.equal((await readSnapshotFile(path, 'n/g')).kind, 'refused');
      }),
      { numRuns: effort(300, 60) },
    );
  });
});

describe('a writer', () => {
  test('writes the last of several', async (t) => {
    const path = await makeFolder(t);
    let opened = 0;
    const writer = new SnapshotWriter({
      path,
      gateway: 'n/g',
      log: silentLog,
      settleMs: 3_600_000,
      files: {
        ...files,
        open(...given) {
          opened += 1;
          return files.open(...given);
        },
      },
    });
    writer.save(new Map());
    writer.save(some);
    await writer.close();
    assert.equal(opened, 1);
    const read = await readSnapshotFile(path, 'n/g');
    assert.ok(read.kind === 'read');
    assert.equal(read.resources.get(typeUrl('secrets'))!.length, 1);
  });

  test('knows the checksum of the file while the file has what was saved last', async (t) => {
    const path = await makeFolder(t);
    const written: (string | undefined)[] = [];
    const writer = new SnapshotWriter({
      path,
      gateway: 'n/g',
      log: silentLog,
      settleMs: 3_600_000,
      onWritten: () => void written.push(writer.checksum),
    });
    assert.equal(writer.checksum, undefined);
    writer.save(some);
    await writer.close();
    const read = await readSnapshotFile(path, 'n/g');
    assert.ok(read.kind === 'read');
    assert.equal(writer.checksum, read.checksum);
    assert.deepEqual(written, [read.checksum]);

    // The same content has the same checksum, also by way of the file.
    writer.save(read.resources);
    assert.equal(writer.checksum, undefined);
    await writer.close();
    assert.deepEqual(written, [read.checksum, read.checksum]);

    writer.save(new Map());
    await files.rm(join(path, '..'), { recursive: true });
    await writer.close();
    assert.equal(writer.checksum, undefined);
  });

  test('writes by itself after a while', async (t) => {
    const path = await makeFolder(t);
    const writer = new SnapshotWriter({ path, gateway: 'n/g', log: silentLog, settleMs: 1 });
    writer.save(some);
    await waitFor('it is written', async () => (await readSnapshotFile(path, 'n/g')).kind === 'read');
    await writer.close();
  });

  test('says once that the disk is full, and says when it no longer is; what was there stays', async (t) => {
    const path = await makeFolder(t);
    const lines: string[] = [];
    const log: Log = {
      ...silentLog,
      error: (_, message) => void lines.push(`error ${message}`),
      info: (_, message) => void lines.push(`info ${message}`),
    };
    await write(path);
    const before = await files.readFile(path);
    let isFull = true;
    const writer = new SnapshotWriter({
      path,
      gateway: 'n/g',
      log,
      settleMs: 3_600_000,
      files: {
        ...files,
        async open(...given) {
          const handle = await files.open(...given);
          if (!isFull) return handle;
          handle.writeFile = () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
          return handle;
        },
      },
    });
    for (const isFullNow of [true, true, false]) {
      isFull = isFullNow;
      writer.save(new Map());
      await writer.close();
      if (isFullNow) assert.deepEqual(await files.readFile(path), before);
    }
    assert.equal(lines.length, 2);
    assert.match(lines[0]!, /^error the snapshot file cannot be written: the disk is full;/);
    assert.match(lines[1]!, /^info the snapshot file can be written again/);
    assert.deepEqual(await files.readdir(join(path, '..')), ['snapshot']);
  });
});
