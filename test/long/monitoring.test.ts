// docs/monitoring/: every query of the dashboard and of the alerts fits what a controller and a gateway really expose.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { allPolicyKinds } from '../../src/ir/policy-kinds.ts';
import { reasons } from '../../src/gateway/http/reasons.ts';
import { checkQuery, type QueryWorld } from '../monitoring/check-query.ts';
import { readExposedMetrics } from '../monitoring/exposed-metrics.ts';
import { parsePromql, PromqlError, type Query } from '../monitoring/promql.ts';
import { exposeRunningSystem } from '../monitoring/running-system.ts';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'monitoring');
const readText = (name: string): string => readFileSync(join(folder, name), 'utf8');

/** What the scrape examples put on everything: see monitoring-scraping.test.ts. */
const targetLabels = ['namespace', 'pod', 'gateway'];

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: Place;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

const dashboard = JSON.parse(readText('dashboard.json')) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const alerts = parse(readText('alerts.yaml')) as {
  readonly kind: string;
  readonly spec: { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] };
};
const rules = alerts.spec.groups.flatMap((group) => group.rules);

test('monitoring', { timeout: 120_000 }, async (context) => {
  const exposed = await exposeRunningSystem(context);
  const world: QueryWorld = {
    metrics: readExposedMetrics(exposed.controller, exposed.gateway),
    targetLabels,
    closedValues: { reason: ['', ...Object.keys(reasons)], step: allPolicyKinds },
  };

  for (const { title, targets = [] } of panels) {
    await context.test(`panel: ${title}`, () => {
      assert.ok(targets.length > 0);
      for (const { expr, legendFormat } of targets) {
        const { problems, metrics, labels } = checkQuery(expr, world);
        assert.deepEqual(problems, [], expr);
        assert.ok(metrics.length > 0);
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
          assert.ok(labels.includes(label!), `${expr} gives no label ${label}`);
      }
    });
  }

  for (const { alert, expr, annotations } of rules) {
    await context.test(`alert: ${alert}`, () => {
      const { problems, labels } = checkQuery(expr, world);
      assert.deepEqual(problems, [], expr);
      for (const [, label] of Object.values(annotations)
        .join('\n')
        .matchAll(/\$labels\.(\w+)/g))
        assert.ok(labels.includes(label!), `${expr} gives no label ${label}`);
    });
  }

  for (const { name, definition = '' } of dashboard.templating.list.filter(({ type }) => type === 'query')) {
    await context.test(`variable: ${name}`, () => {
      const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(definition)!;
      const { problems, labels } = checkQuery(selector, world);
      assert.deepEqual(problems, []);
      assert.ok(labels.includes(label), label);
    });
  }

  await context.test('queries in docs/monitoring/README.md', () => {
    const queries = [...readText('README.md').matchAll(/^```promql\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
    assert.ok(queries.length > 0);
    for (const query of queries) assert.deepEqual(checkQuery(query, world).problems, [], query);
  });

  // What the checks above are worth.
  const refused: readonly (readonly [query: string, problem: RegExp])[] = [
    ['mcp_gateway_controller_lead', /does not exist/],
    ['sum by (pods) (mcp_gateway_controller_leader)', /no such label/],
    ['sum(rate(mcp_gateway_requests_total{status="200"}[5m]))', /has no label status/],
    ['sum(rate(mcp_gateway_requests_total{code="299"}[5m]))', /nothing has the value 299/],
    ['sum(rate(mcp_gateway_requests_total{reason=~"no_route|no_rout"}[5m]))', /nothing has the value no_rout;/],
    ['sum(mcp_gateway_requests_total)', /is a counter/],
    ['sum(rate(mcp_gateway_requests_total))', /range/],
    ['rate(mcp_gateway_open_streams[5m])', /is a gauge/],
    ['mcp_gateway_controller_leader[5m]', /range/],
    ['sum(rate(mcp_gateway_request_duration_seconds_bucket[5m]))', /histogram_quantile/],
    ['histogram_quantile(0.9, rate(mcp_gateway_request_duration_seconds_sum[5m]))', /histogram_quantile/],
    ['histogram_quantile(0.9, sum(rate(mcp_gateway_request_duration_seconds_bucket[5m])))', /loses the label le/],
    ['mcp_gateway_controller_leader and on (kind) mcp_gateway_controller_synced', /not both sides/],
    ['mcp_gateway_controller_xds_nacks_total unless mcp_gateway_controller_xds_acks_total', /is a counter/],
  ];
  for (const [query, problem] of refused)
    await context.test(`refused: ${query}`, () => assert.match(checkQuery(query, world).problems.join('\n'), problem));
});

describe('reading PromQL', () => {
  test('what binds more comes first, and from left to right', () =>
    assert.equal(
      showBinary(parsePromql('a - b - c * 2 > 1 or d unless on (x) e')),
      '((((a - b) - (c * 2)) > 1) or (d unless e))',
    ));

  test('labels, ranges, grouping in front and behind', () => {
    const parsed = { kind: 'aggregation', name: 'sum', by: ['x', 'y'] };
    const selector = {
      kind: 'selector',
      metric: 'm',
      matchers: [{ label: 'a', operator: '=~', value: 'b"c' }],
      range: '5m',
    };
    const expected = { ...parsed, operands: [{ kind: 'call', name: 'rate', operands: [selector] }] };
    assert.deepEqual(parsePromql('sum by (x, y) (rate(m{a=~"b\\"c"}[5m]))'), expected);
    assert.deepEqual(parsePromql('sum(rate(m{a=~"b\\"c",}[5m])) by (x, y)'), expected);
    assert.deepEqual(parsePromql('rate(m[$__rate_interval])'), {
      kind: 'call',
      name: 'rate',
      operands: [{ kind: 'selector', metric: 'm', matchers: [], range: '$__rate_interval' }],
    });
  });

  for (const text of ['', 'sum(', 'a b', 'a +', 'm{a="b"', 'm{a~"b"}', 'm{a=b}', 'a ? b', 'sum(a))'])
    test(`refuses ${JSON.stringify(text)}`, () => assert.throws(() => parsePromql(text), PromqlError));
});

function showBinary(query: Query): string {
  if (query.kind === 'binary') return `(${showBinary(query.left)} ${query.operator} ${showBinary(query.right)})`;
  return query.kind === 'selector' ? query.metric : query.kind === 'number' ? query.value : query.kind;
}

describe('the dashboard', () => {
  test('can be read by Grafana', () => {
    assert.ok(dashboard.schemaVersion >= 36);
    assert.match(dashboard.uid, /^[\w-]{1,40}$/);
    assert.ok(panels.length > 20);
  });

  test('has panels with an id each, side by side and below each other', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    for (const [index, { title, gridPos: one }] of dashboard.panels.entries()) {
      assert.ok(one.x >= 0 && one.y >= 0 && one.w > 0 && one.h > 0 && one.x + one.w <= 24, title);
      for (const { title: other, gridPos: two } of dashboard.panels.slice(index + 1))
        assert.ok(!isOverlapping(one, two), `${title} and ${other} overlap`);
    }
  });

  test('every panel says what it shows, in which unit, and where it is from', () => {
    assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length);
    for (const { title, description, fieldConfig, datasource, targets = [] } of panels) {
      assert.match(title, /^[A-Zx].{3,60}$/);
      assert.match(description ?? '', /^[A-Z0-9].*\.$/is, title);
      assert.ok(fieldConfig?.defaults.unit, title);
      // oxlint-disable-next-line no-template-curly-in-string -- Grafana's variable
      assert.deepEqual(datasource, { type: 'prometheus', uid: '${datasource}' }, title);
      assert.ok(
        targets.every(({ legendFormat }) => legendFormat !== ''),
        title,
      );
      assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
    }
  });

  test('every variable is there, and used', () => {
    const declared = dashboard.templating.list.map(({ name }) => name);
    assert.deepEqual(declared, ['datasource', 'namespace', 'gateway_namespace', 'gateway']);
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n');
    const used = new Set([...queries.matchAll(/\$(?!__)(\w+)/g)].map(([, name]) => name!));
    assert.deepEqual([...used].toSorted(), declared.filter((name) => name !== 'datasource').toSorted());
  });
});

function isOverlapping(one: Place, two: Place): boolean {
  return one.x < two.x + two.w && two.x < one.x + one.w && one.y < two.y + two.h && two.y < one.y + one.h;
}

describe('the alerts', () => {
  test('say how bad it is, what it is, and what to do', () => {
    assert.equal(alerts.kind, 'PrometheusRule');
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    for (const { alert, labels, annotations } of rules) {
      assert.match(alert, /^McpGateway[A-Za-z]+$/);
      assert.match(labels.severity, /^(warning|critical)$/);
      assert.match(annotations.summary, /\.$/);
      assert.match(annotations.description, /\.$/);
    }
  });

  test('are all in docs/monitoring/README.md, and no other', () => {
    const named = [...readText('README.md').matchAll(/^\| `(McpGateway\w+)` \|/gm)].map(([, name]) => name!);
    assert.deepEqual(
      named,
      rules.map(({ alert }) => alert),
    );
  });
});
