// `mcp-gatehouse run`: resources from files (or the short form) -> translate -> seal keys and signing keys -> the gateway, again on every change.
import { isIP } from 'node:net';
import type { Resources } from '../api/resources.ts';
import { createLocalGuard } from '../base/local-guard.ts';
import type { Log } from '../base/log.ts';
import type { Configuration } from '../ir/configuration.ts';
import { needsSealKeys, usesSealKeys } from '../ir/seal-keys.ts';
import { needsSigningKeys } from '../ir/signing-keys.ts';
import { FilesSource } from '../sources/files/files-source.ts';
import { formatProblemLine } from '../sources/files/problem-line.ts';
import { readText } from '../sources/files/read-text.ts';
import { substituteEnvironment } from '../sources/files/substitute-environment.ts';
import { createFixedSource } from '../sources/fixed-source.ts';
import type { ResourceSource, SourceProblem } from '../sources/resource-source.ts';
import { loadInferenceTranslation } from '../translate/load-inference-translation.ts';
import { translate } from '../translate/translate.ts';
import { defineCommand, fail, refuse } from './command.ts';
import type { FlagValues } from './flags.ts';
import { findGatewayFlagProblems, readLocalGuard } from './gateway-flags.ts';
import { listExtensions } from './resource-flags.ts';
import { overrideAddress } from './override-address.ts';
import { configureFromFiles, findContradiction } from './protection-flags.ts';
import { listMovable, type OwnPort } from './own-ports.ts';
import type { ProcessHost } from './process-host.ts';
import { runCommandFlags } from './run-flags.ts';
import { findDefaultKeyFile } from './seal-key-file.ts';
import { createSealKeySource } from './seal-key-source.ts';
import { addSealKeys } from './seal-keys.ts';
import { buildShortForm, printResources } from './short-form.ts';
import { findSigningKeyFile } from './signing-key-file.ts';
import { SigningKeySource } from './signing-key-source.ts';
import { addSigningKeys } from './signing-keys.ts';
import { PortsTakenError, StartError } from './start-error.ts';
import { type GatewayProcess, startGatewayProcess } from './start-gateway.ts';
import { type FilePlaces, formatStatusProblems, formatUnattached } from './status-problems.ts';
import { listTestPolicies } from './test-policies.ts';

type RunValues = FlagValues<typeof runCommandFlags.flags>;

/** Serves until a signal ends the process. */
export const runCommand = defineCommand({
  ...runCommandFlags,
  async run(values, host: ProcessHost, origins) {
    const mistakes = findMistakes(values);
    if (mistakes.length > 0) return refuse(...mistakes);
    let source: ResourceSource;
    if (values.target.length === 0) {
      source = new FilesSource({
        paths: values.file,
        environment: host.env,
        extensions: listExtensions(values),
        watchTimes: { settle: values.reloadSettle },
      });
    } else {
      const short = buildShortForm({
        ...values,
        targets: values.target,
        audiences: values.audience,
        requiredScopes: values.requiredScope,
        extraScopes: values.extraScope,
        provider: values.provider,
      });
      if (!short.ok) return refuse(short.message);
      if (values.print) {
        host.stdout(printResources(short.resources));
        return 0;
      }
      const filled = await fillSecrets(short.resources, host.env);
      if (!filled.ok) return fail(1, ...filled.problems);
      source = createFixedSource(filled.resources);
    }

    const started = await source.start();
    if (!started.ok) return fail(1, ...started.problems.map(formatProblem));
    try {
      await serve(await startProcess(values, host, listMovable(origins), source), source, values, host.env);
      return 0;
    } catch (error) {
      await source.stop();
      throw error;
    }
  },
});

/** When own ports are taken, says so of the ports for traffic as well: one start shows all that is in the way. */
async function startProcess(
  values: RunValues,
  host: ProcessHost,
  movable: ReadonlySet<OwnPort>,
  source: ResourceSource,
): Promise<GatewayProcess> {
  const otherwise = values.target.length === 0 ? 'it starts' : 'flags say what is served; start it anew to change them';
  try {
    return await startGatewayProcess(values, host, { movablePorts: movable, acceptsTestIssuers: true, otherwise });
  } catch (error) {
    if (!(error instanceof PortsTakenError)) throw error;
    const { configuration } = translate(withAddress(source.resources.get(), values.address));
    // Loaded only when something is wrong.
    const { findTakenPorts } = await import('./taken-ports.ts');
    const others = await findTakenPorts(configuration);
    throw new PortsTakenError([error.message, ...others].join('\n'), { cause: error });
  }
}

