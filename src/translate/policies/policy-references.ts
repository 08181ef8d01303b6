// References of a policy's field: follows them, and remembers where they led and what was wrong with them.
import type { CaCertificateReference } from '../../api/certificate-reference.ts';
import type { Jwks } from '../../api/json-web-key-set.ts';
import type { Secret } from '../../ir/gen/config_pb.ts';
import type { PolicyKind } from '../../ir/policy-kinds.ts';
import { isTestIssuer, testIssuerRefusal } from '../../ir/test-issuer.ts';
import type { Placement } from '../placement.ts';
import { proxyGroup } from '../references.ts';
import type { SecretEntryReference, SecretResolution } from '../secrets.ts';
import type { FieldSurroundings } from './policy-translator.ts';

/** The references of one field. */
export class PolicyReferences {
  readonly #kind: PolicyKind;
  readonly #surroundings: FieldSurroundings;
  readonly secrets: Secret[] = [];
  /** Keys of backends. */
  readonly backends: string[] = [];
  /** Each with the field that it is about. */
  readonly problems: string[] = [];

  constructor(kind: PolicyKind, surroundings: FieldSurroundings) {
    this.#kind = kind;
    this.#surroundings = surroundings;
  }

  /** Where the Gateways live that the policy is for. */
  get placement(): Placement {
    return this.#surroundings.placement;
  }

  /** Refuses the issuer of test tokens where gateways are deployed: the policy closes its targets there. */
  checkIssuer(field: string, issuer: string): void {
    if (this.placement === 'pods' && isTestIssuer(issuer)) this.refuse(field, testIssuerRefusal);
  }

  /** Notes what is wrong; `field` is the path within the kind's own field. */
  refuse(field: string, message: string): void {
    this.problems.push(`spec.${this.#kind}.${field}: ${message}`);
  }

  /** The key of the message with the entry; empty when there is none. */
  followEntry(field: string, reference: SecretEntryReference | undefined): string {
    if (reference === undefined) return '';
    return this.#keep(field, this.#surroundings.secrets.resolveEntry(this.#surroundings.namespace, reference));
  }

  /** The key of the message with the trust anchors; empty when there are none. */
  followCa(field: string, reference: CaCertificateReference | undefined): string {
    if (reference === undefined) return '';
    return this.#keep(field, this.#surroundings.secrets.resolveCaCertificates(this.#surroundings.namespace, reference));
  }

  /** The key of the backend that has the keys. */
  followService(field: string, reference: NonNullable<Jwks['backendRef']>): string {
    const from = { group: proxyGroup, kind: 'ProxyPolicy', namespace: this.#surroundings.namespace };
    const resolution = this.#surroundings.backends.resolve(from, reference);
    if (!resolution.found) {
      this.refuse(field, resolution.problem.message);
      return '';
    }
    const { key, isH2c } = resolution;
    if (isH2c) {
      const name = `${reference.namespace ?? this.#surroundings.namespace}/${reference.name}`;
      this.refuse(
        field,
        `port ${reference.port} of Service ${name} has appProtocol kubernetes.io/h2c; keys are fetched with HTTP/1.1`,
      );
    }
    this.backends.push(key);
    return key;
  }

  #keep(field: string, resolution: SecretResolution): string {
    if (!resolution.found) {
      this.refuse(field, resolution.message);
      return '';
    }
    this.secrets.push(resolution.secret);
    return resolution.secret.key;
  }
}
