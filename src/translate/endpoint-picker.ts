// The endpoint picker of an InferencePool: a port of a Service, how to talk to it, and what annotations of the pool say about it.
import { create } from '@bufbuild/protobuf';
import type { z } from 'zod';
import { describeIssue } from '../api/describe-issue.ts';
import { boundedDurationSchema, parseDuration } from '../api/duration.ts';
import { preciseHostnameSchema } from '../api/hostname.ts';
import {
  type EndpointPickerRef,
  type InferencePool,
  pickerAnnotationPrefix,
  pickerAnnotations,
} from '../api/inference-pool.ts';
import { subdomainNameSchema } from '../api/kubernetes-names.ts';
import { type Secret, type UpstreamTls, UpstreamTlsSchema } from '../ir/gen/config_pb.ts';
import type { ConditionReason } from './conditions.ts';
import { compareText } from './order.ts';
import type { ResourceIndex } from './resource-index.ts';
import type { Secrets } from './secrets.ts';
import { type FoundTcpPort, findTcpPort } from './service-upstream.ts';

/** A picker without its endpoints: those change more often. */
export interface FoundPicker {
  readonly place: Pick<FoundTcpPort, 'service' | 'port' | 'externalName'>;
  /** Undefined: plaintext. */
  readonly tls: UpstreamTls | undefined;
  readonly failureMode: EndpointPickerRef['failureMode'];
  /** 0: the gateway's default. */
  readonly timeoutMs: number;
  /** Trust anchors. */
  readonly secrets: readonly Secret[];
}

/** Why a pool cannot be used, for its own status and for that of a route that names it. */
export type PoolProblem = {
  readonly message: string;
  readonly routeReason: 'BackendNotFound' | 'UnsupportedProtocol' | 'InvalidCACertificateRef';
} & (
  | {
      readonly condition: 'Accepted';
      readonly reason: Exclude<ConditionReason<'inferencePoolParent', 'Accepted'>, 'Accepted' | 'HTTPRouteNotAccepted'>;
    }
  | { readonly condition: 'ResolvedRefs'; readonly reason: 'InvalidExtensionRef' }
);

/** The picker, or all problems that prevent its use. */
export type PickerResolution =
  | { readonly found: true; readonly picker: FoundPicker }
  | { readonly found: false; readonly problems: readonly [PoolProblem, ...PoolProblem[]] };

// Protocols without TLS. Pickers serve TLS by default.
const plaintextProtocols: ReadonlySet<string> = new Set(['http', 'kubernetes.io/h2c']);

/** Finds the picker of a pool. */
export function resolvePicker(index: ResourceIndex, secrets: Secrets, pool: InferencePool): PickerResolution {
  const annotations = readAnnotations(pool);
  const problems: PoolProblem[] = annotations.problems.map(refuseAnnotation);
  const { endpointPickerRef: reference } = pool.spec;
  if (reference === undefined) {
    const message =
      'spec.endpointPickerRef is not set; name an endpoint picker, because nothing else can choose an endpoint';
    return refuse([
      { condition: 'Accepted', reason: 'EndpointPickerRefMissing', message, routeReason: 'BackendNotFound' },
      ...problems,
    ]);
  }
  const place = findPickerPort(index, pool.metadata.namespace, reference);
  if (!place.found) return refuse([...problems, place.problem]);

  const { ca, serverName, timeoutMs } = annotations;
  const isPlaintext = plaintextProtocols.has(place.port.appProtocol ?? '');
  if (isPlaintext && (ca !== undefined || serverName !== undefined))
    problems.push(
      refuseAnnotation(
        `${ca === undefined ? pickerAnnotations.serverName : pickerAnnotations.ca} has no effect: port ${place.port.port} of Service ${place.service} has appProtocol ${place.port.appProtocol}, which does not use TLS`,
      ),
    );
  else if (ca === undefined && serverName !== undefined)
    problems.push(
      refuseAnnotation(
        `${pickerAnnotations.serverName} has no effect without ${pickerAnnotations.ca}: no certificate is verified without it`,
      ),
    );
  const authorities =
    ca === undefined || isPlaintext
      ? undefined
      : secrets.resolveCaCertificates(pool.metadata.namespace, { kind: 'ConfigMap', name: ca });
  if (authorities?.found === false)
    problems.push({
      condition: 'ResolvedRefs',
      reason: 'InvalidExtensionRef',
      message: `${pickerAnnotations.ca}: ${authorities.message}`,
      routeReason: 'InvalidCACertificateRef',
    });
  if (problems.length > 0) return refuse(problems);

  const anchors = authorities?.found === true ? [authorities.secret] : [];
  const tls = isPlaintext
    ? undefined
    : create(UpstreamTlsSchema, {
        serverName: serverName ?? `${reference.name}.${pool.metadata.namespace}.svc`,
        ca: anchors[0]?.key ?? '',
        insecureSkipVerify: anchors.length === 0,
      });
  const { service, port, externalName } = place;
  return {
    found: true,
    picker: {
      place: { service, port, externalName },
      tls,
      failureMode: reference.failureMode,
      timeoutMs,
      secrets: anchors,
    },
  };
}

