// The admin port: what the gateway is doing, for its operator. Loopback only by default, and closed to web pages from elsewhere.
import { type LogLevel, logLevels, parseLogLevel, type RootLog } from '../../base/log.ts';
import type { Configuration } from '../../ir/configuration.ts';
import type { RuntimeConfig } from '../config/runtime-config.ts';
import type { FlowInspector } from '../observe/flow-inspector.ts';
import type { RequestJournal } from '../observe/request-journal.ts';
import type { Metrics } from '../../base/metrics.ts';
import { createAdminLogin } from './admin-login.ts';
import { answerConfigPage } from './config-page.ts';
import { describeAuthentications } from './describe-authentications.ts';
import { type DescribedFederation, describeFederations } from './describe-federations.ts';
import { describeJwtAuthentications } from './describe-jwt-authentications.ts';
import { describeRoutes } from './describe-routes.ts';
import { dumpConfig } from './dump-config.ts';
import { answerFlows } from './flows-page.ts';
import { formatRoutes } from './format-routes.ts';
import { describeOverview, type GatewayState } from './describe-overview.ts';
import { answerLiveEvents, answerLivePage, answerLiveScript, type WatchableRequests } from './live-page.ts';
import { answerOverviewPage } from './overview-page.ts';
import { answerRoutesPage } from './routes-page.ts';
import { answerRequest, answerRequests } from './requests-page.ts';
import { answerSessions, revokeSessions, type SessionsAccess } from './sessions-page.ts';
import {
  answerError,
  answerJson,
  type PlainAnswer,
  type PlainPages,
  type PlainRequest,
  type PlainServer,
  startPlainServer,
} from './plain-server.ts';

type ReadableJournal = Pick<RequestJournal, 'list' | 'find'>;

interface AdminServerOptions {
  /** Default: 127.0.0.1. */
  readonly address?: string;
  readonly port: number;
  /** Undefined: every user of this machine has access. */
  readonly token?: string | undefined;
  readonly version: string;
  readonly getConfiguration: () => Configuration;
  readonly getRuntime: () => RuntimeConfig;
  readonly flows: FlowInspector;
  readonly journal: ReadableJournal;
  /** The journal of all processes, where there are several. */
  readonly readJournal?: (() => Promise<ReadableJournal>) | undefined;
  readonly live: WatchableRequests;
  /** Of the flow Issuer. */
  readonly getSessions: () => SessionsAccess;
  readonly metrics: Pick<Metrics, 'expose' | 'contentType'>;
  readonly readState: () => Promise<GatewayState>;
  readonly log: RootLog;
}

/** Starts the admin port. */
export function startAdminServer(options: AdminServerOptions): Promise<PlainServer> {
  const login = options.token === undefined ? undefined : createAdminLogin(options.token);
  return startPlainServer({
    name: 'admin',
    address: options.address ?? '127.0.0.1',
    port: options.port,
    portFlag: '--admin-port',
    portEnv: 'MCP_GATEHOUSE_ADMIN_PORT',
    pages: { ...createAdminPages(options), ...login?.pages },
    check: login?.check,
    log: options.log,
    localOnly: true,
  });
}

function createAdminPages(options: AdminServerOptions): PlainPages {
  const { log, journal } = options;
  const readJournal = options.readJournal ?? (() => journal);
  const setLevel = (request: PlainRequest): PlainAnswer => changeLogLevel(request, log);
  return {
    '/': { GET: () => answerOverview(options) },
    // Browsers ask for one by themselves.
    '/favicon.ico': { GET: () => ({ status: 204, contentType: 'image/x-icon', body: '' }) },
    '/flows': {
      GET: (request) =>
        answerFlows(request, options.flows, { hasSessions: options.getSessions().kind !== 'no_issuer' }),
    },
    '/sessions': { GET: (request) => answerSessions(request, options.getSessions(), Date.now()) },
    '/sessions/revoke': { POST: (request) => revokeSessions(request, options.getSessions(), log) },
    '/requests': { GET: async (request) => answerRequests(request, await readJournal()) },
    '/requests/*': { GET: async (request) => answerRequest(request, await readJournal()) },
    '/live': { GET: () => answerLivePage() },
    '/live/script.js': { GET: () => answerLiveScript() },
    '/live/events': { GET: (request) => answerLiveEvents(request, options.live) },
    '/config': { GET: async (request) => answerConfig(request, options, await readServers(options)) },
    '/metrics': {
      GET: async () => ({
        status: 200,
        contentType: options.metrics.contentType,
        body: await options.metrics.expose(),
      }),
    },
    '/routes': { GET: async (request) => answerRoutes(request, options.getRuntime(), await readServers(options)) },
    '/loglevel': { GET: () => answerLogLevel(log.level), PUT: setLevel, POST: setLevel },
  };
}

