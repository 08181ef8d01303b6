// The methods that clients send, by version of the protocol (the schema of each version: ClientRequest and ClientNotification). Where rules
// judge by method names, only these pass, in exactly this spelling: a server that reads `Tools/Call` as `tools/call` would bypass the rules.
import { isModernVersion } from './protocol-version.ts';
import type { MethodMessage } from './message.ts';

const common = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
];
/** Until 2026-07-28. */
const sessions = ['initialize', 'ping', 'resources/subscribe', 'resources/unsubscribe', 'logging/setLevel'];
const notices = ['notifications/cancelled', 'notifications/progress'];
const sessionNotices = [...notices, 'notifications/initialized', 'notifications/roots/list_changed'];

interface MethodSet {
  readonly requests: ReadonlySet<string>;
  readonly notifications: ReadonlySet<string>;
}

const untilTasks: MethodSet = {
  requests: new Set([...common, ...sessions]),
  notifications: new Set(sessionNotices),
};

const withTasks: MethodSet = {
  requests: new Set([...untilTasks.requests, 'tasks/list', 'tasks/get', 'tasks/result', 'tasks/cancel']),
  notifications: new Set([...sessionNotices, 'notifications/tasks/status']),
};

/** With the official extension for tasks (io.modelcontextprotocol/tasks). */
const modern: MethodSet = {
  requests: new Set([
    ...common,
    'server/discover',
    'subscriptions/listen',
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
  ]),
  notifications: new Set(notices),
};

const byVersion: ReadonlyMap<string, MethodSet> = new Map([
  ['2024-11-05', untilTasks],
  ['2025-03-26', untilTasks],
  ['2025-06-18', untilTasks],
  ['2025-11-25', withTasks],
]);

/**
 * Whether the version defines the method for this kind of message. Without a header the session's version is not known to the gateway: it may
 * be any before 2026-07-28. Unknown future versions count as the newest known one.
 */
export function isKnownMethod({ kind, method }: MethodMessage, header: string | undefined): boolean {
  const set =
    header === undefined ? withTasks : (byVersion.get(header) ?? (isModernVersion(header) ? modern : withTasks));
  return (kind === 'request' ? set.requests : set.notifications).has(method);
}

/** Whether any version has the method as a request: without an id it could not be answered. */
export function isRequestMethod(method: string): boolean {
  return withTasks.requests.has(method) || modern.requests.has(method);
}
