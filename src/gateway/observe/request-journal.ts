// The request journal: the last requests that policies had a say in, in memory and bounded, for the admin pages and `explain --request-id`.
// An observer of requests. It holds names and decisions, which are texts: no exchange, no token, of a body the names of its message; of headers
// and the query only what an expression read, without credentials.
import { copyText, cutText } from '../../base/cut-text.ts';
import { hasNoCredentials, redactText } from '../../base/redact.ts';
import { rememberTexts } from '../../base/text-memory.ts';
import { formatBackendName } from '../request/backend-name.ts';
import type { Decision } from '../request/decision.ts';
import { describeCaller } from './describe-caller.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import type { JournaledDecision, JournaledRequest, JournaledRule } from './journaled-request.ts';
import type { RuleOutcome, RuleReference } from '../config/rule-set.ts';
import type { PolicyPlace, PolicyProvenance } from '../config/policy-level.ts';
import type { RouteConfig } from '../config/runtime-config.ts';
import { measureDuration, type RequestContext } from '../request/request-context.ts';
import { showMessage, type ShownMessage } from '../request/seen-message.ts';
import type { Caller } from '../authentication/token/verified-token.ts';

/** Limits of the memory. */
export interface RequestJournalLimits {
  readonly maxRequests: number;
  readonly maxDecisions: number;
  /** Characters of what expressions saw, for one request. */
  readonly maxSeenCharacters: number;
}

/** The journal. */
export interface RequestJournal extends RequestObserver {
  /** The latest first. */
  list(): JournaledRequest[];
  /** Undefined: not known, or forgotten already. */
  find(id: string): JournaledRequest | undefined;
}

const defaultLimits: RequestJournalLimits = { maxRequests: 1_000, maxDecisions: 32, maxSeenCharacters: 8_192 };
const maxTextLength = 1_024;

type EntryLimits = Pick<RequestJournalLimits, 'maxDecisions' | 'maxSeenCharacters'>;

/**
 * An entry, formatted only when it is read. An evicted entry is reused for the next request: otherwise every eviction would leave an old object, which is
 * expensive to collect.
 */
class Entry {
  /** Counts up; entries of both queues are in this order. */
  number = 0;
  id = '';
  startedAtMs = 0;
  milliseconds = 0;
  method = '';
  host = '';
  path = '';
  status = 0;
  reason: string | undefined;
  detail: string | undefined;
  refused = false;
  listener: string | undefined;
  route: EntryRoute = noRoute;
  backend: string | undefined;
  endpoint: string | undefined;
  caller: Caller | undefined;
  message: ShownMessage | undefined;
  decisions: readonly Decision[] = [];
  /** Undefined: nothing. */
  omitted: Omitted | undefined;

  fill(context: RequestContext, number: number, limits: EntryLimits): void {
    const { caller, mcpMessage, detail } = context;
    const bounded = areSmall(context.decisions, limits.maxDecisions)
      ? undefined
      : boundDecisions(context.decisions, limits);
    this.number = number;
    this.id = context.requestId;
    this.startedAtMs = context.startedAtMs;
    this.milliseconds = measureDuration(context);
    this.method = keepName(context.exchange.method);
    this.host = keepName(context.hostname);
    this.path = keepPath(context.path);
    this.status = context.status;
    this.reason = context.reason;
    this.detail = detail === undefined ? undefined : cutText(detail, maxTextLength);
    this.refused = hasRefusal(context.decisions);
    this.listener = context.listener?.key;
    this.route = keepRoute(context.route);
    this.backend = context.backend;
    this.endpoint = context.endpoint;
    this.caller = caller === undefined ? undefined : describeCaller(caller);
    this.message = mcpMessage === undefined ? undefined : showMessage(mcpMessage);
    this.decisions = bounded?.decisions ?? context.decisions;
    this.omitted = bounded?.omitted;
  }
}

/** What is kept of a route: not the whole of it, because a configuration that is gone must not stay in memory. */
interface EntryRoute {
  readonly shown: JournaledRequest['route'];
  /** Where the policies of the route are attached: texts of the configuration. */
  readonly provenance: readonly PolicyProvenance[];
}

