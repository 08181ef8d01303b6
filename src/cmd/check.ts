// `mcp-gatehouse check`: validates files and prints what would be served. Opens no port and changes nothing; makes network requests only with --online.
import { resolve } from 'node:path';
import type { Resources } from '../api/resources.ts';
import { shortenPath } from '../sources/files/problem-line.ts';
import type { Translation } from '../translate/translate.ts';
import { formatAccess } from '../base/access-count.ts';
import type { RuntimeConfig } from '../gateway/config/runtime-config.ts';
import { buildCheckReport, buildEmptyReport, buildFailedReport, type CheckReport } from './check-report.ts';
import { defineCommand, refuse } from './command.ts';
import { filesFlag, inferenceExtensionFlag } from './resource-flags.ts';
import { checkIdp } from './online/check-idp.ts';
import type { CheckIdpOptions } from './online/check-idp-options.ts';
import { checkJwtProviders } from './online/check-jwt-provider.ts';
import { checkFederation } from './online/check-federation.ts';
import { checkServers } from './online/check-server.ts';
import type { OnlineReport, ServerReport } from './online/online-report.ts';
import type { CommandIo } from './process-host.ts';
import { configureFromFiles, denyUnprotectedFlag, findContradiction } from './protection-flags.ts';
import { readFiles } from './read-files.ts';
import { describeAuthentications } from '../gateway/admin/describe-authentications.ts';
import { requireEgressProxy } from './egress.ts';
import { formatOnline, formatServers } from './format-online-report.ts';
import { allowUnattachedFlag } from './unattached-policies.ts';
import type { FileSettings } from './explain/compile-files.ts';
import { compileUnconnected } from './unconnected-idp.ts';
import { countProblems, formatCheckProblems, formatServed } from './format-check-report.ts';

