// The service that gRPC servers tell their health by (grpc.health.v1), as far as probes ask it: described here, not generated, because only
// the test cluster speaks it.
import { create, createFileRegistry, type DescService, type Message } from '@bufbuild/protobuf';
import type { GenMessage, GenService } from '@bufbuild/protobuf/codegenv2';
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';

type HealthCheckRequest = Message & { service: string };
type HealthCheckResponse = Message & { status: number };

const label = Label.OPTIONAL;
const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

/** What a server says about one of its services. */
export type ServingStatus = (typeof servingStatuses)[number];

const registry = createFileRegistry(
  create(FileDescriptorSetSchema, {
    file: [
      {
        name: 'grpc/health/v1/health.proto',
        package: 'grpc.health.v1',
        syntax: 'proto3',
        messageType: [
          { name: 'HealthCheckRequest', field: [{ name: 'service', number: 1, type: Type.STRING, label }] },
          {
            name: 'HealthCheckResponse',
            field: [
              {
                name: 'status',
                number: 1,
                type: Type.ENUM,
                label,
                typeName: '.grpc.health.v1.HealthCheckResponse.ServingStatus',
              },
            ],
            enumType: [{ name: 'ServingStatus', value: servingStatuses.map((name, number) => ({ name, number })) }],
          },
        ],
        service: [
          {
            name: 'Health',
            method: [
              {
                name: 'Check',
                inputType: '.grpc.health.v1.HealthCheckRequest',
                outputType: '.grpc.health.v1.HealthCheckResponse',
              },
            ],
          },
        ],
      },
    ],
  }),
);

/** The service. */
export const healthService = registry.getService('grpc.health.v1.Health') as DescService as GenService<{
  check: {
    methodKind: 'unary';
    input: GenMessage<HealthCheckRequest>;
    output: GenMessage<HealthCheckResponse>;
  };
}>;

/** The word for a status. */
export function nameServingStatus(status: number): ServingStatus | `${number}` {
  return servingStatuses[status] ?? `${status}`;
}

/** The number of a status. */
export function numberServingStatus(status: ServingStatus): number {
  return servingStatuses.indexOf(status);
}
