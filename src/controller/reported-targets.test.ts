// Servers of federations as several processes report them: who may speak of what, and how often something new is told.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { emptyConfiguration } from '../ir/configuration.ts';
import { BackendSchema } from '../ir/gen/config_pb.ts';
import { type TargetHealth, TargetHealthSchema } from '../ir/gen/report_pb.ts';
import type { ConnectedGateway } from '../xds/connected-gateway.ts';
import { buildSnapshot } from '../xds/snapshot.ts';
import { ReportedTargets } from './reported-targets.ts';

const desk = 'ProxyBackend/team/desk';
const snapshot = buildSnapshot({ ...emptyConfiguration, backends: [create(BackendSchema, { key: desk })] }, undefined);

function target(name: string, fields: Partial<Omit<TargetHealth, '$typeName' | '$unknown'>> = {}): TargetHealth {
  return create(TargetHealthSchema, { backend: desk, target: name, since: 100, ...fields });
}

function down(name: string, fields: Partial<Omit<TargetHealth, '$typeName' | '$unknown'>> = {}): TargetHealth {
  return target(name, { down: true, error: 'it is away', ...fields });
}

/** Processes by what each reports. */
function processes(...reports: readonly (readonly TargetHealth[])[]): ConnectedGateway[] {
  return reports.map((targets, at) => ({
    nodeId: `pod-${at}`,
    gateway: 'team/edge',
    settled: undefined,
    rejections: [],
    keyProblems: [],
    bindProblems: [],
    version: '1',
    targets,
  }));
}

function readAll(reported: ReportedTargets, all: readonly ConnectedGateway[], seconds = 0) {
  const { targets, recheckAt } = reported.read('team/edge', all, snapshot, seconds * 1_000);
  const plain = Object.fromEntries(Array.from(targets ?? [], ([backend, own]) => [backend, Object.fromEntries(own)]));
  return { targets, plain, recheckAt };
}

describe('reports of several processes', () => {
  test('a server is down when one of them says so: the first that lost it says why', () => {
    const all = processes(
      [down('a', { since: 200, error: 'late' }), target('b')],
      [down('a', { since: 150, error: 'first' }), target('b')],
      [target('a'), down('b', { error: 'only here' })],
      [],
    );
    assert.deepEqual(readAll(new ReportedTargets(), all).plain, {
      [desk]: { a: { down: 2, since: 150_000, error: 'first' }, b: { down: 1, since: 100_000, error: 'only here' } },
    });
  });

  test('only backends of its own configuration; and a process counts once', () => {
    const foreign = ['ProxyBackend/other/desk', 'ProxyBackend/team/none', 'Service/team/desk/80', ''];
    const all = processes(
      foreign.map((backend) => down('a', { backend })),
      [down('b'), down('b'), target('c')],
    );
    assert.deepEqual(readAll(new ReportedTargets(), all).plain, {
      [desk]: { b: { down: 1, since: 100_000, error: 'it is away' }, c: { down: 0, since: 100_000, error: '' } },
    });
    const before = new ReportedTargets().read('team/edge', all, undefined, 0);
    assert.equal(before.targets, undefined);
  });

  test('more than a report can have is not read, and errors are cut', () => {
    const error = `\u001b[2J\n${'x'.repeat(10_000)}`;
    const many = Array.from({ length: 5_000 }, (_, at) => down(`s${at}`, { error }));
    const { plain } = readAll(new ReportedTargets(), processes(many));
    const names = Object.keys(plain[desk]!);
    assert.equal(names.length, 2_000);
    const shown = plain[desk]![names[0]!]!.error;
    assert.ok(shown.length < 300);
    assert.ok(shown.startsWith(String.raw`\x1b[2J\x0ax`), shown);
  });

  test('what goes away takes its report with it', () => {
    const reported = new ReportedTargets();
    readAll(reported, processes([down('a')]));
    assert.equal(readAll(reported, [], 10).targets, undefined);
    reported.keepOnly(new Set());
    assert.equal(readAll(reported, processes([target('a')]), 10).plain[desk]!['a']!.down, 0);
  });
});

describe('changes', () => {
  test('the first is told at once, the next ones when five seconds have passed', () => {
    const reported = new ReportedTargets();
    const first = readAll(reported, processes([target('a')]), 0);
    assert.equal(first.recheckAt, undefined);
    const second = readAll(reported, processes([down('a')]), 10);
    assert.equal(second.plain[desk]!['a']!.down, 1);
    const third = readAll(reported, processes([target('a')]), 11);
    assert.equal(third.targets, second.targets);
    assert.equal(third.recheckAt, 15_000);
    const last = readAll(reported, processes([target('a')]), 15);
    assert.equal(last.plain[desk]!['a']!.down, 0);
    assert.equal(last.recheckAt, undefined);
  });

  test('what is again as it was told is no change', () => {
    const reported = new ReportedTargets();
    readAll(reported, processes([target('a')]), 0);
    const told = readAll(reported, processes([down('a')]), 10);
    assert.equal(readAll(reported, processes([target('a')]), 11).recheckAt, 15_000);
    const again = readAll(reported, processes([down('a')]), 12);
    assert.equal(again.targets, told.targets);
    assert.equal(again.recheckAt, undefined);
  });

  test('a hundred processes that lose a server one after the other, all day long, are a change every five seconds', () => {
    const reported = new ReportedTargets();
    const seen = new Set<unknown>();
    for (let at = 0; at < 100; at += 0.1)
      seen.add(
        readAll(reported, processes(Array.from({ length: 1 + ((at * 10) % 100) }, () => down('a'))), at).targets,
      );
    assert.ok(seen.size <= 21, String(seen.size));
  });
});
