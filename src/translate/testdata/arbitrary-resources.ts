// Arbitrary resources for property tests: few names, so that references meet, and values that nobody should write.
import * as fc from 'fast-check';
import type { InvalidResource, Resources } from '../../api/resources.ts';
import { configMap, endpointSlice, grant, proxyBackend, secret, service, space } from './arbitrary-backends.ts';
import { gateway, gatewayClass, gatewayParameters } from './arbitrary-gateways.ts';
import { inferencePool, pod, poolWay } from './arbitrary-inference.ts';
import { backendPolicy, targetRef, trafficPolicy } from './arbitrary-policies.ts';
import { httpRoute, parentRef } from './arbitrary-routes.ts';
import { gatewayApi, name, namespace, proxyApi } from './arbitrary-values.ts';
import { way } from './arbitrary-way.ts';
import { collectResources } from './collect-resources.ts';

const raws = fc
  .tuple(
    fc.array(gatewayClass, { maxLength: 2 }),
    fc.array(gateway, { minLength: 1, maxLength: 4, size: 'max' }),
    fc.array(gatewayParameters, { maxLength: 2 }),
    fc.array(httpRoute, { minLength: 2, maxLength: 4, size: 'max' }),
    fc.array(service, { minLength: 3, maxLength: 5, size: 'max' }),
    fc.array(endpointSlice, { maxLength: 3, size: 'max' }),
    fc.array(secret, { maxLength: 2, size: 'max' }),
    fc.array(configMap, { maxLength: 2 }),
    fc.array(space, { maxLength: 2 }),
    fc.array(grant, { maxLength: 3, size: 'max' }),
    fc.array(proxyBackend, { minLength: 2, maxLength: 4, size: 'max' }),
    fc.array(trafficPolicy, { minLength: 1, maxLength: 5, size: 'max' }),
    fc.array(backendPolicy, { minLength: 1, maxLength: 3, size: 'max' }),
    way,
    fc.array(inferencePool, { minLength: 1, maxLength: 3, size: 'max' }),
    fc.array(pod, { maxLength: 4, size: 'max' }),
    poolWay,
  )
  .map((lists) => lists.flat() as readonly unknown[]);

// Anything at all in place of a resource's spec, for resources that did not validate.
const strange: fc.Arbitrary<InvalidResource> = fc.record({
  kind: fc.constantFrom(
    'ProxyPolicy',
    'ProxyPolicy',
    'HTTPRoute',
    'Gateway',
    'GatewayClass',
    'ProxyBackend',
    'InferencePool',
    'Service',
    '',
  ),
  namespace,
  name,
  raw: fc.oneof(
    fc.anything(),
    fc.record({
      apiVersion: fc.constantFrom(proxyApi, gatewayApi, 7),
      spec: fc.oneof(
        fc.anything(),
        fc.record({
          targetRefs: fc.oneof(fc.anything(), fc.array(fc.oneof(fc.anything(), targetRef))),
          targetSelectors: fc.anything(),
          parentRefs: fc.oneof(fc.anything(), fc.array(fc.oneof(fc.anything(), parentRef))),
          controllerName: fc.constant('gateway.proxy/controller'),
          gatewayClassName: fc.constantFrom('proxy', 3),
        }),
      ),
    }),
  ),
  problems: fc.constantFrom([], [{ path: ['spec', 'traffic', 0], code: 'invalid' as const, message: 'wrong' }]),
});

/** Resources as a source would give them: what validates in its list, the rest among the invalid. */
export const arbitraryResources: fc.Arbitrary<Resources> = fc
  .tuple(raws, fc.array(strange, { maxLength: 2 }))
  .map(([documents, invalid]) => {
    // JSON drops what is undefined, as YAML never has it.
    const resources = collectResources(JSON.parse(JSON.stringify(documents)) as readonly unknown[], 'kubernetes');
    return { ...resources, invalid: [...resources.invalid, ...invalid] };
  });