/** What is not kept of the decisions. */
interface Omitted {
  readonly decisions: number;
  /** By decision that is kept. */
  readonly rules: readonly number[];
}

/** Builds a journal that has seen nothing yet. */
export function createRequestJournal(limits: Partial<RequestJournalLimits> = {}): RequestJournal {
  const { maxRequests, ...perRequest } = { ...defaultLimits, ...limits };
  // Two queues, so that neither a busy hour nor a flood of bad requests evicts all of the others: each has at least half.
  const passed = new EntryQueue(maxRequests + 1);
  const refused = new EntryQueue(maxRequests + 1);
  let count = 0;
  let spare: Entry | undefined;
  const listEntries = (): Entry[] => [...passed, ...refused].toSorted((left, right) => right.number - left.number);
  return {
    start: () => {},
    finish(context) {
      if (context.decisions.length === 0) return;
      count += 1;
      const entry = spare ?? new Entry();
      entry.fill(context, count, perRequest);
      (entry.refused ? refused : passed).push(entry);
      spare =
        passed.size + refused.size > maxRequests
          ? (passed.size > maxRequests / 2 ? passed : refused).shift()
          : undefined;
    },
    list: () => listEntries().map(describeEntry),
    find(id) {
      const entry = listEntries().find((each) => each.id === id);
      return entry === undefined ? undefined : describeEntry(entry);
    },
  };
}