async function answerOverview({ getConfiguration, getRuntime, readState, version, log }: AdminServerOptions) {
  const state = await readState();
  const overview = describeOverview(getConfiguration(), getRuntime(), state);
  return answerOverviewPage(overview, { version, level: log.level, nowMs: Date.now() });
}

/** The servers of federations, as all processes see them. */
async function readServers({ getRuntime, readState }: AdminServerOptions): Promise<readonly DescribedFederation[]> {
  const runtime = getRuntime();
  return describeFederations(runtime, (await readState()).federations);
}

/** Programs get the messages, browsers a page in the words of the resources. */
function answerConfig(
  request: PlainRequest,
  { getConfiguration, getRuntime }: AdminServerOptions,
  federations: readonly DescribedFederation[],
): PlainAnswer {
  const format = request.query.get('format') ?? (/\btext\/html\b/.test(request.accept) ? 'html' : 'json');
  if (format === 'json') return answerJson(dumpConfig(getConfiguration(), getRuntime(), federations));
  if (format === 'html') return answerConfigPage(getConfiguration(), getRuntime().version, federations);
  return answerError(400, 'invalid_format', 'format must be json or html.');
}

function answerRoutes(
  request: PlainRequest,
  runtime: RuntimeConfig,
  federations: readonly DescribedFederation[],
): PlainAnswer {
  const served = describeRoutes(runtime);
  const format = request.query.get('format') ?? chooseRoutesFormat(request.accept);
  const authentications = describeAuthentications(runtime);
  const jwtAuthentications = describeJwtAuthentications(runtime);
  if (format === 'json') return answerJson({ ...served, authentications, jwtAuthentications, federations });
  if (format === 'text') {
    const body = formatRoutes(served, authentications, jwtAuthentications, federations);
    return { status: 200, contentType: 'text/plain; charset=utf-8', body };
  }
  if (format === 'html') return answerRoutesPage(served, authentications, federations, Date.now());
  return answerError(400, 'invalid_format', 'format must be text, json or html.');
}

function chooseRoutesFormat(accept: string): string {
  if (/\btext\/html\b/.test(accept)) return 'html';
  return /\bapplication\/json\b/.test(accept) ? 'json' : 'text';
}

function answerLogLevel(level: LogLevel): PlainAnswer {
  return answerJson({ level, levels: logLevels });
}

function changeLogLevel(request: PlainRequest, log: RootLog): PlainAnswer {
  const wanted = readLevelText(request);
  const level = wanted === undefined ? undefined : parseLogLevel(wanted);
  if (level === undefined) {
    return answerError(400, 'invalid_level', `Send {"level": "..."} with one of ${logLevels.join(', ')}.`);
  }
  const before = log.level;
  // Logged at the more verbose of the two levels, so that the log shows where it becomes quiet or verbose.
  if (log.isEnabled('info')) log.info({ before, level }, 'changing the log level');
  const wasQuiet = !log.isEnabled('info');
  log.setLevel(level);
  if (wasQuiet) log.info({ before, level }, 'changed the log level');
  // The form on the index page wants to be there again afterwards.
  if (/\btext\/html\b/.test(request.accept)) {
    return { status: 303, contentType: 'text/plain', body: `${level}\n`, headers: { location: '/' } };
  }
  return answerLogLevel(level);
}

/** From a JSON body, a form, or the query, so that curl needs few options. */
function readLevelText(request: PlainRequest): string | undefined {
  const body = request.body.trim();
  if (body === '') return request.query.get('level') ?? undefined;
  if (!body.startsWith('{')) return new URLSearchParams(body).get('level') ?? undefined;
  try {
    const { level } = JSON.parse(body) as { readonly level?: unknown };
    return typeof level === 'string' ? level : undefined;
  } catch {
    return undefined;
  }
}