export const checkCommand = defineCommand({
  name: 'check',
  usage:
    '-f PATH... [--inference-extension] [--deny-unprotected] [--allow-unattached] [--online [--try-registration]] [--json]',
  summary: `Validates files and prints what would be served: listeners, hosts and paths in the order in which they are tried, what protects
each of them, what that overrides and why, backends, policies with where they are in force, protected MCP servers with their metadata URLs,
issuers of tokens with where their keys come from, and conditions that are not as they should be. Problems go to standard error. With --online the identity providers are asked as a gateway would ask them, and the MCP servers who they are; no tool is called.

Exit code: 0 all is well, 1 there are problems, 2 wrong usage.

With --json, every member is always there; what does not apply is null or empty:
  problems    [{file, line, column, kind, namespace, name, path, code, message, causedBy}]
              code: unknown_field, required, invalid, not_supported_yet   a field of a resource
                    not_found, unreadable, no_resources, syntax           a path or a file
                    duplicate, unresolved_value                           a resource, a value of a Secret
                    condition, not_served, unusable                       what becomes of a resource that is valid
                    identity_provider, mcp_server                         what an identity provider or an MCP server answers, with --online
              causedBy: the index of the problem that this one follows from; null for a cause
  gateways    [{namespace, name, listeners: [{name, addresses, port, protocol, hostname, served, routes: [
                {hostname, path: {type, value}, method, headers, queryParams, httpRoute, rule,
                 backends: [{backend, weight, answers}], filters, answers: {status, reason, message},
                 protection: {state: closed | protected | partly | redirect | open, summary, closedBy,
                   closedBecause: invalid | unattached | unprotected, clientCertificate, guards: [{kind, policy, login}], policies: [
                   {policy, level, target, field, inForce, mode, issuers, action, expressions, scopes,
                    overriddenBy: {policy, level, target}, because, remark}]}}]}]}]
              protection: every policy on the way to a rule, the most specific first, and why one has no say; guards: those that keep somebody out (login: only with the flow Issuer);
              clientCertificate: the listener serves only clients whose certificate it validates
  access      {routes, open, publicAccess, closed}   how many routes there are, how many of them anybody may use, how many of those on purpose,
              and how many are closed because nothing protects them (--deny-unprotected)
  backends    [{backend, transport, endpoints, picker: {endpoints, tls: none | unverified | verified, failureMode, timeoutMs},
               targets: [{name, prefix, transport, endpoints, failureMode, problem}]}]
              picker: who chooses among the endpoints of an InferencePool; null for other backends
              targets: the servers of a federation; null for other backends
  policies    [{namespace, name, attachments: [{field, target, closed}], conflicts: [{field, target, owner, because}]}]
  authentications  [{policy, mode, issuer, flow: {flow, reason}, whoGetsIn, resources: [{url, listener, backend, metadataUrls, callbackUrls}]}]
              flow is null when it depends on what the identity provider answers; whoGetsIn is null unless the flow is Issuer
  jwtAuthentications  [{policy, mode, location, providers: [{name, issuer, audiences, keys}]}]
  conditions  [{kind, namespace, name, part, type, status, reason, message}]   those that are not as they should be
  warnings    [{policy, message}]   policies that accept test tokens (mcp-gatehouse token new); those whose own tokens can never have
              a scope or claim that is needed; Overrides whose rules see no claims; with --allow-unattached those that miss a target
  servers     null without --online; [{backend, target, url, ok, server: {name, version}, protocolVersion, tools, findings: [{check, mark, text, advice}]}]
              target: which server of a federation; null for other backends
  online      null without --online; [{policy, provider, issuer, ok, flow, findings: [{check, mark: good | remark | bad, text, advice}],
               clients: [{family, mark, text}]}]; provider is the name of a JWT provider, null for MCP authentication`,
  flags: {
    file: filesFlag,
    inferenceExtension: inferenceExtensionFlag,
    denyUnprotected: {
      ...denyUnprotectedFlag,
      help: 'As for run: routes that nothing protects answer 403, unless traffic.publicAccess of a policy opens them',
    },
    allowUnattached: {
      ...allowUnattachedFlag,
      help: 'As for run: a policy that misses its target is a warning, and what it was to protect may be open',
    },
    online: {
      type: 'boolean',
      help: 'Ask the identity providers: is all there that the policies need, and what will MCP clients do? And the MCP servers, also those of a federation: are they there, and which tools have they?',
    },
    tryRegistration: {
      type: 'boolean',
      help: 'With --online: register a client there, and remove it again where that is offered; elsewhere it stays behind',
    },
    json: { type: 'boolean', help: 'Print one JSON object on standard output, and nothing else' },
  },
  positionals: 'file',
  examples: [
    'mcp-gatehouse check -f gateway.yaml',
    'mcp-gatehouse check -f gateway.yaml --online',
    'mcp-gatehouse check -f conf/ --json | jq .problems',
  ],
  async run({ file, json, online, tryRegistration, ...settings }, io) {
    if (file.length === 0) return refuse('say what to check: -f PATH');
    if (tryRegistration && !online) return refuse('--try-registration goes with --online');
    const contradiction = findContradiction(settings);
    if (contradiction !== undefined) return refuse(contradiction);
    const report = await checkFiles(file, io.env, settings, online ? { tryRegistration } : undefined);
    printReport(report, json, io);
    return report.problems.length > 0 ? 1 : 0;
  },
});

/** `online` undefined: no network requests. */
async function checkFiles(
  paths: readonly string[],
  environment: NodeJS.ProcessEnv,
  { inferenceExtension, ...protection }: FileSettings,
  online: { readonly tryRegistration: boolean } | undefined,
): Promise<CheckReport> {
  const read = await readFiles(paths, environment, inferenceExtension);
  if (!read.ok) return buildFailedReport(read.problems);
  const { source, resources, translation } = read;
  const problems = source.problems.get();
  if (problems.length === 0 && isEmpty(resources)) return buildEmptyReport(paths.map((path) => resolve(path)));
  const egress = online === undefined ? undefined : requireEgressProxy(environment);
  const { fetcher, ...compilation } = compileUnconnected(configureFromFiles(translation, protection), egress);
  try {
    return buildCheckReport({
      resources,
      translation,
      compilation,
      allowUnattached: protection.allowUnattached,
      problems,
      ...(online === undefined ? notAsked : await askAll(compilation.runtime, translation, { fetcher, ...online })),
      locate: (identity, path) => source.locate(identity, path),
    });
  } finally {
    await fetcher.close();
  }
}

