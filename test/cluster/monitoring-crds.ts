// CRDs of the kinds of the Prometheus operator that the chart installs: their true group, version and names, and of their fields those that the chart uses, so that the API
// server refuses any other.

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'array', items: text };
const byText: Schema = { type: 'object', additionalProperties: text };
const fields = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});
const list = (items: Schema): Schema => ({ type: 'array', items });

const duration: Schema = {
  type: 'string',
  pattern: '^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$',
};
const selector = fields({ matchLabels: byText });
const relabelings = list(fields({ sourceLabels: texts, targetLabel: text }));
const endpoint = fields({ port: text, interval: duration, relabelings });

const specs: Readonly<Record<string, Schema>> = {
  ServiceMonitor: fields({ selector, endpoints: list(endpoint) }, ['endpoints', 'selector']),
  PodMonitor: fields(
    {
      selector,
      namespaceSelector: fields({ any: { type: 'boolean' }, matchNames: texts }),
      podMetricsEndpoints: list(endpoint),
    },
    ['selector'],
  ),
  PrometheusRule: fields({
    groups: {
      ...list(
        fields(
          {
            name: { type: 'string', minLength: 1 },
            rules: list(
              fields(
                {
                  alert: text,
                  expr: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
                  for: duration,
                  labels: byText,
                  annotations: byText,
                },
                ['expr'],
              ),
            ),
          },
          ['name'],
        ),
      ),
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-list-type': 'map',
    },
  }),
};

/** The CRDs, to be applied. */
export const monitoringCrds: readonly object[] = Object.entries(specs).map(([kind, spec]) => {
  const singular = kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural: `${singular}s`, singular },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: fields({ apiVersion: text, kind: text, metadata: { type: 'object' }, spec }, ['spec']),
          },
        },
      ],
    },
  };
});
