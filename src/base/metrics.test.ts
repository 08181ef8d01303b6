import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Labels, type LabelValues, MetricCells } from './metric-cells.ts';
import { createMetrics } from './metrics.ts';

/** Asks for every one of the values, then lists the labels that were kept. */
function keep<const L extends Labels>(labels: L, asked: readonly LabelValues<L>[], maxSeries?: number): object[] {
  const cells = new MetricCells(labels, () => ({}), maxSeries);
  for (const values of asked) cells.find(values);
  return Array.from(cells, (cell) => cell.labels);
}

describe('label bounds', () => {
  test('a closed list turns everything else into other', () => {
    assert.deepEqual(
      keep({ method: { values: ['GET', 'POST'] } }, [{ method: 'GET' }, { method: 'BREW' }, { method: 'x' }]),
      [{ method: 'GET' }, { method: 'other' }],
    );
  });

  test('a cap keeps the first values', () => {
    const asked = ['a', 'b', 'c', 'a', 'd'].map((route) => ({ route }));
    assert.deepEqual(keep({ route: { max: 2 } }, asked), [{ route: 'a' }, { route: 'b' }, { route: 'other' }]);
  });

  test('combinations are capped as well', () => {
    const asked = Array.from({ length: 10_000 }, (_, index) => ({ a: String(index % 100), b: String(index % 97) }));
    const kept = keep({ a: { max: 100 }, b: { max: 100 } }, asked, 3);
    assert.equal(kept.length, 4);
    assert.deepEqual(kept.at(-1), { a: 'other', b: 'other' });
  });

  test('the same values are the same cell', () => {
    const cells = new MetricCells({ a: { max: 9 }, b: { max: 9 } }, () => ({}));
    assert.equal(cells.find({ a: 'x', b: 'y' }), cells.find({ b: 'y', a: 'x' }));
    assert.notEqual(cells.find({ a: 'x', b: 'y' }), cells.find({ a: 'y', b: 'x' }));
  });
});

describe('a registry', () => {
  test('is one of its own', async () => {
    const first = createMetrics();
    const second = createMetrics();
    first.counter('c_total', 'Help.', {}).add({}, 2);
    second.counter('c_total', 'Help.', {}).add({});
    assert.match(await first.expose(), /^c_total 2$/m);
    assert.match(await second.expose(), /^c_total 1$/m);
  });

  test('exposes counters, gauges and histograms', async () => {
    const metrics = createMetrics();
    const gauge = metrics.gauge('g', 'Help.', { kind: { values: ['x'] } });
    gauge.set({ kind: 'x' }, 5);
    gauge.add({ kind: 'x' }, -2);
    let read = 7;
    metrics.gaugeOf('read', 'Help.', () => read);
    metrics.counterOf('grown_total', 'Help.', () => 9);
    metrics.gaugesOf('watched', 'Help.', 'kind', () => ({ Gateway: 2, HTTPRoute: read }));
    const histogram = metrics.histogram('h', 'Help.', { r: { max: 1 } }, [1, 10]);
    for (const value of [0.5, 1, 5, 50]) histogram.observe({ r: 'a' }, value);
    const text = await metrics.expose();
    assert.match(text, /^g\{kind="x"\} 3$/m);
    assert.match(text, /^read 7$/m);
    assert.match(text, /^grown_total 9$/m);
    assert.match(text, /^watched\{kind="Gateway"\} 2\nwatched\{kind="HTTPRoute"\} 7$/m);
    assert.deepEqual(
      text.split('\n').filter((line) => line.startsWith('h')),
      [
        'h_bucket{r="a",le="1"} 2',
        'h_bucket{r="a",le="10"} 3',
        'h_bucket{r="a",le="+Inf"} 4',
        'h_sum{r="a"} 56.5',
        'h_count{r="a"} 4',
      ],
    );
    assert.match(text, /^# TYPE h histogram$/m);
    assert.match(text, /^# TYPE grown_total counter$/m);
    read = 8;
    assert.match(await metrics.expose(), /^read 8$/m);
    gauge.reset();
    assert.doesNotMatch(await metrics.expose(), /^g\{/m);
    assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
  });

  test('numbers and distributions can be kept, and count within the bounds', async () => {
    const metrics = createMetrics();
    const counter = metrics.counter('c_total', 'Help.', { method: { values: ['GET'] } });
    const get = counter.at({ method: 'GET' });
    counter.add({ method: 'GET' });
    get.value += 2;
    counter.at({ method: 'BREW' }).value += 4;
    counter.at({ method: 'BOIL' }).value += 8;
    const histogram = metrics.histogram('h', 'Help.', { r: { max: 1 } }, [1]);
    const kept = histogram.at({ r: 'a' });
    assert.equal(histogram.at({ r: 'a' }), kept);
    kept.observe(0.5);
    histogram.observe({ r: 'a' }, 3);
    histogram.at({ r: 'b' }).observe(7);
    assert.deepEqual(
      (await metrics.expose()).split('\n').filter((line) => /^[ch]_(?:total|sum|count)/.test(line)),
      [
        'c_total{method="GET"} 3',
        'c_total{method="other"} 12',
        'h_sum{r="a"} 3.5',
        'h_count{r="a"} 2',
        'h_sum{r="other"} 7',
        'h_count{r="other"} 1',
      ],
    );
  });

  test("has Node's own metrics when asked", async () => {
    assert.match(await createMetrics({ processMetrics: true }).expose(), /^process_resident_memory_bytes \d+/m);
    assert.equal(await createMetrics().expose(), '\n');
  });
});
