// Profiles as trees, lists and flame graphs.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type CallNode,
  foldAllocationProfile,
  foldCpuProfile,
  listFunctions,
  scaleTo,
} from '../bench/profile/call-tree.ts';
import { layOutFrames, renderFlameGraph } from '../bench/profile/flame-graph.ts';
import type { CallFrame, CpuProfile } from '../bench/profile/inspector-client.ts';
import { formatBytes, formatMicros, formatTop } from '../bench/profile/profile-text.ts';

const frame = (functionName: string, url = '', lineNumber = 0): CallFrame => ({ functionName, url, lineNumber });
const ours = new URL('../../src/gateway/request/answer.ts', import.meta.url).href;
const fromPackage = new URL('../../node_modules/undici/lib/client.js', import.meta.url).href;

/** root -> serve -> (write, parse), root -> serve again, root -> idle. */
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 5, 6, 7] },
    { id: 2, callFrame: frame('serve', ours, 9), children: [3, 4] },
    { id: 3, callFrame: frame('write', 'node:net', 0) },
    { id: 4, callFrame: frame('', fromPackage, 4) },
    // The same function, which V8 lists again.
    { id: 5, callFrame: frame('serve', ours, 9), children: [8] },
    { id: 6, callFrame: frame('(idle)') },
    { id: 7, callFrame: frame('(garbage collector)') },
    { id: 8, callFrame: frame('write', 'node:net', 0) },
  ],
  startTime: 0,
  endTime: 1_000,
  samples: [2, 3, 3, 4, 5, 8, 6, 7],
  timeDeltas: [10, 20, 30, 5, 40, 15, 500, 80],
};

describe('folding', () => {
  const tree = foldCpuProfile(profile);

  test('weights are those of the samples, and waiting is none', () => {
    assert.equal(tree.total, 200);
    assert.deepEqual(
      tree.children.map(({ name, self, total }) => ({ name, self, total })),
      [
        { name: 'serve', self: 50, total: 120 },
        { name: '(garbage collector)', self: 80, total: 80 },
      ],
    );
  });

  test('the same call is there once', () => {
    assert.deepEqual(
      tree.children[0]!.children.map(({ name, place, total }) => [name, place, total]),
      [
        ['write', 'node:net:1', 65],
        ['(anonymous)', 'undici/lib/client.js:5', 5],
      ],
    );
    assert.equal(tree.children[0]!.place, 'src/gateway/request/answer.ts:10');
  });

  test('functions are listed by their own weight, wherever they were called from', () => {
    assert.deepEqual(
      listFunctions(tree, 3).map(({ name, self, share }) => [name, self, share]),
      [
        ['(garbage collector)', 80, 0.4],
        ['write', 65, 0.325],
        ['serve', 50, 0.25],
      ],
    );
  });

  test('another sum changes no share', () => {
    const scaled = scaleTo(tree, 100);
    assert.equal(scaled.total, 100);
    assert.deepEqual(
      listFunctions(scaled, 9).map(({ name, share }) => [name, share]),
      listFunctions(tree, 9).map(({ name, share }) => [name, share]),
    );
  });

  test('allocations', () => {
    const head = {
      callFrame: frame('(root)'),
      selfSize: 0,
      children: [
        { callFrame: frame('serve', ours, 9), selfSize: 100, children: [] },
        { callFrame: frame('serve', ours, 9), selfSize: 50, children: [] },
      ],
    };
    const folded = foldAllocationProfile({ head });
    assert.deepEqual([folded.total, folded.children.length, folded.children[0]!.self], [150, 1, 150]);
  });
});

describe('the list', () => {
  test('says what a request costs, and who has how much of it', () => {
    const options = { title: 'jwt', unit: 'request', served: 10, most: 2, format: formatMicros } as const;
    const text = formatTop(foldCpuProfile(profile), options);
    assert.deepEqual(text.split('\n'), [
      'jwt: 20.00 us per request, 10 requests. Of its own:',
      ' 40.0 %     8.00 us  (garbage collector)',
      ' 32.5 %     6.50 us  write  node:net:1',
    ]);
    assert.equal(formatBytes(2_500_000), '2.5 MB');
  });
});

describe('the flame graph', () => {
  const tree = foldCpuProfile(profile);

  test('what is called lies below its caller, inside of its width', () => {
    const frames = layOutFrames(tree, formatMicros);
    const shown = frames.map(({ name, depth, left, width }) => [name, depth, left, Number(width.toFixed(3))]);
    assert.deepEqual(shown, [
      ['(root)', 0, 0, 1],
      ['serve', 1, 0, 0.6],
      ['write', 2, 0, 0.325],
      ['(anonymous)', 2, 0.325, 0.025],
      ['(garbage collector)', 1, 0.6, 0.4],
    ]);
  });

  test('what nobody could see is not drawn', () => {
    const node = (name: string, total: number): CallNode => ({ name, place: '', self: total, total, children: [] });
    const root = { ...node('(root)', 0), total: 1_000_000, children: [node('seen', 999_900), node('unseen', 100)] };
    const names = layOutFrames(root, formatMicros).map(({ name }) => name);
    assert.deepEqual(names, ['(root)', 'seen']);
  });

  test('is one page that needs nothing else, and takes no name for markup', () => {
    const evil = { ...tree, children: [{ ...tree.children[0]!, name: '<script>"x"', children: [] }] };
    const page = renderFlameGraph(evil, { title: 'jwt <b>', format: formatMicros });
    assert.ok(page.includes('&#60;script&#62;&#34;x&#34;') && !page.includes('<script>"x"'));
    assert.ok(!/(src|href)=/.test(page));
    assert.match(page, /<div class="ours" /);
    assert.match(page, /<title>jwt &#60;b&#62;<\/title>/);
  });

  test('an empty profile is an empty page', () => {
    const empty = { ...tree, self: 0, total: 0, children: [] };
    assert.deepEqual(layOutFrames(empty, formatMicros), []);
  });
});
