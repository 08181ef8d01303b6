// The kinds of message that travel over xDS, in the order in which additions are sent: what a message refers to goes before it, so that a gateway
// never holds a route without the policy that protects it. Removals go the other way round.
import type { GenMessage } from '@bufbuild/protobuf/codegenv2';
import type { Message } from '@bufbuild/protobuf';
import type { Configuration } from '../ir/configuration.ts';
import { BackendSchema, ListenerSchema, PolicySchema, RouteSchema, SecretSchema } from '../ir/gen/config_pb.ts';

/** A message of any kind; its key is its resource name. */
export type ResourceMessage = Configuration[keyof Configuration][number];

/** One kind of message on the wire. */
export interface ResourceType {
  readonly typeUrl: string;
  readonly schema: GenMessage<Message & { key: string }>;
  /** The list of the Configuration that holds these messages. */
  readonly list: keyof Configuration;
}

function defineType<M extends ResourceMessage>(schema: GenMessage<M>, list: keyof Configuration): ResourceType {
  return {
    typeUrl: `type.googleapis.com/${schema.typeName}`,
    schema: schema as unknown as ResourceType['schema'],
    list,
  };
}

/** Every kind, what is referred to before what refers to it. */
export const resourceTypes: readonly ResourceType[] = [
  defineType(SecretSchema, 'secrets'),
  defineType(BackendSchema, 'backends'),
  defineType(PolicySchema, 'policies'),
  defineType(ListenerSchema, 'listeners'),
  defineType(RouteSchema, 'routes'),
];
