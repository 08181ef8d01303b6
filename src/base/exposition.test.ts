import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Exposition } from './exposition.ts';

test('the text format: a head for each name, then its lines as they are now', () => {
  const exposition = new Exposition();
  let value = 1;
  exposition.add({ name: 'a_total', help: 'Helps.', type: 'counter', read: () => [{ labels: {}, value }] });
  exposition.add({
    name: 'b',
    help: 'Two\nlines, and a \\.',
    type: 'histogram',
    read: () => [
      { labels: { x: 'y', le: 0.5 }, value: 2, metricName: 'b_bucket' },
      { labels: { x: 'y' }, value: 3, metricName: 'b_count' },
    ],
  });
  exposition.add({ name: 'none', help: 'Nothing yet.', type: 'gauge', read: () => [] });
  value = 7;
  assert.equal(
    exposition.format(),
    [
      '# HELP a_total Helps.',
      '# TYPE a_total counter',
      'a_total 7',
      '',
      '# HELP b Two\\nlines, and a \\\\.',
      '# TYPE b histogram',
      'b_bucket{x="y",le="0.5"} 2',
      'b_count{x="y"} 3',
      '',
      '# HELP none Nothing yet.',
      '# TYPE none gauge',
      '',
    ].join('\n'),
  );
  assert.equal(exposition.contentType, 'text/plain; version=0.0.4; charset=utf-8');
});

test('what labels say cannot leave them', () => {
  const exposition = new Exposition();
  const labels = { path: 'a"} 1\nfake{b="\\' };
  exposition.add({ name: 'a', help: '', type: 'gauge', read: () => [{ labels, value: 1 }] });
  assert.equal(exposition.format().split('\n')[2], String.raw`a{path="a\"} 1\nfake{b=\"\\"} 1`);
});

test('numbers that are none are spelled as Prometheus reads them', () => {
  const exposition = new Exposition();
  const values = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e21, 0.25];
  exposition.add({ name: 'a', help: '', type: 'gauge', read: () => values.map((value) => ({ labels: {}, value })) });
  assert.deepEqual(exposition.format().trim().split('\n').slice(2), ['a NaN', 'a +Inf', 'a -Inf', 'a 1e+21', 'a 0.25']);
});

test('a name is taken once', () => {
  const exposition = new Exposition();
  const family = { name: 'a', help: '', type: 'gauge', read: () => [] } as const;
  exposition.add(family);
  assert.throws(() => exposition.add(family), /there is a metric a already/);
});
