// An answer of one era for a client of the other: what every result says of itself, and the codes of errors. The rest stays byte for byte.
import { readMember } from '../names/message-head.ts';
import { rpcCodes } from '../read/message.ts';
import { changeMembers, findValue } from './json-members.ts';

/** Results that clients of 2026-07-28 may keep for a while. */
const cacheable: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** -32042 of 2025-11-25: the client shall open a URL first. */
const urlRequired = -32_042;
const internalError = -32_603;

const modernMembers: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

/** Codes that 2026-07-28 has no more, and what stands for them. */
const replacedCodes: Readonly<Record<number, number>> = {
  [rpcCodes.resourceNotFound]: rpcCodes.invalidParams,
  [urlRequired]: internalError,
};

/** An error for a client of 2026-07-28. Servers of that version that have only half moved use the old codes too. */
export function modernizeError(text: string): string {
  const replaced = replacedCodes[Number(readMember(text, ['error', 'code']))];
  return replaced === undefined ? text : withCode(text, replaced);
}

/** An answer of a server up to 2025-11-25, for a client of 2026-07-28. */
export function modernizeAnswer(text: string, method: string): string {
  if (readMember(text, ['error', 'code']) !== undefined) return modernizeError(text);
  const has = (name: string): boolean => readMember(text, ['result', name]) !== undefined;
  const add: Record<string, string> = {};
  if (!has('resultType')) add['resultType'] = '"complete"';
  if (cacheable.has(method)) {
    if (!has('ttlMs')) add['ttlMs'] = '0';
    if (!has('cacheScope')) add['cacheScope'] = '"private"';
  }
  return Object.keys(add).length === 0 ? text : changeMembers(text, ['result'], { add });
}

const aboutResource: ReadonlySet<string> = new Set(['resources/read', 'resources/subscribe']);

/** An answer of a server of 2026-07-28, for a client up to 2025-11-25. */
export function antiquateAnswer(text: string, method: string): string {
  const code = readMember(text, ['error', 'code']);
  if (code !== undefined) {
    const isUnknown = aboutResource.has(method) && code === String(rpcCodes.invalidParams) && isAboutUri(text);
    return isUnknown ? withCode(text, rpcCodes.resourceNotFound) : text;
  }
  const type = readMember(text, ['result', 'resultType']);
  if (type !== undefined && type !== '"complete"' && type !== '"task"') {
    const error = {
      code: internalError,
      message: 'The server asks for something that this version of MCP cannot answer.',
    };
    return changeMembers(text, [], { remove: new Set(['result']), add: { error: JSON.stringify(error) } });
  }
  return findValue(text, ['result']) === undefined ? text : changeMembers(text, ['result'], { remove: modernMembers });
}

/** "Resource not found" is -32602 with the URI as its only data. */
function isAboutUri(text: string): boolean {
  const data = readMember(text, ['error', 'data']);
  if (data === undefined) return false;
  const value = JSON.parse(data) as unknown;
  return typeof value === 'object' && value !== null && Object.keys(value).join(',') === 'uri';
}

function withCode(text: string, code: number): string {
  return changeMembers(text, ['error'], { add: { code: String(code) } });
}
