// traffic.publicAccess: a route that is open on purpose.
import { create } from '@bufbuild/protobuf';
import { PublicAccessSchema } from '../../ir/gen/config_pb.ts';
import { noReferences, type PolicyTranslator } from './policy-translator.ts';

export const publicAccessTranslator: PolicyTranslator<'traffic.publicAccess'> = {
  translate: () => ({ valid: true, message: create(PublicAccessSchema), secrets: [], backends: [] }),
  listReferences: () => noReferences,
};
