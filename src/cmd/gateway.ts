// `mcp-gatehouse gateway`: snapshot file and controller (xDS) -> the gateway, again on every change. Its resources, its translation and its seal keys are
// the controller's business; nothing of that is loaded here.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { create } from '@bufbuild/protobuf';
import { readUptime } from '../base/uptime.ts';
import type { Configuration } from '../ir/configuration.ts';
import { BindProblemSchema, KeptCertificateSchema, KeyProblemSchema } from '../ir/gen/report_pb.ts';
import { type ApplyOutcome, type GatewayHealthReport, startXdsClient, type XdsClient } from '../xds/client.ts';
import type { HeldResources } from '../xds/client-resources.ts';
import { findHeardFile, type HeardMoment, HeardWriter, measureSilence, readHeardFile } from '../xds/heard-file.ts';
import { readSnapshotFile, SnapshotWriter } from '../xds/snapshot-file.ts';
import { defineCommand, refuse } from './command.ts';
import { createControllerLinkMetrics } from './controller-link-metrics.ts';
import { checkGatewayCommandFlags, gatewayCommandFlags, type GatewayCommandSettings } from './gateway-command-flags.ts';
import type { ProcessHost } from './process-host.ts';
import { chooseTimes, watchStaleness } from './stale-gateway.ts';
import { type GatewayProcess, startGatewayProcess } from './start-gateway.ts';
import { ReportedTargets } from './reported-targets.ts';
import { version } from '../base/version.ts';

/** How often keys are looked at, and ports that could not be opened are tried again. */
const watchMs = 1_000;

/** Serves until a signal ends the process. */
export const gatewayCommand = defineCommand({
  ...gatewayCommandFlags,
  async run(values, host: ProcessHost) {
    const checked = checkGatewayCommandFlags(values, hostname());
    if (!checked.ok) return refuse(...checked.problems);
    const otherwise = 'the controller sends every change by itself';
    const storeScope = checked.settings.gateway;
    await serve(await startGatewayProcess(checked.settings, host, { otherwise, storeScope }), checked.settings);
    return 0;
  },
});

async function serve(gateway: GatewayProcess, settings: GatewayCommandSettings): Promise<void> {
  const { log, shutdown, pages } = gateway;
  const { controller, snapshotFile } = settings;
  const initial = snapshotFile === undefined ? undefined : await readInitial(snapshotFile, gateway, settings);
  log.info({ version, controller, gateway: settings.gateway, pages }, 'started; the controller says what to serve');

  const saver = snapshotFile === undefined ? undefined : startSaving(snapshotFile, gateway, settings, initial);
  // Before the first configuration is in force: it may be too old to be served.
  const staleness = watchStaleness(
    gateway,
    settings,
    initial === undefined ? 0 : measureSilence(initial.heard, readMoment()),
  );
  const health = new HealthWatch(gateway);
  const client = startXdsClient({
    log,
    server: controller,
    ...(settings.controllerCa === undefined ? {} : { readCa: createReader(settings.controllerCa, 'CA') }),
    ...(settings.controllerToken === undefined ? {} : { readToken: createReader(settings.controllerToken, 'token') }),
    nodeId: settings.nodeId,
    gateway: settings.gateway,
    version,
    initial: initial?.resources,
    apply: (configuration) => health.apply(configuration),
    ...(saver === undefined ? {} : { save: (resources: HeldResources) => saver.save(resources) }),
    observer: createControllerLinkMetrics(gateway.registry),
    onHeard(agoMs) {
      saver?.heard(agoMs);
      staleness.heard(agoMs);
    },
    times: chooseTimes(settings),
  });
  health.start(client);

  // Until the last request has ended, changes are still taken: a policy may be one of them.
  shutdown.addStep({
    name: 'leave the controller',
    timeoutMs: 2_000,
    run() {
      health.stop();
      staleness.stop();
      return client.close();
    },
  });
  shutdown.addStep({ name: 'write the snapshot file', timeoutMs: 5_000, run: () => saver?.close() });
}

/** What was served before, and when a controller was last heard then; undefined: not known. */
interface Initial {
  readonly resources: HeldResources;
  readonly heard: HeardMoment | undefined;
}

/** Undefined: the controller has to say. */
async function readInitial(
  path: string,
  { log }: GatewayProcess,
  { gateway }: GatewayCommandSettings,
): Promise<Initial | undefined> {
  const read = await readSnapshotFile(path, gateway);
  if (read.kind === 'read') {
    log.info({ file: path }, 'serving what the snapshot file has, until the controller says otherwise');
    return { resources: read.resources, heard: await readHeardFile(findHeardFile(path), gateway, read.checksum) };
  }
  if (read.kind === 'refused')
    log.error({ file: path }, `the snapshot file ${read.problem}; nothing is served before the controller is there`);
  return undefined;
}

