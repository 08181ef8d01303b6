// The xDS client inside a gateway: one delta ADS stream, resumed by version, and a report stream. It reconnects for as long as the
// gateway lives; meanwhile the configuration in force stays in force.
//
// An update may be many responses. Each carries the digest of the complete update; when all received resources have that digest, they are put in
// force as one configuration, and only then is each response answered: with an ACK, or with a NACK that names the unusable resources.
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { systemClock } from '../base/clock.ts';
import { cutText } from '../base/cut-text.ts';
import type { Log } from '../base/log.ts';
import { readUptime } from '../base/uptime.ts';
import type { Configuration } from '../ir/configuration.ts';
import { DeltaDiscoveryRequestSchema, NodeSchema } from '../ir/gen/discovery_pb.ts';
import {
  type BindProblem,
  GatewayReportSchema,
  type KeptCertificate,
  type KeyProblem,
  type TargetHealth,
} from '../ir/gen/report_pb.ts';
import { formatAnswer } from './client-answer.ts';
import { Backoff, type BackoffTimes, type ConnectionEnd, defaultBackoffTimes } from './client-backoff.ts';
import {
  type ConnectionTimes,
  ControllerConnection,
  defaultConnectionTimes,
  describeConnectionError,
} from './client-connection.ts';
import { QuietWatch } from './client-quiet.ts';
import { ContactWatch } from './contact-watch.ts';
import { ProblemTable, type StatedRejection, ToldRejections } from './client-rejections.ts';
import { type HeldResources, type ReceivedResponse, ResourceBook } from './client-resources.ts';
import { ConnectTimeout } from './connect-timeout.ts';
import { resourceTypes } from './resource-types.ts';

/** The result of putting a configuration in force. */
export interface ApplyOutcome {
  /** Unusable messages by kind and key, with the reason. */
  readonly problems: readonly {
    readonly list: keyof Configuration;
    readonly key: string;
    readonly message: string;
  }[];
}

export interface XdsClientTimes extends ConnectionTimes, BackoffTimes {
  /** The longest timeout of an attempt to connect; `connectMs` is that of the first. */
  readonly connectMaxMs: number;
  /** The timeout for the rest of an update; the very first update gets ten times as long. */
  readonly quietMs: number;
  /** If a connected controller sends no configuration for this long, a warning is logged. */
  readonly patienceMs: number;
  /** How often to look whether the controller still talks. */
  readonly lookMs: number;
}

export const defaultXdsClientTimes: XdsClientTimes = {
  ...defaultConnectionTimes,
  ...defaultBackoffTimes,
  connectMaxMs: 12_000,
  quietMs: 10_000,
  patienceMs: 10_000,
  lookMs: 500,
};

export interface XdsClientOptions {
  readonly log: Log;
  /** http://host:port or https://host:port. */
  readonly server: string;
  /** PEM of the CA that signed the server's certificate, read anew for each connection; undefined: the system's roots. */
  readonly readCa?: () => Promise<string | undefined>;
  /** Read anew for each connection: projected tokens rotate. Undefined: none is sent. */
  readonly readToken?: () => Promise<string>;
  readonly nodeId: string;
  /** namespace/name */
  readonly gateway: string;
  readonly version: string;
  /** The configuration from before the restart. It is put in force at once, and its versions are offered for resumption. */
  readonly initial?: HeldResources | undefined;
  /** Puts a complete configuration in force. Unchanged messages are the same objects as before. Called one at a time. */
  readonly apply: (configuration: Configuration) => Promise<ApplyOutcome>;
  /** Called with the configuration in force, to save it for a restart. Must not throw. */
  readonly save?: (resources: HeldResources) => void;
  readonly observer: XdsClientObserver;
  /**
   * Called again and again while the configuration is up to date: a connection has brought a whole update, it is in force, and bytes still come (messages, or
   * answers to pings). `agoMs`: they came at most this long ago.
   */
  readonly onHeard?: (agoMs: number) => void;
  /** Random number in [0, 1), for jitter. */
  readonly random?: () => number;
  readonly times?: Partial<XdsClientTimes>;
}

