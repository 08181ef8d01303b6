// A gateway process that is connected to this replica or to another.
import type { BindProblem, KeptCertificate, KeyProblem, TargetHealth } from '../ir/gen/report_pb.ts';

/** A resource that a gateway rejected, with the gateway's reason. */
export interface ResourceRejection {
  readonly typeUrl: string;
  readonly name: string;
  readonly version: string;
  readonly reason: string;
}

/** One connected gateway process. */
export interface ConnectedGateway {
  /** The node id: the pod's name. */
  readonly nodeId: string;
  /** namespace/name of its Gateway. */
  readonly gateway: string;
  /** Digest of the last snapshot that it has answered completely, with ACK or NACK; undefined: none yet. */
  readonly settled: string | undefined;
  /** Rejected resources, until a later version of them is accepted or they are removed. */
  readonly rejections: readonly ResourceRejection[];
  readonly keyProblems: readonly KeyProblem[];
  readonly bindProblems: readonly BindProblem[];
  /** Certificates that it serves although their Secret is missing or unusable. Absent: none. */
  readonly keptCertificates?: readonly KeptCertificate[];
  /** Servers of federations that it has asked. Absent: none. */
  readonly targets?: readonly TargetHealth[];
  /** Of the gateway program. */
  readonly version: string;
}

/** Servers of federations in one report; more are not read. */
export const maxReportedTargets = 2_000;
