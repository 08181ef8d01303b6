// Gateway (gateway.networking.k8s.io): the listeners where traffic comes in, and which routes may attach to them.
import { isIP } from 'node:net';
import * as z from 'zod';
import { boundedMapSchema } from './bounded-map.ts';
import { withFileRule } from './file-rules.ts';
import { gatewayTlsSchema } from './gateway-tls.ts';
import { hostnameSchema } from './hostname.ts';
import {
  groupSchema,
  kindSchema,
  labelKeySchema,
  labelValueSchema,
  objectNameSchema,
  portNumberSchema,
  sectionNameSchema,
  subdomainNameSchema,
} from './kubernetes-names.ts';
import { labelSelectorSchema } from './label-selector.ts';
import { isMapping } from './mapping.ts';
import { notSupportedYet, refuse } from './not-supported-yet.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';
import type { Problem } from './problem.ts';
import { localObjectReferenceSchema, secretObjectReferenceSchema } from './object-reference.ts';

/** The label of deployed objects that has the name of their Gateway (GEP-1762). */
export const gatewayNameLabel = 'gateway.networking.k8s.io/gateway-name';

const listenerTlsSchema = z
  .object({
    mode: z
      .enum(['Terminate', 'Passthrough'])
      .default('Terminate')
      .describe(
        'Terminate ends TLS at the gateway. Passthrough (protocol TLS only) is reported as an unsupported protocol.',
      ),
    certificateRefs: z
      .array(secretObjectReferenceSchema)
      .max(64)
      .optional()
      .describe('Secrets of type kubernetes.io/tls. The certificate is chosen by SNI; the first is the default.'),
    options: notSupportedYet(boundedMapSchema(z.string().min(1).max(253), z.string().max(4096), 16).optional(), {
      instead: 'no TLS options are defined; remove it',
      unlessEmpty: true,
    }).describe('Implementation-specific TLS options.'),
  })
  .superRefine((tls, context) => {
    const given = (tls.certificateRefs?.length ?? 0) + Object.keys(tls.options ?? {}).length;
    if (tls.mode !== 'Terminate' || given > 0) return;
    context.addIssue({
      code: 'custom',
      path: ['certificateRefs'],
      message: 'required: at least one Secret with a certificate when mode is Terminate',
      params: { code: 'required' },
    });
  });

function checkNamespaceSelector(namespaces: unknown): readonly Problem[] {
  if (!isMapping(namespaces)) return [];
  const selects = namespaces['from'] === 'Selector';
  const hasSelector = namespaces['selector'] !== undefined;
  if (selects && !hasSelector)
    return [{ path: ['selector'], code: 'required', message: 'required with from: Selector' }];
  if (!selects && hasSelector)
    return [{ path: ['selector'], code: 'invalid', message: 'has no effect without from: Selector' }];
  return [];
}

const allowedRoutesSchema = z.object({
  namespaces: withFileRule(
    z.object({
      from: z
        .enum(['All', 'Selector', 'Same'])
        .default('Same')
        .describe(
          "Routes from All namespaces, from those that the Selector selects, or from the Gateway's own (Same).",
        ),
      selector: labelSelectorSchema
        .optional()
        .describe('Selects namespaces by their labels; only with `from: Selector`.'),
    }),
    'namespace-selector',
    checkNamespaceSelector,
  )
    .default({ from: 'Same' })
    .describe('The namespaces whose routes may attach.'),
  kinds: z
    .array(
      z.object({
        group: groupSchema.default('gateway.networking.k8s.io').describe("The route's API group."),
        kind: kindSchema.describe("The route's kind."),
      }),
    )
    .max(8)
    .optional()
    .describe("The route kinds that may attach; what the listener's protocol can serve (HTTPRoute) when absent."),
});

const listenerSchema = z.object({
  name: sectionNameSchema.describe('Unique within the Gateway; routes and policies name it as sectionName.'),
  hostname: hostnameSchema
    .optional()
    .describe('Serve only this host; `*.example.com` matches every name below. Any host when absent.'),
  port: portNumberSchema.describe(
    'The port to listen on. Several listeners may share one port with different hostnames.',
  ),
  protocol: z
    .string()
    .min(1)
    .max(255)
    .regex(
      /^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9]+$/,
      'must be HTTP or HTTPS',
    )
    .describe('HTTP or HTTPS. TLS, TCP and UDP are reported on the listener as unsupported.'),
  tls: listenerTlsSchema.optional().describe('Certificates; required for HTTPS, not allowed for HTTP.'),
  allowedRoutes: allowedRoutesSchema
    .default({ namespaces: { from: 'Same' } })
    .describe('Which routes may attach to the listener.'),
});

/** A parsed listener. */
export type GatewayListener = z.output<typeof listenerSchema>;

