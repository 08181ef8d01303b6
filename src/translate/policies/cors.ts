// traffic.cors of a ProxyPolicy, and the CORS filter of an HTTPRoute, which has the same fields.
import { create } from '@bufbuild/protobuf';
import type { Cors as CorsSpec } from '../../api/cors.ts';
import { type Cors, CorsSchema } from '../../ir/gen/config_pb.ts';
import type { PolicyField } from './policy-field.ts';

/** The message of a CORS configuration. */
export function createCors(cors: CorsSpec): Cors {
  return create(CorsSchema, {
    allowOrigins: cors.allowOrigins ?? [],
    allowCredentials: cors.allowCredentials ?? false,
    allowMethods: cors.allowMethods ?? [],
    allowHeaders: cors.allowHeaders ?? [],
    exposeHeaders: cors.exposeHeaders ?? [],
    maxAgeSeconds: cors.maxAge,
  });
}

/** traffic.cors. */
export const corsField: PolicyField = {
  name: 'cors',
  path: 'traffic.cors',
  isGuard: false,
  isSet: ({ spec }) => spec.traffic?.cors !== undefined,
  translate({ spec }) {
    const cors = spec.traffic?.cors;
    if (cors === undefined) return undefined;
    return { valid: true, spec: { case: 'cors', value: createCors(cors) }, secrets: [], backends: [] };
  },
};