export interface XdsClientObserver {
  /** The controller has answered. */
  connected(): void;
  disconnected(reason: string): void;
  received(typeUrl: string, resources: number, removed: number): void;
  acknowledged(typeUrl: string): void;
  /** `rejections` are those of the answer, also for resources of other types. */
  rejected(typeUrl: string, rejections: readonly StatedRejection[]): void;
}

/** The report of a gateway about itself. */
export interface GatewayHealthReport {
  readonly keyProblems: readonly KeyProblem[];
  readonly bindProblems: readonly BindProblem[];
  readonly keptCertificates?: readonly KeptCertificate[];
  readonly targets?: readonly TargetHealth[];
}

export interface XdsClient {
  /** Sends a report to the controller; repeated after each reconnect. */
  report(report: GatewayHealthReport): void;
  close(): Promise<void>;
}

/** Connects, and reconnects until it is closed. */
export function startXdsClient(options: XdsClientOptions): XdsClient {
  const client = new DiscoveryClient(options);
  const running = client.run();
  return {
    report: (report) => client.report(report),
    async close() {
      client.close();
      await running;
    },
  };
}

const maxReasonLength = 1_000;
const endings = {
  refusal: { level: 'error', text: 'the controller refuses this gateway' },
  // The controller shuts down, or requires a fresh token.
  'good-bye': { level: 'info', text: 'the controller ended the connection; reconnecting' },
  accident: { level: 'warn', text: 'no connection to the controller' },
} as const;
const listOf = new Map(resourceTypes.map(({ list, typeUrl }) => [list, typeUrl]));

class DiscoveryClient {
  readonly #options: XdsClientOptions;
  readonly #log: Log;
  readonly #times: XdsClientTimes;
  readonly #book: ResourceBook;
  readonly #backoff: Backoff;
  readonly #connectTimeout: ConnectTimeout;
  readonly #quiet: QuietWatch;
  readonly #contact: ContactWatch;
  readonly #closed = new AbortController();
  /** Of the configuration in force. */
  #problems = new ProblemTable();
  #hasApplied = false;
  /** The last received configuration could not be put in force. */
  #hasFailed = false;
  #applying: Promise<void> | undefined;
  #connection: ControllerConnection | undefined;
  /** The controller has answered on this connection. */
  #isKnown = false;
  /** What came on this connection last is in force. */
  #isUpToDate = false;
  #told = new ToldRejections();
  #unanswered: ReceivedResponse[] = [];
  #report: GatewayHealthReport | undefined;
  #lastLogged = '';
  /** The last update was incomplete. */
  #isCutShort = false;
  /** The versions may be wrong: the next server is to send everything again. */
  #distrustsVersions = false;