/** Comments alone, or nothing: a template that was left out, or a file that was not saved. */
function isEmpty(resources: Resources): boolean {
  return Object.values(resources).every((list: readonly unknown[]) => list.length === 0);
}

const notAsked = { online: null, servers: null };

async function askAll(
  runtime: RuntimeConfig,
  translation: Translation,
  options: Omit<CheckIdpOptions, 'callbackUrls'>,
): Promise<{ readonly online: OnlineReport[]; readonly servers: ServerReport[] }> {
  const forwardsTokens = [...runtime.authentications, ...runtime.jwtAuthentications].some(
    ({ message }) => message.forwardToken,
  );
  const [online, servers] = await Promise.all([
    askProviders(runtime, translation, options),
    Promise.all(
      [...runtime.backends.values()].map((backend) =>
        backend.federation === undefined
          ? checkServers(backend, { forwardsTokens })
          : checkFederation(backend.key, backend.federation, { forwardsTokens }),
      ),
    ),
  ]);
  return { online, servers: servers.flat() };
}

async function askProviders(
  runtime: RuntimeConfig,
  { configuration }: Translation,
  options: Omit<CheckIdpOptions, 'callbackUrls'>,
): Promise<OnlineReport[]> {
  const { authentications, jwtAuthentications } = runtime;
  const callbacks = new Map(
    describeAuthentications(runtime).map(({ policy, resources }) => [
      policy,
      [...new Set(resources.flatMap(({ callbackUrls }) => callbackUrls))],
    ]),
  );
  const anchors = new Map(configuration.secrets.map(({ key, value }) => [key, value]));
  const readCa = (key: string): string | undefined => {
    const value = anchors.get(key);
    return value?.case === 'caCertificates' ? value.value : undefined;
  };
  const [logins, tokens] = await Promise.all([
    Promise.all(
      authentications.map((config) =>
        checkIdp(config, { ...options, callbackUrls: callbacks.get(config.source) ?? [] }),
      ),
    ),
    Promise.all(jwtAuthentications.map((config) => checkJwtProviders(config, { fetcher: options.fetcher, readCa }))),
  ]);
  return [...logins, ...tokens.flat()];
}

function printReport(report: CheckReport, json: boolean, io: CommandIo): void {
  const workingDirectory = process.cwd();
  if (json) {
    const problems = report.problems.map(({ file, ...problem }) => ({
      file: file === null ? null : shortenPath(file, workingDirectory),
      ...problem,
    }));
    io.stdout(`${JSON.stringify({ ...report, problems }, null, 2)}\n`);
    return;
  }
  // Crosses are shown where they belong, among the ticks.
  const shown = report.problems.filter(({ code }) => code !== 'identity_provider' && code !== 'mcp_server');
  io.stderr(formatCheckProblems(shown, workingDirectory, io.color));
  for (const { policy, message } of report.warnings) io.stderr(`warning: ProxyPolicy ${policy}: ${message}\n`);
  io.stdout(formatServed(report, io.color));
  if (report.online !== null) io.stdout(formatOnline(report.online, io.color));
  if (report.servers !== null) io.stdout(formatServers(report.servers, io.color));
  const { open, closed } = report.access;
  if (open > 0 || closed > 0) io.stdout(`${formatAccess(report.access)}.\n`);
  if (report.problems.length > 0) io.stderr(`${countProblems(report.problems)}\n`);
  else io.stdout('No problems.\n');
}
