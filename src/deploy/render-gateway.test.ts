// Goldens: testdata/*.yaml holds parameters and a Gateway, then `expected:`. UPDATE_GOLDENS=1 rewrites what is expected; read the difference.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import type { GatewayParameters } from '../api/gateway-parameters.ts';
import { kinds } from '../api/kinds.ts';
import { parseResource } from '../api/parse-resource.ts';
import { formatFieldPath } from '../api/problem.ts';
import { refusalKey } from '../api/not-supported-yet.ts';
import { nullRemovesKey } from '../api/free-form.ts';
import { describeSchema, type SchemaNode } from '../api/schema-description.ts';
import { loadTestdata } from '../api/testing/load-testdata.ts';
import { renderGateway } from './render-gateway.ts';
import { makeGateway, makePlan, readPlan, usualSettings } from './testdata/read-plan.ts';

const folder = new URL('testdata/', import.meta.url);
const separator = '\n---\n# ---- expected ----\n';

describe('goldens', () => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  test('there are some', () => assert.ok(files.length >= 8));
  for (const file of files.toSorted()) {
    test(file, () => {
      const [input = '', expected = ''] = readFileSync(new URL(file, folder), 'utf8').split(separator);
      const { plan, settings } = readPlan(input);
      const rendered = renderGateway(plan, settings);
      const shown = rendered.ok ? { ...rendered, objects: rendered.objects.map(({ object }) => object) } : rendered;
      if (process.env['UPDATE_GOLDENS'] === '1') {
        const text = stringify({ expected: shown }, { lineWidth: 0, aliasDuplicateObjects: false });
        writeFileSync(new URL(file, folder), `${input.trimEnd()}${separator}${text}`);
        return;
      }
      assert.deepEqual(JSON.parse(JSON.stringify(shown)), (parse(expected) as { expected: unknown }).expected);
    });
  }
});

type Path = readonly (string | number)[];

function* listFields(node: SchemaNode, value: unknown, path: Path): Generator<Path> {
  if (Array.isArray(value) && node.items !== undefined) {
    for (const [index, item] of value.entries()) yield* listFields(node.items, item, [...path, index]);
    return;
  }
  // Of what is passed on as it is, any field will do.
  const fields: Readonly<Record<string, SchemaNode>> =
    node[nullRemovesKey] === true
      ? Object.fromEntries(Object.keys(value as object).map((key) => [key, {}]))
      : (node.properties ?? {});
  for (const [name, field] of Object.entries(fields)) {
    const inner = (value as Readonly<Record<string, unknown>>)[name];
    assert.ok(
      inner !== undefined ||
        field[refusalKey] !== undefined ||
        path.includes('valueFrom') ||
        path.includes('tolerations') ||
        path.includes('env'),
      `testdata has no ${formatFieldPath([...path, name])}`,
    );
    if (inner === undefined) continue;
    yield [...path, name];
    if (typeof inner === 'object' && inner !== null) yield* listFields(field, inner, [...path, name]);
  }
}

function without(value: unknown, [step, ...rest]: Path): unknown {
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) =>
      index === step ? (rest.length === 0 ? [] : [without(item, rest)]) : [item],
    );
  const { [String(step)]: inner, ...others } = value as Record<string, unknown>;
  return rest.length === 0 ? others : { ...others, [String(step)]: without(inner, rest) };
}