function findPickerPort(
  index: ResourceIndex,
  namespace: string,
  reference: EndpointPickerRef,
): FoundTcpPort | { readonly found: false; readonly problem: PoolProblem } {
  const { group, kind, name } = reference;
  const fail = (message: string, routeReason: PoolProblem['routeReason']): { found: false; problem: PoolProblem } => ({
    found: false,
    problem: {
      condition: 'ResolvedRefs',
      reason: 'InvalidExtensionRef',
      message: `spec.endpointPickerRef: ${message}`,
      routeReason,
    },
  });
  if (group !== '' || kind !== 'Service')
    return fail(
      `${group === '' ? '' : `${group}/`}${kind} ${name} is not a Service; an endpoint picker needs one`,
      'UnsupportedProtocol',
    );
  const place = findTcpPort(index, namespace, name, reference.port?.number ?? 0);
  if (!place.found)
    return fail(
      place.problem.message,
      place.problem.reason === 'BackendNotFound' ? 'BackendNotFound' : 'UnsupportedProtocol',
    );
  if (place.externalName !== undefined)
    return fail(
      `Service ${place.service} has type ExternalName; an endpoint picker needs a Service with endpoints`,
      'UnsupportedProtocol',
    );
  return place;
}

interface PickerSettings {
  /** The name of a ConfigMap. */
  readonly ca: string | undefined;
  readonly serverName: string | undefined;
  readonly timeoutMs: number;
  /** Annotations that are unknown or invalid: none is ignored. */
  readonly problems: readonly string[];
}

const timeoutSchema = boundedDurationSchema({ min: '1ms', max: '10m' });

function readAnnotations({ metadata }: InferencePool): PickerSettings {
  const problems: string[] = [];
  const known = new Set<string>(Object.values(pickerAnnotations));
  for (const key of Object.keys(metadata.annotations).toSorted(compareText))
    if (key.startsWith(pickerAnnotationPrefix) && !known.has(key))
      problems.push(`${key} is not a known annotation; use ${[...known].join(', ')}`);
  const read = (key: string, schema: z.ZodType<string>): string | undefined => {
    if (!Object.hasOwn(metadata.annotations, key)) return undefined;
    const result = schema.safeParse(metadata.annotations[key], { reportInput: true });
    if (result.success) return result.data;
    problems.push(`${key}: ${describeIssue(result.error.issues[0]!).message}`);
    return undefined;
  };
  const ca = read(pickerAnnotations.ca, subdomainNameSchema);
  const serverName = read(pickerAnnotations.serverName, preciseHostnameSchema);
  const timeout = read(pickerAnnotations.timeout, timeoutSchema);
  return { ca, serverName, timeoutMs: timeout === undefined ? 0 : parseDuration(timeout), problems };
}

function refuseAnnotation(message: string): PoolProblem {
  return {
    condition: 'Accepted',
    reason: 'NotSupportedByParent',
    message: `annotation ${message}`,
    routeReason: 'UnsupportedProtocol',
  };
}

function refuse(problems: readonly PoolProblem[]): PickerResolution {
  return { found: false, problems: problems as [PoolProblem, ...PoolProblem[]] };
}
