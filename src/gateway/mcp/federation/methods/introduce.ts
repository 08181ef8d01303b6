// `initialize` and `server/discover`: all targets are asked at once, and a federation introduces itself with whatever has answered in time.
import { isJsonObject, type JsonObject } from '../../../../base/json-object.ts';
import type { FederationConfig } from '../../../config/federation-config.ts';
import type { Federation, Member } from '../federation.ts';
import type { Introduction, Speaker } from '../target.ts';
import { describeAllDown, describeFailure, internalError, noteFailure } from './failures.ts';
import type { Note } from './federated-request.ts';
import { tasksExtension } from './listened-tasks.ts';

/** Versions with `initialize`, the newest first. */
export const legacyVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
export const modernVersions: readonly string[] = ['2026-07-28'];

/** Beyond the time for a connection. */
const answerMs = 5_000;

type FederationIntroduction =
  | {
      readonly ok: true;
      readonly capabilities: JsonObject;
      readonly serverInfo: JsonObject;
      readonly instructions: string;
    }
  | { readonly ok: false; readonly code: number; readonly message: string; readonly data: object };

/** Introduces all targets. One that is down is missing, whatever its failure mode; all of them down is an error. */
export async function introduceAll(
  federation: Federation,
  speaker: Speaker,
  note: Note,
): Promise<FederationIntroduction> {
  const members = [...federation.members];
  const introductions = await Promise.all(members.map((member) => introduce(member, speaker)));
  const known: { readonly name: string; readonly introduction: Introduction & { ok: true } }[] = [];
  for (const [index, introduction] of introductions.entries()) {
    const { name } = members[index]!.config;
    if (introduction.ok) known.push({ name, introduction });
    else noteFailure(name, introduction.failure, note);
  }
  const names = members.map(({ config }) => config.name);
  if (known.length === 0) {
    const [only] = introductions;
    if (introductions.length === 1 && only !== undefined && !only.ok)
      return { ok: false, code: internalError, ...describeFailure(names[0]!, only.failure) };
    return { ok: false, code: internalError, message: describeAllDown(names), data: { targets: names } };
  }
  const { config } = federation;
  return {
    ok: true,
    capabilities: mergeCapabilities(
      known.map(({ introduction }) => introduction.capabilities),
      speaker.era,
    ),
    serverInfo: describeServer(config),
    instructions: config.serverInfo.instructions ?? joinInstructions(known),
  };
}

async function introduce({ config, target }: Member, speaker: Speaker): Promise<Introduction> {
  const limitMs = config.backend.connectTimeoutMs + answerMs;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Introduction>((resolve) => {
    timer = setTimeout(() => resolve(tooLate(limitMs)), limitMs);
  });
  const asked = target.introduce(speaker).catch((error: unknown) => broken(String(error)));
  const introduction = await Promise.race([asked, late]);
  clearTimeout(timer);
  return introduction;
}

function tooLate(limitMs: number): Introduction {
  const detail = `it did not introduce itself within ${limitMs} ms`;
  return { ok: false, failure: { kind: 'timeout', status: undefined, headers: [], detail } };
}

function broken(detail: string): Introduction {
  return { ok: false, failure: { kind: 'garbage', status: undefined, headers: [], detail } };
}

/** Clients do not ask for what was not advertised, and targets come back: what any server may have is advertised always. */
const always: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

/** What is advertised where a target has it: what it promises is in its members, which only a server can say. */
const perEra: Readonly<Record<Speaker['era'], readonly string[]>> = { legacy: ['tasks'], modern: [] };
const passedExtensions = [tasksExtension, 'io.modelcontextprotocol/ui'];

function mergeCapabilities(all: readonly string[], era: Speaker['era']): JsonObject {
  let merged: JsonObject = { ...always };
  for (const json of all) {
    const own = parseObject(json);
    for (const key of perEra[era]) {
      const value = own[key];
      if (isJsonObject(value)) merged = { ...merged, [key]: merge(merged[key], value) };
    }
    const { extensions } = own;
    if (!isJsonObject(extensions)) continue;
    for (const key of passedExtensions) {
      const value = extensions[key];
      if (!isJsonObject(value)) continue;
      const before = isJsonObject(merged['extensions']) ? merged['extensions'] : {};
      merged = { ...merged, extensions: { ...before, [key]: merge(before[key], value) } };
    }
  }
  return merged;
}

/** Of objects the members of both; of anything else the first. */
function merge(before: unknown, more: JsonObject): JsonObject {
  if (!isJsonObject(before)) return more;
  const merged: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(more)) {
    if (isJsonObject(value)) merged[key] = merge(before[key], value);
    else if (!Object.hasOwn(before, key)) merged[key] = value;
  }
  return merged;
}

function parseObject(json: string): JsonObject {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function describeServer({ serverInfo: { name, title, version } }: FederationConfig): JsonObject {
  return { name, ...(title !== undefined && { title }), version };
}

function joinInstructions(
  known: readonly { readonly name: string; readonly introduction: { readonly instructions: string | undefined } }[],
): string {
  return known
    .flatMap(({ name, introduction: { instructions } }) =>
      instructions === undefined || instructions.trim() === '' ? [] : [`# ${name}\n${instructions.trim()}`],
    )
    .join('\n\n');
}

/** The result of `initialize`, as JSON. */
export function writeInitializeResult(version: string, introduction: FederationIntroduction & { ok: true }): string {
  const { capabilities, serverInfo, instructions } = introduction;
  return JSON.stringify({
    protocolVersion: version,
    capabilities,
    serverInfo,
    ...(instructions !== '' && { instructions }),
  });
}

/** The result of `server/discover`, as JSON. What targets have may change at any time, and may depend on the caller. */
export function writeDiscoverResult({
  capabilities,
  serverInfo,
  instructions,
}: FederationIntroduction & { ok: true }): string {
  return JSON.stringify({
    resultType: 'complete',
    supportedVersions: [...modernVersions, ...legacyVersions],
    capabilities,
    ...(instructions !== '' && { instructions }),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  });
}
