// What listeners ask of the certificates of clients: spec.tls.frontend of a Gateway (Gateway API 1.6, GEP-91), for every HTTPS listener of a port.
import type { Gateway } from '../api/gateway.ts';
import type { Secret } from '../ir/gen/config_pb.ts';
import { gatewayGroup } from './references.ts';
import type { Secrets } from './secrets.ts';

/** The validation of one port. */
export interface ClientValidation {
  /** The usable authorities, each once. None: no client could be validated, so the listener serves nothing. */
  readonly authorities: readonly Secret[];
  readonly allowsInsecureFallback: boolean;
  readonly problems: readonly ClientValidationProblem[];
}

/** Why an authority cannot be used. */
interface ClientValidationProblem {
  readonly reason: 'InvalidCACertificateRef' | 'InvalidCACertificateKind' | 'RefNotPermitted';
  readonly message: string;
}

/** Follows the references for a port; undefined when its clients are not asked. */
export function resolveClientValidation(
  secrets: Secrets,
  { metadata, spec }: Gateway,
  port: number,
): ClientValidation | undefined {
  const validation = findValidation(spec.tls, port);
  if (validation === undefined) return undefined;
  const from = { group: gatewayGroup, kind: 'Gateway', namespace: metadata.namespace };
  const authorities: Secret[] = [];
  const problems: ClientValidationProblem[] = [];
  for (const { group, kind, name, namespace = from.namespace } of validation.caCertificateRefs) {
    if (group !== '' || (kind !== 'ConfigMap' && kind !== 'Secret')) {
      const message = `${group === '' ? '' : `${group}/`}${kind} ${name} cannot hold certificate authorities; use a ConfigMap or a Secret`;
      problems.push({ reason: 'InvalidCACertificateKind', message });
      continue;
    }
    const resolution = secrets.resolveAuthorities(from, { kind, name, namespace });
    if (!resolution.found) {
      const reason = resolution.permitted ? 'InvalidCACertificateRef' : 'RefNotPermitted';
      problems.push({ reason, message: resolution.message });
    } else if (!authorities.some(({ key }) => key === resolution.secret.key)) authorities.push(resolution.secret);
  }
  return { authorities, allowsInsecureFallback: validation.mode === 'AllowInsecureFallback', problems };
}

/** Whether any HTTPS listener lets clients in whose certificate is missing or not valid. */
export function allowsInsecureFallback({ spec }: Gateway): boolean {
  return spec.listeners.some(
    ({ protocol, port }) => protocol === 'HTTPS' && findValidation(spec.tls, port)?.mode === 'AllowInsecureFallback',
  );
}

// Settings of a port replace the default, even when they are empty.
function findValidation(tls: Gateway['spec']['tls'], port: number) {
  const own = tls?.frontend?.perPort?.find((each) => each.port === port);
  return own === undefined ? tls?.frontend?.default.validation : own.tls.validation;
}
