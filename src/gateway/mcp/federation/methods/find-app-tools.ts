// Finds the tools that a request calls by the servers' own names, before rules judge it: in the lists that the caller has seen, or that are asked for in its name.
import { cutText } from '../../../../base/cut-text.ts';
import type { FederationConfig } from '../../../config/federation-config.ts';
import type { RawHeaders } from '../../../http/exchange.ts';
import type { AppTools } from '../../../request/app-tools.ts';
import type { RequestContext } from '../../../request/request-context.ts';
import { writeClientName } from '../../names/names.ts';
import { readFieldValues } from '../../read/field-values.ts';
import { type Message, rpcCodes } from '../../read/message.ts';
import { isModernVersion, readClaimedVersion, readVersionHeader } from '../../read/protocol-version.ts';
import { ClientSession } from '../client-session.ts';
import type { Federation } from '../federation.ts';
import type { Federations } from '../federations.ts';
import type { NameFinding } from '../owned-names.ts';
import { findMissingMeta, findOwner, speakForItself, speakInSession, splitHeaders } from '../speaker.ts';
import type { Speaker } from '../target.ts';
import { internalError } from './failures.ts';
import { legacyVersions, modernVersions } from './introduce.ts';

/** A request that calls tools by bare names. */
export interface BareCalls {
  readonly federations: Federations;
  /** Key of the backend. */
  readonly backend: string;
  /** In force for this request. */
  readonly config: FederationConfig;
  readonly context: RequestContext;
  /** As they would go to a target. */
  readonly headers: RawHeaders;
  readonly host: string;
  /** Each once. */
  readonly names: readonly string[];
  /** The first one. */
  readonly message: Message;
  /** Whether lists show a tool, by its prefixed name, to the caller. */
  readonly isListed: (prefixed: string) => boolean;
}

const nothing: AppTools = { prefixed: new Map(), refused: new Map() };

/** Finds all of them. A caller of whom it is not known who speaks gets the answer that the call gets. */
export async function findAppTools(calls: BareCalls): Promise<AppTools> {
  const { federations, backend, config, names, isListed } = calls;
  const federation = await federations.find(backend);
  const speaker = federation && findSpeaker(calls, federation);
  if (federation === undefined || speaker === undefined) return nothing;
  const targets = new Map(config.targets.map((target) => [target.name, target]));
  const prefixed = new Map<string, string>();
  const refused = new Map<string, { readonly code: number; readonly message: string }>();
  const find = async (name: string): Promise<void> => {
    const isVisible = (target: string): boolean => {
      const found = targets.get(target);
      return found !== undefined && isListed(writeClientName(found, config.naming, name));
    };
    const finding = await federation.appTools.find(federation.members, speaker, { kind: 'tool', name }, { isVisible });
    const target = finding.kind === 'owned' ? targets.get(finding.target) : undefined;
    if (target !== undefined) prefixed.set(name, writeClientName(target, config.naming, name));
    const refusal = refuse(finding, name, calls.context);
    if (refusal !== undefined) refused.set(name, refusal);
  };
  await Promise.all(names.map(find));
  return { prefixed, refused };
}

/** Of a name that a client chose, in logs and errors. */
const maxShownLength = 200;

/** Names no server: which ones claim a tool may be nothing for this caller. */
function refuse(
  finding: NameFinding,
  name: string,
  context: RequestContext,
): { readonly code: number; readonly message: string } | undefined {
  const shown = cutText(name, maxShownLength);
  switch (finding.kind) {
    case 'contested':
      context.detail ??= `several servers have an app tool ${shown}: ${finding.targets.join(', ')}`;
      return {
        code: rpcCodes.invalidParams,
        message: `Several servers behind this endpoint have a tool "${shown}". Call it by its name in the list of tools, which begins with the prefix of its server.`,
      };
    case 'unavailable':
      context.detail ??= `nobody knows whose tool ${shown} is: ${finding.target} has not answered with its tools yet`;
      return {
        code: internalError,
        message: `Whose tool "${shown}" is cannot be told yet, because not every server behind this endpoint has answered. Call it by its name in the list of tools, or try again later.`,
      };
    case 'owned':
    case 'unknown':
      return undefined;
  }
}

function findSpeaker(
  { context, headers, host, message, federations, backend }: BareCalls,
  federation: Federation,
): Speaker | undefined {
  const owner = findOwner(context);
  const base = { headers: splitHeaders(headers).kept, host, owner };
  const received = context.exchange.headers;
  const header = readVersionHeader(received);
  const version = header.ok ? header.version : undefined;
  const modern = [version, readClaimedVersion(message)].find((named) => named !== undefined && isModernVersion(named));
  if (modern !== undefined) {
    const isServed = modernVersions.includes(modern);
    return isServed && message.kind === 'request' && findMissingMeta(message) === undefined
      ? speakForItself(base, modern, message)
      : undefined;
  }
  if (version !== undefined && !legacyVersions.includes(version)) return undefined;
  const ids = readFieldValues(received, 'mcp-session-id');
  const place = { sealer: federations.sealer, table: federation.sessions, backend, owner };
  const session = ids.length === 1 ? ClientSession.find(place, ids[0]!) : undefined;
  return session && speakInSession(base, session);
}