function checkListener(listener: GatewayListener, index: number, context: z.RefinementCtx): void {
  const { protocol, tls, hostname } = listener;
  if (['HTTP', 'TCP', 'UDP'].includes(protocol) && tls !== undefined)
    context.addIssue({
      code: 'custom',
      path: [index, 'tls'],
      message: `must be absent for protocol ${protocol}; use protocol HTTPS`,
    });
  if (protocol === 'HTTPS' && tls !== undefined && tls.mode !== 'Terminate')
    context.addIssue({ code: 'custom', path: [index, 'tls', 'mode'], message: 'must be Terminate for protocol HTTPS' });
  if (protocol === 'TLS' && tls === undefined)
    context.addIssue({
      code: 'custom',
      path: [index, 'tls'],
      message: 'required for protocol TLS',
      params: { code: 'required' },
    });
  if (['TCP', 'UDP'].includes(protocol) && hostname !== undefined)
    context.addIssue({ code: 'custom', path: [index, 'hostname'], message: `must be absent for protocol ${protocol}` });
}

const listenersSchema = z
  .array(listenerSchema)
  .min(1)
  .max(64)
  .superRefine((listeners, context) => {
    const names = new Map<string, number>();
    const places = new Map<string, string>();
    for (const [index, listener] of listeners.entries()) {
      checkListener(listener, index, context);
      const { name, port, protocol, hostname } = listener;
      if (names.has(name))
        context.addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: `must be unique; listeners[${names.get(name)}] has the same name`,
        });
      else names.set(name, index);
      const place = JSON.stringify([port, protocol, hostname ?? null]);
      const earlier = places.get(place);
      if (earlier !== undefined)
        context.addIssue({
          code: 'custom',
          path: [index],
          message: `must differ from listener ${earlier} in port, protocol or hostname`,
        });
      else places.set(place, name);
    }
  });

const addressSchema = z
  .object({
    type: z
      .string()
      .min(1)
      .max(253)
      // As the CRD has it, alternatives not anchored and all: what it lets through gets a condition, not a rejection.
      .regex(
        /^Hostname|IPAddress|NamedAddress|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/,
        'must be IPAddress',
      )
      .default('IPAddress')
      .describe('IPAddress. Other types are reported on the Gateway as unsupported.'),
    value: z
      .string()
      .max(253)
      .optional()
      .describe(
        'The IP address: to bind, or for the Service that the controller deploys. A Service gets any address when absent.',
      ),
  })
  .superRefine((address, context) => {
    const { type, value } = address;
    if (value === undefined) return;
    if (type === 'IPAddress' && isIP(value) === 0)
      context.addIssue({
        code: 'custom',
        path: ['value'],
        message: 'must be an IPv4 or IPv6 address such as 127.0.0.1 or ::1',
      });
    if (type === 'Hostname' && !hostnameSchema.safeParse(value).success)
      context.addIssue({ code: 'custom', path: ['value'], message: 'must be a lower-case host name' });
  });

const addressesSchema = z
  .array(addressSchema)
  .max(16)
  .superRefine((addresses, context) => {
    const seen = new Set<string>();
    for (const [index, { type, value }] of addresses.entries()) {
      if (value === undefined || (type !== 'IPAddress' && type !== 'Hostname')) continue;
      const key = `${type} ${value}`;
      if (seen.has(key)) context.addIssue({ code: 'custom', path: [index, 'value'], message: 'must be unique' });
      seen.add(key);
    }
  });

const infrastructureSchema = z.object({
  labels: boundedMapSchema(labelKeySchema, labelValueSchema, 8)
    .optional()
    .describe('Labels for everything that is deployed.'),
  annotations: boundedMapSchema(labelKeySchema, z.string().max(4096), 16)
    .optional()
    .describe('Annotations for everything that is deployed.'),
  parametersRef: localObjectReferenceSchema
    .optional()
    .describe('GatewayParameters of the same namespace; they override those of the class, field by field.'),
});

const allowedListenersSchema = z.object({
  namespaces: z
    .object({
      from: z.enum(['All', 'Selector', 'Same', 'None']).default('None').describe('ListenerSets from these namespaces.'),
      selector: labelSelectorSchema.optional().describe('Selects namespaces by their labels.'),
    })
    .default({ from: 'None' })
    .describe('The namespaces whose ListenerSets may attach.'),
});

/** A Gateway. */
export const gatewaySchema = z.object({
  apiVersion: z.enum(['gateway.networking.k8s.io/v1', 'gateway.networking.k8s.io/v1beta1']),
  kind: z.literal('Gateway'),
  metadata: namespacedMetadataSchema(subdomainNameSchema),
  spec: z.object({
    gatewayClassName: objectNameSchema.describe('The GatewayClass; `proxy` is built in and is served by this gateway.'),
    listeners: listenersSchema.describe('Where traffic comes in.'),
    addresses: addressesSchema
      .optional()
      .describe(
        'From a file: the IP addresses to bind, every interface when absent. With a controller: those that its Service should have.',
      ),
    infrastructure: refuse(infrastructureSchema.optional(), 'only a controller deploys Gateways; `run` does not', {
      origin: 'file',
    }).describe('What the controller deploys for the Gateway.'),
    tls: gatewayTlsSchema
      .optional()
      .describe(
        "Validation of client certificates. The certificates of HTTPS listeners belong in the listener's own tls.",
      ),
    allowedListeners: notSupportedYet(allowedListenersSchema.optional()).describe('Which ListenerSets may attach.'),
    defaultScope: notSupportedYet(z.enum(['All', 'None']).optional()).describe(
      'Experimental: serve routes without parents.',
    ),
  }),
  status: statusSchema,
});

/** A parsed Gateway. */
export type Gateway = z.output<typeof gatewaySchema>;