function withAddress(resources: Resources, address: string | undefined): Resources {
  return address === undefined ? resources : overrideAddress(resources, address);
}

async function serve(
  gateway: GatewayProcess,
  source: ResourceSource,
  values: RunValues,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { log, metrics, shutdown } = gateway;
  shutdown.addStep({ name: 'stop watching files', timeoutMs: 1_000, run: () => source.stop() });

  let sourceLines: readonly string[] = [];
  // What was said once is not said again with every change.
  let known: ReadonlySet<string> = new Set();
  const reportProblems = (problems: readonly SourceProblem[]): void => {
    sourceLines = problems.map(formatProblem);
    for (const line of sourceLines) log.error({}, line);
    gateway.showProblems([...sourceLines, ...known]);
    metrics.config.setProblems(problems.length);
  };
  const inference = await loadInferenceTranslation(values.inferenceExtension);
  const places: FilePlaces = {
    locate: (...asked) => source.locate(...asked),
    workingDirectory: process.cwd(),
  };
  let wereUnattached = false;
  const translateResources = (resources: Resources): Configuration => {
    const translation = translate(withAddress(resources, values.address), { inference });
    const { allowUnattached } = values;
    const lines = [
      ...formatStatusProblems(translation, resources, places, translation.unattached),
      ...listTestPolicies(translation.configuration).map(({ policy, message }) => `ProxyPolicy ${policy}: ${message}`),
    ];
    const unattached = formatUnattached(translation, resources, allowUnattached, places);
    for (const line of lines) if (!known.has(line)) log.warn({}, line);
    for (const line of unattached) if (!known.has(line)) log[allowUnattached ? 'warn' : 'error']({}, line);
    if (unattached.length === 0 && wereUnattached) log.info({}, 'every policy is attached again');
    wereUnattached = unattached.length > 0;
    known = new Set([...lines, ...unattached]);
    gateway.showProblems([...sourceLines, ...known]);
    return configureFromFiles(translation, values);
  };

  const tellFormer = (file: string, current: string): void =>
    log.info(
      { file },
      `the seal keys are in the folder of a former name, and stay in use; their place is ${current} now`,
    );
  const sealKeyFile = values.sealKeyFile ?? findDefaultKeyFile(env, tellFormer);
  const sealKeys = createSealKeySource({ path: sealKeyFile, log });
  const signingKeys = new SigningKeySource({ path: values.signingKeyFile ?? findSigningKeyFile(sealKeyFile), log });
  const keySources = [sealKeys, signingKeys];
  shutdown.addStep({
    name: 'stop watching the keys',
    timeoutMs: 1_000,
    run: async () => void (await Promise.all(keySources.map((keys) => keys.stop()))),
  });
  const reportMissing = async (message: string): Promise<void> => {
    if (!isServing) {
      await gateway.abandon();
      throw new StartError(message);
    }
    log.error({}, message);
  };
  /** Without keys nothing can be sealed or signed, and what needs it is closed. */
  const completeConfiguration = async (configuration: Configuration): Promise<Configuration> => {
    let complete = configuration;
    if (usesSealKeys(configuration)) {
      const opened = await sealKeys.open();
      if (opened.ok) complete = addSealKeys(complete, sealKeys.keys.get() ?? opened.keys);
      else if (needsSealKeys(configuration)) await reportMissing(opened.message);
      else log.warn({}, `${opened.message}; sessions of federations end with this process`);
    }
    if (needsSigningKeys(configuration)) {
      const opened = await signingKeys.open();
      if (opened.ok) complete = addSigningKeys(complete, signingKeys.schedule.get() ?? opened.schedule);
      else await reportMissing(opened.message);
    }
    return complete;
  };

  reportProblems(source.problems.get());
  let isServing = false;
  let translated = translateResources(source.resources.get());
  // One after the other, and always the latest: a change must not overtake the one before it.
  let applying = Promise.resolve();
  const applyLatest = (): void => {
    if (!isServing) return;
    applying = applying
      .then(async () => void (await gateway.applyChange(await completeConfiguration(translated))))
      .catch((error: unknown) => log.error({ err: error }, 'a configuration could not be applied'));
  };
  source.problems.subscribe((problems) => {
    reportProblems(problems);
    if (problems.some(({ consequence }) => consequence !== undefined)) metrics.config.rejected();
    if (problems.length === 0) log.info({}, 'the files have no problems any more');
  });
  source.resources.subscribe((resources) => {
    translated = translateResources(resources);
    applyLatest();
  });
  sealKeys.keys.subscribe(applyLatest);
  signingKeys.schedule.subscribe(applyLatest);
  if (source instanceof FilesSource) gateway.onReload(() => readAgain(source, keySources, log));

  const first = translated;
  await gateway.applyFirst(await completeConfiguration(first));
  isServing = true;
  gateway.announceServing();
  if (translated !== first) applyLatest();
  if (values.target.length > 0) void tellOfTargets(values.target, gateway, values);
}

