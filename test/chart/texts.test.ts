// Texts that look like something else in YAML - numbers, truth values, dates, nothing - are texts in every object, for readers of YAML 1.1 and 1.2.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { readSettings } from './controller-settings.ts';
import { readRefusal, renderChart, type Values } from './helm.ts';
import type { Rendering, RenderedObject } from './rendering.ts';

/** What names can look like. */
const names = ['123', '1e3', '0x1f', '0o17', '017', '2001-01-01', 'true', 'null', 'y', 'on', 'no'];
/** What other texts can look like. */
const texts = [...names, '1.10', '1_000', '.5', '~', '', '12:30:45', '.inf', '.nan', '-1', '0b1', 'NULL', '<<', '='];

/** Where there is a text in an object of Kubernetes, whatever is in it. */
const textFields =
  /^(?:name|namespace|serviceAccountName|image|imagePullPolicy|value|kind|type|secretName|key|mountPath|path)$/;
const textMaps = /^(?:labels|annotations|matchLabels|nodeSelector)$/;
const textLists = /^args$/;

/** Everything that should be a text and is not. */
function listOthers(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => listOthers(item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const here = `${path}.${key}`;
    const own =
      textFields.test(key) && typeof inner !== 'object'
        ? [inner]
        : textMaps.test(key) || textLists.test(key)
          ? Object.values(inner ?? {})
          : [];
    const isGone = textFields.test(key) && inner === null;
    const isOther = isGone || own.some((text) => typeof text !== 'string');
    return [...(isOther ? [`${here}: ${JSON.stringify(inner)}`] : []), ...listOthers(inner, here)];
  });
}

/** The objects as both kinds of readers have them. */
function readTwice({ documents }: Rendering): readonly RenderedObject[] {
  return (['1.1', '1.2'] as const).flatMap((version) =>
    documents.map(({ text }) => parse(text, { version }) as RenderedObject),
  );
}

function checkTexts(rendering: Rendering): readonly RenderedObject[] {
  const objects = readTwice(rendering);
  assert.deepEqual(
    objects.flatMap((object) => listOthers(object, object.kind)),
    [],
  );
  return objects;
}

const budget = { podDisruptionBudget: { minAvailable: 1 } };

describe('names', () => {
  for (const name of names) {
    test(name, async () => {
      // A Service begins with a letter; everything else may be all digits.
      const isFull = /^[a-z]/.test(name);
      const values: Values = {
        nameOverride: name,
        ...(isFull && { fullnameOverride: name }),
        serviceAccount: { name },
        imagePullSecrets: [{ name }],
        gatewayClassParametersRefs: { proxy: { name, namespace: name } },
        controller: budget,
        networkPolicy: { enabled: true },
        podLabels: { team: name },
        priorityClassName: name,
        prometheusRule: { enabled: true, labels: { team: name } },
        rbac: { aggregateRoles: true, secretsInNamespaces: [name] },
        serviceMonitor: { enabled: true, labels: { team: name } },
        topologySpreadConstraints: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' }],
      };
      const rendering = await renderChart(values, { release: isFull ? name : 'proxy', namespace: name });
      for (const { kind, metadata } of checkTexts(rendering)) {
        assert.equal(metadata.labels?.['app.kubernetes.io/name'], name, kind);
        if (!kind.startsWith('Cluster')) assert.equal(metadata.namespace, name, kind);
      }
      const { controller: selected } = readSettings(rendering).networkPolicy!;
      assert.deepEqual(selected, rendering.deployment.spec.selector.matchLabels);
      assert.equal(rendering.get('ServiceAccount').metadata.name, name);
      assert.equal(rendering.pod.serviceAccountName, name);
      assert.equal(rendering.deployment.metadata.name, isFull ? name : `proxy-${name}`);
      assert.equal(rendering.variable('MCP_GATEHOUSE_SERVICE_NAME'), isFull ? name : `proxy-${name}`);
    });
  }

  test('a release', async () => {
    const rendering = await renderChart({ fullnameOverride: 'edge', controller: budget }, { release: '123' });
    for (const { kind, metadata } of checkTexts(rendering))
      assert.equal(metadata.labels?.['app.kubernetes.io/instance'], '123', kind);
  });

  test('a full name of digits is refused: no Service can have it', async () => {
    assert.match(
      await readRefusal({ fullnameOverride: '123' }),
      /at '\/fullnameOverride': '123' does not match pattern/,
    );
    const skipped = await readRefusal({ fullnameOverride: '123' }, { args: ['--skip-schema-validation'] });
    assert.match(skipped, /"123" cannot be the name of a Service/);
  });

  test('numbers are refused where texts belong', async () => {
    for (const flag of ['nameOverride=123', 'serviceAccount.name=123'])
      await assert.rejects(renderChart({}, { args: ['--set', flag] }), /got number, want string/);
    const { deployment } = await renderChart({}, { args: ['--set-string', 'nameOverride=123'] });
    assert.equal(deployment.metadata.name, 'proxy-123');
  });
});

test('labels, annotations, tags and variables', async () => {
  const byKey = Object.fromEntries(texts.map((text, index) => [`example.com/t${index}`, text]));
  const variables = Object.fromEntries(texts.map((text, index) => [`T${index}`, text]));
  const values: Values = {
    deploymentAnnotations: byKey,
    podAnnotations: byKey,
    nodeSelector: byKey,
    serviceAccount: { annotations: byKey },
    tolerations: texts.map((value) => ({ key: 'a', operator: 'Equal', value })),
    controller: { extraEnv: variables, image: { tag: '1e3' } },
    image: { tag: '1.10' },
  };
  const rendering = await renderChart(values);
  checkTexts(rendering);
  const {
    'prometheus.io/scrape': _,
    'prometheus.io/path': __,
    'prometheus.io/port': ___,
    ...annotations
  } = rendering.deployment.spec.template.metadata.annotations ?? {};
  assert.deepEqual(annotations, byKey);
  assert.deepEqual(rendering.deployment.metadata.annotations, byKey);
  assert.deepEqual(rendering.get('ServiceAccount').metadata.annotations, byKey);
  assert.deepEqual(rendering.pod['nodeSelector'], byKey);
  for (const [name, text] of Object.entries(variables)) assert.equal(rendering.variable(name), text);
  assert.equal(rendering.variable('MCP_GATEHOUSE_IMAGE_TAG'), '1.10');
  assert.match(rendering.container.image, /:1e3$/);
});

test('the check finds what is no text', () => {
  const object = { kind: 'Pod', metadata: { name: 123, namespace: null, labels: { a: true, b: 'c' } }, args: [1] };
  assert.equal(listOthers(object, 'Pod').length, 4);
});

describe('the pod of helm test', () => {
  const long = 'f'.repeat(57);
  for (const [name, expected] of [
    ['proxy', 'proxy-test'],
    [`${long}a`, `${long}a-test`],
    [`${long}ab`, `${long}a-test`],
    ['f'.repeat(63), `${'f'.repeat(58)}-test`],
    [`${long}-abc`, `${long}-test`],
    [`${'f'.repeat(55)}---abcde`, `${'f'.repeat(55)}-test`],
    [`f${'-'.repeat(61)}a`, 'f-test'],
  ] as const) {
    test(`${name}: ${expected}`, async () => {
      const rendering = await renderChart({ fullnameOverride: name });
      assert.equal(rendering.get('Pod').metadata.name, expected);
      assert.ok(expected.length <= 63);
      assert.equal(rendering.deployment.metadata.name, name);
    });
  }
});
