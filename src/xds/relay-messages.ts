// Encodes and decodes the messages in which a replica reports its connected gateways to the leader.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type RelayedGateway, RelayedGatewaysSchema } from '../ir/gen/report_pb.ts';
import type { ConnectedGateway } from './connected-gateway.ts';

/** The whole state: it replaces the previous message. */
export function createRelayMessage(
  replica: string,
  gateways: readonly ConnectedGateway[],
): ReturnType<typeof create<typeof RelayedGatewaysSchema>> {
  return create(RelayedGatewaysSchema, { replica, gateways: gateways.map((gateway) => toMessage(gateway)) });
}

type RelayedGatewayInit = NonNullable<MessageInitShape<typeof RelayedGatewaysSchema>['gateways']>[number];

function toMessage(connected: ConnectedGateway): RelayedGatewayInit {
  const { nodeId, gateway, settled, version, rejections, keyProblems, bindProblems } = connected;
  const { keptCertificates = [], targets = [] } = connected;
  return {
    nodeId,
    gateway,
    version,
    settled: settled ?? '',
    rejections: [...rejections],
    report: {
      nodeId,
      gateway,
      keyProblems: [...keyProblems],
      bindProblems: [...bindProblems],
      keptCertificates: [...keptCertificates],
      targets: [...targets],
    },
  };
}

/** Reads one gateway of the message. */
export function readRelayedGateway(message: RelayedGateway): ConnectedGateway {
  const { nodeId, gateway, settled, version, rejections, report } = message;
  return {
    nodeId,
    gateway,
    version,
    settled: settled === '' ? undefined : settled,
    rejections: rejections.map(({ typeUrl, name, version: rejected, reason }) => ({
      typeUrl,
      name,
      version: rejected,
      reason,
    })),
    keyProblems: report?.keyProblems ?? [],
    bindProblems: report?.bindProblems ?? [],
    ...(report !== undefined && report.keptCertificates.length > 0 && { keptCertificates: report.keptCertificates }),
    ...(report !== undefined && report.targets.length > 0 && { targets: report.targets }),
  };
}
