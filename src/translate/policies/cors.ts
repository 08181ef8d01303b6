// traffic.cors of a ProxyPolicy, and the CORS filter of an HTTPRoute, which has the same fields.
import { create } from '@bufbuild/protobuf';
import type { Cors as CorsSpec } from '../../api/cors.ts';
import { type Cors, CorsSchema } from '../../ir/gen/config_pb.ts';
import { type PolicyTranslator, noReferences } from './policy-translator.ts';

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
export const corsTranslator: PolicyTranslator<'traffic.cors'> = {
  translate: (cors) => ({ valid: true, message: createCors(cors), secrets: [], backends: [] }),
  listReferences: () => noReferences,
};