/** Keeps what a restart needs: the configuration, and when a controller was last heard. */
function startSaving(
  path: string,
  { log }: GatewayProcess,
  { gateway, maxStaleness }: GatewayCommandSettings,
  initial: Initial | undefined,
) {
  const snapshots = new SnapshotWriter({ path, gateway, log, onWritten: () => heard.write() });
  // After a crash the time in the file may be this much too old.
  const everyMs = Math.min(60_000, Math.max(500, (maxStaleness ?? Infinity) / 10));
  const heard = new HeardWriter(
    { path: findHeardFile(path), gateway, log, everyMs, readChecksum: () => snapshots.checksum },
    initial?.heard,
  );
  return {
    save: (resources: HeldResources) => snapshots.save(resources),
    heard: (agoMs: number) => heard.heard(readMoment(agoMs)),
    async close() {
      await snapshots.close();
      await heard.close();
    },
  };
}

function readMoment(agoMs = 0): HeardMoment {
  return { wallMs: Date.now() - agoMs, uptimeMs: readUptime() - agoMs };
}

/** What a connection to the controller needs cannot be read. It is tried again with the next one. */
class ControllerFileError extends Error {
  readonly code = 'controller_file';
}

/** Reads a file anew each time: tokens and authorities rotate. */
function createReader(path: string, what: string): () => Promise<string> {
  return async () => {
    let text: string;
    try {
      text = (await readFile(path, 'utf8')).trim();
    } catch (error) {
      throw new ControllerFileError(`the file with the ${what} cannot be read: ${String(error)}`, { cause: error });
    }
    if (text === '') throw new ControllerFileError(`the file with the ${what}, ${path}, is empty`);
    return text;
  };
}

/** Applies configurations, and tells the controller how the gateway is doing: keys that are missing, ports that are taken, servers that are down. */
class HealthWatch {
  readonly #gateway: GatewayProcess;
  #client: XdsClient | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** As it came. */
  #configuration: Configuration | undefined;
  #bindProblems: GatewayHealthReport['bindProblems'] = [];
  readonly #targets = new ReportedTargets();
  #isLooking = false;
  #reported = '';

  constructor(gateway: GatewayProcess) {
    this.#gateway = gateway;
  }

  start(client: XdsClient): void {
    this.#client = client;
    this.#timer = setInterval(() => void this.#look(), watchMs).unref();
    if (this.#configuration !== undefined) this.#report();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async apply(configuration: Configuration): Promise<ApplyOutcome> {
    const { problems, bindProblems } = await this.#gateway.applyAny(configuration);
    this.#bindProblems = bindProblems.map(({ bindKey, message }) =>
      create(BindProblemSchema, { port: Number(bindKey.slice(bindKey.lastIndexOf('|') + 1)), reason: message }),
    );
    this.#configuration = configuration;
    // Before the configuration is acknowledged: the controller must not report success while keys are still being fetched.
    this.#report();
    return { problems };
  }

  async #look(): Promise<void> {
    if (this.#configuration === undefined || this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#lookAtTargets();
      // A port that was taken may be free now.
      if (this.#bindProblems.length > 0) await this.apply(this.#configuration);
      else this.#report();
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAtTargets(): Promise<void> {
    // Workers are asked only where there are federations.
    const hasSome = this.#gateway.gateway.listFederations().length > 0;
    this.#targets.take(hasSome ? await this.#gateway.readFederations() : [], Date.now());
  }

  #report(): void {
    const keyProblems = this.#gateway.gateway
      .listKeyProblems()
      .map(({ policy, issuer, reason, hasNone }) =>
        create(KeyProblemSchema, { policy, issuer, reason, neverLoaded: hasNone }),
      );
    const keptCertificates = this.#gateway.listKeptCertificates().map(({ listener, secret, since, expiresAt }) =>
      create(KeptCertificateSchema, {
        listener,
        secret,
        since: Math.floor(since / 1_000),
        expiresAt: Math.min(Math.floor(expiresAt / 1_000), 2 ** 32 - 1),
      }),
    );
    const { targets } = this.#targets;
    const report = { keyProblems, bindProblems: this.#bindProblems, keptCertificates, targets };
    const text = JSON.stringify(report);
    if (text === this.#reported || this.#client === undefined) return;
    this.#reported = text;
    this.#client.report(report);
  }
}
