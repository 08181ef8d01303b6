// Files -> the configuration that a gateway would have in force, without a gateway: nothing is opened, and network requests are made only with --online.
import type { EgressProxy } from '../../base/egress-proxy.ts';
import { createFetcher, type GuardedFetcher } from '../../base/fetch-json.ts';
import { silentLog } from '../../base/log.ts';
import { createSealer } from '../../base/sealed.ts';
import { compile } from '../../gateway/config/compile/compile.ts';
import type { RuntimeConfig } from '../../gateway/config/runtime-config.ts';
import { JwtAuthenticationRegistry } from '../../gateway/authentication/jwt/jwt-authentication-registry.ts';
import { AuthenticationRegistry } from '../../gateway/authentication/mcp/mcp-authentication-registry.ts';
import { connectIdp } from '../../gateway/authentication/login/idp/connect-idp.ts';
import { createIssuedTokens } from '../../gateway/authentication/login/issuer/issued-token-validator.ts';
import { findPreset } from '../../gateway/authentication/login/idp/presets.ts';
import type { Configuration } from '../../ir/configuration.ts';
import { usesSealKeys } from '../../ir/seal-keys.ts';
import { needsSigningKeys } from '../../ir/signing-keys.ts';
import { formatProblemLine } from '../../sources/files/problem-line.ts';
import { configureFromFiles, type ProtectionSettings } from '../protection-flags.ts';
import { readFiles } from '../read-files.ts';
import { addSealKeys, makeSealKeys } from '../seal-keys.ts';
import { addSigningKeys, makeSigningKeys, scheduleSigningKeys } from '../signing-keys.ts';
import { type FilePlaces, formatStatusProblems, formatUnattached } from '../status-problems.ts';
import type { AssumedKeys } from './assumed-keys.ts';

/** What files say, and what is wrong with them. */
export type ReadConfiguration =
  | {
      readonly ok: true;
      readonly configuration: Configuration;
      /** Of single resources: what they would protect is closed, and the rest works. */
      readonly problems: readonly string[];
      /** What a reader should know about where it comes from. */
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly string[] };

/** How `run` would read the files. */
export interface FileSettings extends ProtectionSettings {
  readonly inferenceExtension: boolean;
}

/** Reads and translates files, as `check` and `run` do. */
export async function readConfiguration(
  paths: readonly string[],
  environment: NodeJS.ProcessEnv,
  { inferenceExtension, ...protection }: FileSettings,
): Promise<ReadConfiguration> {
  const read = await readFiles(paths, environment, inferenceExtension);
  const workingDirectory = process.cwd();
  if (!read.ok)
    return { ok: false, problems: read.problems.map((problem) => formatProblemLine(problem, workingDirectory)) };
  const { source, resources, translation } = read;
  const places: FilePlaces = { locate: (identity, path) => source.locate(identity, path), workingDirectory };
  return {
    ok: true,
    configuration: configureFromFiles(translation, protection),
    problems: [
      ...source.problems.get().map((problem) => formatProblemLine(problem, workingDirectory)),
      ...formatStatusProblems(translation, resources, places, translation.unattached),
      ...formatUnattached(translation, resources, protection.allowUnattached, places),
    ],
    notes: [],
  };
}

/** A configuration in the form of the request path, and what is open because of it. */
interface ExplainedConfiguration {
  readonly runtime: RuntimeConfig;
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/** Compiles as a gateway does. With `online` it contacts identity providers, as a gateway would; keys of the gateway's own are assumed all the same. */
export function compileExplained(
  configuration: Configuration,
  assumed: AssumedKeys,
  { online, egress }: { readonly online: boolean; readonly egress: EgressProxy | undefined },
): ExplainedConfiguration {
  const outside = createFetcher({ proxy: egress });
  // Looking is all that is allowed: an explained registration must not register anybody.
  const fetcher: GuardedFetcher = {
    ...outside,
    fetch: (request) =>
      (request.method ?? 'GET') === 'GET'
        ? outside.fetch(request)
        : Promise.resolve({ ok: false, code: 'blocked', message: 'explain changes nothing at an identity provider' }),
  };
  const log = silentLog;
  const authentications = new AuthenticationRegistry({
    connectIdp: online ? connectIdp : assumed.wrapConnect(connectIdp),
    createIssuedTokens: assumed.wrapIssued(createIssuedTokens),
    createSealer,
    findPreset,
    fetcher,
    log,
  });
  const jwtAuthentications = new JwtAuthenticationRegistry({ fetcher, log });
  const { runtime, problems } = compile(addStandInKeys(configuration), undefined, {
    acquireAuthentication: authentications.acquire,
    acquireJwtAuthentication: online ? jwtAuthentications.acquire : assumed.wrapAcquire(jwtAuthentications.acquire),
    // As a gateway does that reads files. For one that does not, translation has refused them.
    acceptsTestIssuers: true,
  });
  return {
    runtime,
    problems: problems.map(({ key, message }) => `${key}: ${message}`),
    async close() {
      authentications.close();
      jwtAuthentications.close();
      await fetcher.close();
    },
  };
}

/** Sealed values and issued tokens are the running gateway's alone. Random keys stand in for its own. */
function addStandInKeys(configuration: Configuration): Configuration {
  const sealing = usesSealKeys(configuration) ? addSealKeys(configuration, makeSealKeys()) : configuration;
  if (!needsSigningKeys(sealing)) return sealing;
  const now = Date.now();
  return addSigningKeys(sealing, scheduleSigningKeys(makeSigningKeys(now), now));
}
