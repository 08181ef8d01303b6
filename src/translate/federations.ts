// Federations: ProxyBackends whose targets are one server to clients, as messages.
import { create } from '@bufbuild/protobuf';
import { findPrefix } from '../api/federation.ts';
import type { McpTarget as McpTargetSpec, ProxyBackend } from '../api/proxy-backend.ts';
import {
  FederatedServerInfoSchema,
  type FederatedTarget,
  FederatedTargetSchema,
  type FederationBackend,
  FederationBackendSchema,
  type ItemSelection,
  ItemSelectionSchema,
  type McpTarget,
  NamePrefix,
  type SessionRouting,
  TargetFailureMode,
} from '../ir/gen/config_pb.ts';

/** A target with its message. */
export interface FederationMember {
  readonly target: McpTargetSpec;
  /** Without an upstream where there is a problem. */
  readonly server: McpTarget;
  /** Why it cannot be used. */
  readonly problem: string | undefined;
}

/** The message of a federation. */
export function createFederation(
  { metadata, spec }: ProxyBackend,
  members: readonly FederationMember[],
  sessionRouting: SessionRouting,
): FederationBackend {
  const { failureMode = 'FailOpen', serverInfo = {}, names = { prefix: 'Always' } } = spec.mcp;
  const { name = metadata.name, title = '', version = '', instructions = '' } = serverInfo;
  return create(FederationBackendSchema, {
    targets: members.map((member) => createTarget(member, failureMode)),
    sessionRouting,
    namePrefix: names.prefix === 'Never' ? NamePrefix.NEVER : NamePrefix.ALWAYS,
    serverInfo: create(FederatedServerInfoSchema, { name, title, version, instructions }),
  });
}

function createTarget(
  { target, server, problem }: FederationMember,
  usualMode: 'FailOpen' | 'FailClosed',
): FederatedTarget {
  const isOpen = (target.failureMode ?? usualMode) === 'FailOpen';
  return create(FederatedTargetSchema, {
    server,
    prefix: findPrefix(target),
    failureMode: isOpen ? TargetFailureMode.FAIL_OPEN : TargetFailureMode.FAIL_CLOSED,
    ...createSelection('tools', target.tools),
    ...createSelection('prompts', target.prompts),
    ...createSelection('resources', target.resources),
    ...(problem !== undefined && { failure: { status: 500, reason: 'backend_invalid', message: problem } }),
  });
}

function createSelection(
  kind: 'tools' | 'prompts' | 'resources',
  selection: McpTargetSpec['tools'],
): { readonly [kind in 'tools' | 'prompts' | 'resources']?: ItemSelection } {
  if (selection === undefined) return {};
  const { include = [], exclude = [] } = selection;
  return { [kind]: create(ItemSelectionSchema, { include, exclude }) };
}