/** First in, first out, at most so many. */
class EntryQueue {
  readonly #capacity: number;
  /** A ring: in use from `start` on. */
  readonly #entries: (Entry | undefined)[] = [];
  #start = 0;
  #size = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#size;
  }

  push(entry: Entry): void {
    this.#entries[(this.#start + this.#size) % this.#capacity] = entry;
    this.#size += 1;
  }

  /** Takes the oldest out. */
  shift(): Entry | undefined {
    if (this.#size === 0) return undefined;
    const entry = this.#entries[this.#start];
    this.#entries[this.#start] = undefined;
    this.#start = (this.#start + 1) % this.#capacity;
    this.#size -= 1;
    return entry;
  }

  *[Symbol.iterator](): Iterator<Entry> {
    for (const entry of this.#entries) if (entry !== undefined) yield entry;
  }
}

/** A text cut to its length, and never a piece of a longer one: that would keep the query or other headers in memory. */
function createKeeper(): (text: string) => string {
  return rememberTexts(
    (text, isKept) => (isKept ? text : text.length > maxTextLength ? cutText(text, maxTextLength) : copyText(text)),
    { mayKeep: hasNoCredentials },
  );
}

// Apart: hosts and methods come again, also where no path does.
const keepName = createKeeper();
const keepPath = createKeeper();

const noRoute: EntryRoute = { shown: null, provenance: [] };
const keptRoutes = new WeakMap<RouteConfig, EntryRoute>();

/** The same for every request of a route. */
function keepRoute(route: RouteConfig | undefined): EntryRoute {
  if (route === undefined) return noRoute;
  let kept = keptRoutes.get(route);
  if (kept === undefined) {
    const { key, httpRoute, ruleName, ruleIndex } = route;
    kept = { shown: { key, httpRoute, ruleName, ruleIndex }, provenance: route.policies.provenance };
    keptRoutes.set(route, kept);
  }
  return kept;
}

/** What is hidden is answered as if it were not there; a preflight that is answered has no reason. */
function hasRefusal(decisions: readonly Decision[]): boolean {
  for (const { outcome, reason } of decisions)
    if (outcome === 'deny' || (outcome === 'respond' && reason !== undefined)) return true;
  return false;
}

/** Most requests have few decisions without what expressions saw, and keep them as they are. */
function areSmall(decisions: readonly Decision[], maxDecisions: number): boolean {
  if (decisions.length > maxDecisions) return false;
  for (const { rules, detail } of decisions)
    if (rules.length > 0 || (detail !== undefined && detail.length > maxTextLength)) return false;
  return true;
}

function boundDecisions(
  decisions: readonly Decision[],
  { maxDecisions, maxSeenCharacters }: EntryLimits,
): { readonly decisions: readonly Decision[]; readonly omitted: Omitted } {
  const kept = decisions.length > maxDecisions ? keepEnds(decisions, maxDecisions) : decisions;
  let left = maxSeenCharacters;
  const bounded = kept.map((decision): Decision => {
    const rules = decision.rules.filter((rule) => {
      left -= measureOutcome(rule);
      return left >= 0;
    });
    const detail = decision.detail === undefined ? undefined : cutText(decision.detail, maxTextLength);
    return { ...decision, detail, rules };
  });
  const omittedRules = bounded.map(({ rules }, index) => kept[index]!.rules.length - rules.length);
  return { decisions: bounded, omitted: { decisions: decisions.length - kept.length, rules: omittedRules } };
}

/** Keeps the first and the last decisions, which matter most. */
function keepEnds(decisions: readonly Decision[], max: number): readonly Decision[] {
  const half = Math.floor(max / 2);
  return [...decisions.slice(0, max - half), ...decisions.slice(decisions.length - half)];
}

/** Sources are not counted: they are the configuration's own texts, and not copied. */
function measureOutcome({ problem, saw }: RuleOutcome): number {
  return saw.reduce((sum, { attribute, value }) => sum + attribute.length + value.length, problem?.length ?? 0);
}

function describeEntry(entry: Entry): JournaledRequest {
  const { caller, message, omitted } = entry;
  return {
    id: entry.id,
    time: new Date(entry.startedAtMs).toISOString(),
    milliseconds: Math.round(entry.milliseconds * 10) / 10,
    method: entry.method,
    host: entry.host,
    path: entry.path,
    status: entry.status,
    reason: entry.reason ?? null,
    detail: describeText(entry.detail),
    refused: entry.refused,
    listener: entry.listener ?? null,
    route: entry.route.shown,
    backend: entry.backend ?? null,
    endpoint: entry.endpoint ?? null,
    caller:
      caller === undefined
        ? null
        : { subject: caller.subject ?? null, issuer: caller.issuer, clientId: caller.clientId ?? null },
    message:
      message === undefined
        ? null
        : { method: message.method, kind: message.kind ?? null, item: message.item ?? null, count: message.count },
    decisions: entry.decisions.map((decision, index) =>
      describeDecision(decision, findPlace(decision, entry), omitted?.rules[index] ?? 0),
    ),
    omittedDecisions: omitted?.decisions ?? 0,
  };
}

/** Undefined: it is not known, or there are several and no expression that decided tells which. */
function findPlace(
  { step, policy, decidedBy }: Decision,
  { route: { provenance }, backend }: Entry,
): Pick<PolicyPlace, 'level' | 'target'> | undefined {
  if (decidedBy !== undefined) return decidedBy;
  if (step.startsWith('backend.'))
    return backend === undefined ? undefined : { level: 'ProxyBackend', target: formatBackendName(backend) };
  const places = provenance.filter(
    (place) => place.field === step && place.policy === policy && place.overriddenBy === undefined,
  );
  return places.length === 1 ? places[0] : undefined;
}

function describeDecision(
  decision: Decision,
  place: Pick<PolicyPlace, 'level' | 'target'> | undefined,
  omittedRules: number,
): JournaledDecision {
  const { step, policy, mode, outcome, reason, detail, decidedBy, rules } = decision;
  return {
    step,
    policy,
    level: place?.level ?? null,
    target: place?.target ?? null,
    mode: mode === '' ? null : mode,
    outcome,
    reason: reason ?? null,
    detail: describeText(detail),
    decidedBy: decidedBy === undefined ? null : describeRule(decidedBy),
    rules: rules.map((rule) => ({
      ...describeRule(rule),
      value: rule.value,
      problem: describeText(rule.problem),
      saw: rule.saw,
    })),
    omittedRules,
  };
}

function describeRule({ policy, level, target, action, index, source }: RuleReference): JournaledRule {
  return { policy, level, target, action, index, expression: source };
}

function describeText(text: string | undefined): string | null {
  return text === undefined ? null : redactText(text);
}
