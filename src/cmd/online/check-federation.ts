// Asks every server of a federation, and says what becomes of its names there: which are too long for some clients, and which two servers claim.
import type { FederationConfig, FederationTarget } from '../../gateway/config/federation-config.ts';
import { writeClientName } from '../../gateway/mcp/names/names.ts';
import { type AskedServer, askServers, buildReport, type CheckServerOptions } from './check-server.ts';
import type { Findings, ServerReport } from './online-report.ts';
import type { ListedItems } from './mcp-conversation.ts';

/** Servers that are asked at the same time. */
const maxAtOnce = 16;
/** Some clients take no longer ones. */
const longestName = 60;
/** As the gateway: beyond that a target counts as unavailable. */
const maxItems = 1_000;
/** Names in one finding. */
const maxShown = 5;

interface AskedTarget {
  readonly target: FederationTarget;
  /** One for each of its addresses. */
  readonly asked: readonly AskedServer[];
}

/** Looks at every address of every server. Those that cannot be used as they are configured have none; a condition says so. */
export async function checkFederation(
  key: string,
  federation: FederationConfig,
  options: CheckServerOptions,
): Promise<ServerReport[]> {
  const all = await askTargets(federation, options);
  for (const { target, asked } of all)
    for (const { findings, hello } of asked)
      for (const list of hello?.lists ?? []) judgeList(findings, federation, target, list);
  if (federation.naming === 'never') judgeClaims(all);
  return all.flatMap(({ target, asked }) => asked.map((each) => buildReport(key, target.name, each)));
}

async function askTargets({ targets }: FederationConfig, options: CheckServerOptions): Promise<readonly AskedTarget[]> {
  const all: AskedTarget[] = [];
  for (let at = 0; at < targets.length; at += maxAtOnce) {
    const next = targets.slice(at, at + maxAtOnce).map(async (target): Promise<AskedTarget> => {
      return { target, asked: await askServers(target.backend, 'all', options) };
    });
    all.push(...(await Promise.all(next)));
  }
  return all;
}

function judgeList(
  findings: Findings,
  { naming }: FederationConfig,
  target: FederationTarget,
  { kind, count, names, problem }: ListedItems,
): void {
  if (problem !== undefined) return;
  const isWhole = kind === 'tools' || kind === 'prompts';
  if (count > maxItems && (isWhole || naming === 'never'))
    findings.bad(
      kind,
      `the gateway reads ${maxItems} entries of a list at most: this server counts as unavailable when it is asked for`,
      'Let the server list fewer.',
    );
  const served = names.filter((name) => isSelected(target, kind, name));
  if (served.length < names.length) {
    const text = served.length === 0 ? `none of them is served` : `${served.length} of them served`;
    findings.remark(kind, `${text}: include and exclude leave out the others`);
  }
  if (!isWhole) return;
  const long = served.map((name) => writeClientName(target, naming, name)).filter((name) => name.length > longestName);
  if (long.length > 0)
    findings.remark(
      kind,
      `${countNames(long.length)} longer than ${longestName} characters, which some clients do not take: ${show(long)}`,
      naming === 'always' ? 'A shorter prefix of the target may help.' : 'Only the server can change them.',
    );
}

function isSelected({ selects }: FederationTarget, kind: ListedItems['kind'], name: string): boolean {
  if (kind === 'tools') return selects.tool(name);
  return kind === 'prompts' ? selects.prompt(name) : selects.resource(name);
}

/** Without prefixes a name that two servers list is served by neither. */
function judgeClaims(all: readonly AskedTarget[]): void {
  const claimants = new Map<string, Set<FederationTarget>>();
  const visit = (take: (id: string, target: FederationTarget, name: string, server: AskedServer) => void): void => {
    for (const { target, asked } of all)
      for (const server of asked)
        for (const { kind, names } of server.hello?.lists ?? [])
          for (const name of names) if (isSelected(target, kind, name)) take(`${kind}\n${name}`, target, name, server);
  };
  visit((id, target) => {
    const known = claimants.get(id);
    if (known === undefined) claimants.set(id, new Set([target]));
    else known.add(target);
  });
  const contested = new Map<AskedServer, { readonly names: Set<string>; readonly others: Set<string> }>();
  visit((id, target, name, server) => {
    const own = claimants.get(id)!;
    if (own.size < 2) return;
    const entry = contested.get(server) ?? { names: new Set(), others: new Set() };
    contested.set(server, entry);
    entry.names.add(name);
    for (const other of own) if (other !== target) entry.others.add(other.name);
  });
  for (const [{ findings }, { names, others }] of contested)
    findings.bad(
      'names',
      `${countNames(names.size)} also listed by ${[...others].join(', ')}, and served by none of them: ${show([...names])}`,
      'Leave each of them to one server, with exclude in the others; or use prefixes (names.prefix: Always).',
    );
}

function countNames(count: number): string {
  return count === 1 ? '1 name is' : `${count} names are`;
}

function show(names: readonly string[]): string {
  const more = names.length > maxShown ? ` and ${names.length - maxShown} more` : '';
  return `${names.slice(0, maxShown).join(', ')}${more}`;
}