  constructor(options: XdsClientOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#times = { ...defaultXdsClientTimes, ...options.times };
    this.#book = new ResourceBook(options.gateway, options.initial);
    this.#backoff = new Backoff(this.#times, options.random ?? Math.random);
    this.#connectTimeout = new ConnectTimeout(this.#times);
    this.#quiet = new QuietWatch({
      clock: systemClock,
      quietMs: this.#times.quietMs,
      readSilentMs: () => this.#connection?.silentMs ?? 0,
      onQuiet: () => this.#giveUp(),
    });
    this.#contact = new ContactWatch({
      clock: systemClock,
      readUptime,
      lookMs: this.#times.lookMs,
      onHeard: options.onHeard ?? (() => {}),
    });
  }

  /** Resolves when it is closed. */
  async run(): Promise<void> {
    if (this.#options.initial !== undefined) await this.#apply();
    while (!this.#closed.signal.aborted) {
      const end = await this.#connectOnce();
      if (this.#closed.signal.aborted) break;
      await wait(this.#backoff.next(end), this.#closed.signal);
    }
    await this.#applying;
  }

  close(): void {
    this.#closed.abort();
    this.#connection?.close();
  }

  report(report: GatewayHealthReport): void {
    this.#report = report;
    if (this.#isKnown) this.#sendReport();
  }

  /** One connection, from its first attempt to its end. */
  async #connectOnce(): Promise<ConnectionEnd> {
    const { observer } = this.#options;
    let answeredAt: number | undefined;
    let connection: ControllerConnection | undefined;
    let patience: NodeJS.Timeout | undefined;
    try {
      connection = await this.#createConnection();
      this.#connection = connection;
      patience = setTimeout(() => this.#log.info({}, waitingText), this.#times.patienceMs);
      this.#askForEverything(connection);
      for await (const response of connection.open()) {
        if (answeredAt === undefined) {
          answeredAt = performance.now();
          clearTimeout(patience);
          this.#begin();
        }
        const { typeUrl, resources, removedResources } = response;
        observer.received(typeUrl, resources.length, removedResources.length);
        this.#unanswered.push(this.#book.receive(response));
        this.#proceed();
      }
    } catch (error) {
      return this.#end(error, answeredAt);
    } finally {
      clearTimeout(patience);
      this.#quiet.stop();
      this.#contact.end();
      connection?.close();
      this.#connection = undefined;
      this.#isKnown = false;
      this.#isUpToDate = false;
      this.#told = new ToldRejections();
      this.#unanswered = [];
    }
    throw new Error('a discovery stream ends with an error');
  }

  async #createConnection(): Promise<ControllerConnection> {
    const { server, readCa, readToken, log } = this.#options;
    const [ca, token] = await Promise.all([readCa?.(), readToken?.()]);
    const times = { ...this.#times, connectMs: this.#connectTimeout.ms };
    return new ControllerConnection({ server, ca, token, times, log });
  }

  #askForEverything(connection: ControllerConnection): void {
    const { nodeId, gateway, version } = this.#options;
    const [namespace = '', name = ''] = gateway.split('/');
    const node = create(NodeSchema, {
      id: nodeId,
      metadata: { namespace, gateway: name },
      userAgentName: 'mcp-gatehouse',
      userAgentVersionType: { case: 'userAgentVersion', value: version },
    });
    for (const [index, { typeUrl }] of resourceTypes.entries()) {
      // A server that does not know our rejections must learn of them: it sends these resources again, and gets a NACK.
      const mustBeSent = (key: string): boolean =>
        this.#distrustsVersions || this.#problems.get(typeUrl, key) !== undefined;
      connection.send(
        create(DeltaDiscoveryRequestSchema, {
          ...(index === 0 ? { node } : {}),
          typeUrl,
          resourceNamesSubscribe: ['*'],
          initialResourceVersions: this.#book.listVersions(typeUrl, mustBeSent),
        }),
      );
    }
    this.#distrustsVersions = false;
  }

  /** The first response has come: the controller has authorized us. */
  #begin(): void {
    this.#isKnown = true;
    this.#lastLogged = '';
    this.#log.info({ controller: this.#options.server }, 'connected to the controller');
    this.#options.observer.connected();
    if (this.#report !== undefined) this.#sendReport();
  }

  #end(error: unknown, answeredAt: number | undefined): ConnectionEnd {
    const code = error instanceof ConnectError ? error.code : undefined;
    const reason = describeConnectionError(error);
    const isRefusal = code === Code.Unauthenticated || code === Code.PermissionDenied;
    const isGraceful = answeredAt !== undefined && code === Code.Unavailable;
    const isTimeout = answeredAt === undefined && code === Code.DeadlineExceeded;
    this.#connectTimeout.note(isTimeout ? 'timed-out' : 'other');
    if (!this.#closed.signal.aborted) {
      this.#options.observer.disconnected(reason);
      this.#logEnd(isRefusal ? 'refusal' : isGraceful ? 'good-bye' : 'accident', reason);
    }
    return {
      isGraceful,
      isRefusal,
      lastedMs: answeredAt === undefined ? 0 : performance.now() - answeredAt,
    };
  }

  /** Logged once, until the problem changes. */
  #logEnd(kind: 'refusal' | 'good-bye' | 'accident', detail: string): void {
    const { level, text } = endings[kind];
    const said = `${kind} ${detail}`;
    const isNews = said !== this.#lastLogged;
    this.#lastLogged = said;
    const consequence = this.#hasApplied
      ? 'the configuration in force stays in force'
      : 'there is nothing to serve yet';
    this.#log[isNews ? level : 'debug']({ controller: this.#options.server, detail }, `${text}; ${consequence}`);
  }

  /** Puts the received resources in force as soon as the update is complete. */
  #proceed(): void {
    const latest = this.#unanswered.at(-1);
    if (latest === undefined || this.#applying !== undefined) return;
    this.#quiet.stop();
    if (latest.digest === this.#book.digest) {
      this.#isCutShort = false;
      this.#start();
      return;
    }
    this.#quiet.start();
  }

  /** The missing part may contain a policy: the configuration in force stays, and the next connection brings the rest. */
  #giveUp(): void {
    // Once may be chance. Twice in a row means that both sides disagree about the versions.
    this.#distrustsVersions = this.#isCutShort;
    this.#isCutShort = true;
    this.#connection?.giveUp(new ConnectError('an update was incomplete', Code.DeadlineExceeded));
  }

  #start(): void {
    const responses = this.#unanswered;
    const connection = this.#connection;
    this.#unanswered = [];
    this.#applying = (async () => {
      const isNews = this.#book.isChanged || this.#hasFailed || !this.#hasApplied;
      const failure = isNews ? await this.#apply() : undefined;
      // A connection that was lost meanwhile needs no answers.
      if (connection === undefined || connection !== this.#connection) return;
      this.#answer(connection, responses, failure);
      this.#followContact(connection, failure === undefined);
    })().finally(() => {
      this.#applying = undefined;
      this.#proceed();
    });
  }

  #followContact(connection: ControllerConnection, isUpToDate: boolean): void {
    if (isUpToDate === this.#isUpToDate) return;
    this.#isUpToDate = isUpToDate;
    if (isUpToDate) this.#contact.begin(() => connection.countBytes());
    else this.#contact.end();
  }

  /** Returns why the configuration could not be put in force; undefined: it is in force. */
  async #apply(): Promise<string | undefined> {
    const { configuration, resources } = this.#book.takeConfiguration();
    try {
      const { problems } = await this.#options.apply(configuration);
      const table = new ProblemTable();
      for (const problem of this.#book.listProblems()) table.add(problem);
      for (const { list, key, message } of problems)
        table.add({ typeUrl: listOf.get(list)!, name: key, reason: cutText(message, maxReasonLength) });
      this.#problems = table;
      this.#hasApplied = true;
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      this.#log.error({ err: error }, 'a configuration could not be put in force; the previous one stays in force');
      return `the gateway could not put the configuration in force: ${String(error)}`;
    }
    this.#options.save?.(resources);
    return undefined;
  }

  #answer(connection: ControllerConnection, responses: readonly ReceivedResponse[], failure: string | undefined): void {
    const { observer } = this.#options;
    const stated = failure === undefined ? this.#told.state(responses, this.#problems) : undefined;
    for (const [index, { typeUrl, nonce }] of responses.entries()) {
      const rejections = stated?.[index] ?? [];
      connection.send(formatAnswer(typeUrl, nonce, rejections, failure));
      const unusable = rejections.filter(({ reason }) => reason !== '');
      if (unusable.length > 0 || failure !== undefined) observer.rejected(typeUrl, unusable);
      else observer.acknowledged(typeUrl);
    }
  }

  #sendReport(): void {
    const { nodeId, gateway } = this.#options;
    const { keyProblems, bindProblems, keptCertificates = [], targets = [] } = this.#report!;
    this.#connection?.report(
      create(GatewayReportSchema, {
        nodeId,
        gateway,
        keyProblems: [...keyProblems],
        bindProblems: [...bindProblems],
        keptCertificates: [...keptCertificates],
        targets: [...targets],
      }),
    );
  }
}

const waitingText =
  'connected, but the controller has sent no configuration: it has none for this Gateway yet, or is still authorizing this process';

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal.addEventListener('abort', finish);
  });
}