describe('every field of GatewayParameters has an effect', () => {
  const raw = loadTestdata('gateway-parameters.yaml').find(({ metadata }) => metadata.name === 'everything')!;
  const gateway = makeGateway('web');
  const render = (spec: unknown): unknown => {
    const parameters = { ...raw, spec } as unknown as GatewayParameters;
    const rendered = renderGateway(makePlan(gateway, [parameters]), usualSettings);
    assert.ok(rendered.ok);
    return rendered.objects.map(({ object }) => object);
  };
  const whole = render(raw['spec']);
  const specNode = describeSchema(kinds.GatewayParameters.schema).properties!['spec']!;
  const fields = [...listFields(specNode, raw['spec'], [])];

  test('the case that has them all is valid', () => {
    assert.ok(parseResource(raw, { origin: 'kubernetes' }).ok);
    assert.ok(fields.length > 70, `only ${fields.length} fields`);
  });

  for (const path of fields) {
    test(formatFieldPath(path), () => {
      const rendered = render(without(raw['spec'], path));
      // Here it has the value that it has without being said.
      if (formatFieldPath(path) === 'service.type') assert.deepEqual(rendered, whole);
      // It is part of the configuration that gateways get: translate/testdata/pods-unprotected-routes-are-closed.yaml.
      else if (formatFieldPath(path) === 'unprotectedRoutes') assert.deepEqual(rendered, whole);
      // It decides what other parameters and the Gateway may ask for: pod-limits.test.ts, testdata/infrastructure-with-domains.yaml.
      else if (path[0] === 'delegation') assert.deepEqual(rendered, whole);
      else assert.notDeepEqual(rendered, whole);
    });
  }
});

test('the type of the Service', () => {
  for (const type of ['LoadBalancer', 'NodePort', 'ClusterIP']) {
    const { plan } = readPlan(
      `{apiVersion: gateway.proxy/v1alpha1, kind: GatewayParameters, metadata: {name: a}, spec: {service: {type: ${type}}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: a}, spec: {gatewayClassName: proxy, listeners: [{name: a, port: 80, protocol: HTTP}]}}`,
    );
    const rendered = renderGateway(plan, usualSettings);
    assert.ok(rendered.ok);
    const service = rendered.objects.find(({ object }) => object.kind === 'Service')!;
    assert.equal((service.object['spec'] as { type: string }).type, type);
  }
});

describe('the image of gateways', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  const other = `sha256:${'1'.repeat(64)}`;
  const pinned = { ...usualSettings, image: { ...usualSettings.image, digest } };
  for (const [what, image, expected] of [
    ['the digest of the installation stands in place of its tag', {}, `registry.example.com/gateway@${digest}`],
    ['a mirror has the same', { registry: 'mirror.example' }, `mirror.example/gateway@${digest}`],
    ['a tag of parameters replaces it', { tag: '2.0' }, 'registry.example.com/gateway:2.0'],
    ['so does their digest', { digest: other }, `registry.example.com/gateway@${other}`],
  ] as const)
    test(what, () => {
      const parameters = { spec: { image } } as unknown as GatewayParameters;
      const rendered = renderGateway(makePlan(makeGateway('web'), [parameters]), pinned);
      assert.ok(rendered.ok);
      const deployment = rendered.objects.find(({ type }) => type.kind === 'Deployment')!.object;
      const { template } = deployment['spec'] as {
        template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
      };
      assert.equal(template.spec.containers[0]?.image, expected);
    });
});

test('rendering is pure', () => {
  const { plan, settings } = readPlan(readFileSync(new URL('everything.yaml', folder), 'utf8').split(separator)[0]!);
  const before = JSON.stringify(plan);
  assert.deepEqual(renderGateway(plan, settings), renderGateway(plan, settings));
  assert.equal(JSON.stringify(plan), before);
});

describe('changes that must not restart pods', () => {
  const template = (ports: readonly number[], settings = usualSettings): unknown => {
    const rendered = renderGateway(makePlan(makeGateway('web', { ports })), settings);
    assert.ok(rendered.ok);
    const deployment = rendered.objects.find(({ type }) => type.kind === 'Deployment')!.object;
    return (deployment['spec'] as { template: unknown }).template;
  };
  test('another listener', () => assert.deepEqual(template([80]), template([80, 443, 8443])));
  test('another authority of the controller', () =>
    assert.deepEqual(
      template([80], { ...usualSettings, xdsCa: 'a' }),
      template([80], { ...usualSettings, xdsCa: 'b' }),
    ));
  test('unless a listener takes a port of our own', () => assert.notDeepEqual(template([80]), template([80, 15_021])));
});
