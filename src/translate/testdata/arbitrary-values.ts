// Arbitrary values that several kinds of resources have, for property tests.
import * as fc from 'fast-check';

/** Few, so that references meet. */
export const namespace = fc.constantFrom('default', 'default', 'default', 'team');
/** Of most resources. */
export const name = fc.constantFrom('a', 'b');
/** Of listeners and rules. */
export const section = fc.constantFrom('one', 'two', 'three');
/** Of listeners. */
export const port = fc.constantFrom(80, 81, 443, 8080, 9000, 9001);
/** Some contain others. */
export const hostname = fc.constantFrom(
  'a.example.com',
  '*.example.com',
  '*.a.example.com',
  'example.com',
  '*.com',
  'b.example.org',
);
/** For selectors. */
export const labels = fc.constantFrom({}, { app: 'x' }, { app: 'y', tier: 'public' });
/** Ages, with an absent one and some that make no sense. */
export const time = fc.constantFrom(
  undefined,
  '2026-01-01T00:00:00Z',
  '2026-01-02T00:00:00Z',
  '1970-01-01T00:00:00Z',
  '2999-01-01T00:00:00Z',
);
/** Regular expressions, some of them broken. */
export const expression = fc.constantFrom('/a/.*', '(', '[', '/x(?=y)', '.*', '^/v[0-9]+', '/a|/b(', '*');

/** Half of the time absent. */
export function optional<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined });
}

/** Mostly absent. */
export function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const metadata = fc.record({ name, namespace, labels, creationTimestamp: time, generation: optional(fc.nat(9)) });

/** A resource with the given fields. */
export function resource(
  apiVersion: string,
  kind: string,
  rest: Record<string, fc.Arbitrary<unknown>>,
  meta: fc.Arbitrary<unknown> = metadata,
) {
  return fc.record({ apiVersion: fc.constant(apiVersion), kind: fc.constant(kind), metadata: meta, ...rest });
}

/** The version of core kinds. */
export const core = 'v1';
/** The version of Gateway API kinds. */
export const gatewayApi = 'gateway.networking.k8s.io/v1';
/** The version of our own kinds. */
export const proxyApi = 'gateway.proxy/v1alpha1';