/** Says when nobody answers at a target. Nothing waits for it. */
async function tellOfTargets(
  targets: readonly string[],
  { gateway, log, shutdown }: GatewayProcess,
  values: RunValues,
): Promise<void> {
  const [backend] = gateway.runtime.backends.values();
  if (backend === undefined) return;
  const { probeTarget } = await import('./probe-target.ts');
  const guard = createLocalGuard(readLocalGuard(values));
  const servers = backend.federation?.targets.map((target) => target.backend) ?? [backend];
  const problems = await Promise.all(servers.map((server, index) => probeTarget(targets[index] ?? '', server, guard)));
  for (const problem of problems) if (problem !== undefined && !shutdown.started) log.warn({}, problem);
}

/** What SIGHUP asks for. Changes are followed anyway; this also takes those that nobody told the watchers about. */
async function readAgain(
  source: FilesSource,
  keySources: readonly { reload(): Promise<void> }[],
  log: Log,
): Promise<void> {
  log.info({}, 'SIGHUP: reading the files again');
  const before = source.resources.get();
  await Promise.all([source.reload(), ...keySources.map((keys) => keys.reload())]);
  const isChanged = source.resources.get() !== before;
  log.info(
    { problems: source.problems.get().length },
    `the files were read again; ${isChanged ? 'they have changed' : 'nothing has changed'}`,
  );
}

/** Puts the content of files in the place of the references in Secrets, as reading them with -f would. */
async function fillSecrets(
  resources: readonly object[],
  environment: NodeJS.ProcessEnv,
): Promise<
  | { readonly ok: true; readonly resources: readonly object[] }
  | { readonly ok: false; readonly problems: readonly string[] }
> {
  const sources = {
    environment,
    folder: process.cwd(),
    readValueFile: (path: string) => readText(path, maxSecretBytes),
  };
  const filled = await Promise.all(resources.map((resource) => substituteEnvironment(resource, sources)));
  const problems = filled.flatMap((each) => each.problems.map(({ message }) => `--client-secret-file: ${message}`));
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, resources: filled.map(({ raw }) => raw as object) };
}

const maxSecretBytes = 64 * 1024;

/** Flags that do not go together. */
function findMistakes(values: RunValues): string[] {
  const mistakes: string[] = [];
  if (values.file.length === 0 && values.target.length === 0)
    mistakes.push('say what to serve: -f PATH or --target URL');
  if (values.file.length > 0 && values.target.length > 0) mistakes.push('use either -f or --target, not both');
  if (values.target.length === 0) {
    if (values.print) mistakes.push('--print goes with --target: with -f the resources are in your files already');
    if (values.port !== undefined) mistakes.push('--port goes with --target: with -f the Gateways name their ports');
    if (values.transport !== undefined)
      mistakes.push('--transport goes with --target: with -f the ProxyBackend names its protocol');
    for (const [flag, isGiven] of [
      ['--issuer', values.issuer !== undefined],
      ['--audience', values.audience.length > 0],
      ['--required-scope', values.requiredScope.length > 0],
      ['--extra-scope', values.extraScope.length > 0],
      ['--provider', values.provider !== undefined],
      ['--client-id', values.clientId !== undefined],
      ['--client-secret-file', values.clientSecretFile !== undefined],
      ['--allow', values.allow.length > 0],
    ] as const) {
      if (isGiven) mistakes.push(`${flag} goes with --target: with -f a ProxyPolicy says who is let in`);
    }
  }
  if (values.target.length > 0 && values.allowUnattached)
    mistakes.push('--allow-unattached goes with -f: the policy of --target is always attached');
  if (values.print && values.denyUnprotected)
    mistakes.push('--print prints resources, and --deny-unprotected is in none of them: give it to run -f instead');
  const contradiction = findContradiction(values);
  if (contradiction !== undefined) mistakes.push(contradiction);
  if (values.address !== undefined && isIP(values.address) === 0) {
    mistakes.push(`--address must be an IP address such as 127.0.0.1 or ::, not ${JSON.stringify(values.address)}`);
  }
  return [...mistakes, ...findGatewayFlagProblems(values)];
}

function formatProblem(problem: SourceProblem): string {
  return formatProblemLine(problem, process.cwd());
}
