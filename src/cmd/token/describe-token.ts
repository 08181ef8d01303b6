// Takes a token apart for a person: leniently, because the ones that people bring are those that do not work. Verifies nothing.
import { isJsonObject, type JsonObject } from '../../base/json-object.ts';
import { redactText } from '../../base/redact.ts';
import { checkKind } from '../../gateway/authentication/token/check-claims.ts';
import { readCompactToken } from '../../gateway/authentication/token/read-compact-token.ts';
import { readIssuedSubject } from '../../ir/issued-subject.ts';
import { isTestIssuer } from '../../ir/test-issuer.ts';
import { describeDistance } from './describe-distance.ts';
import type { TokenProblem, TokenReport, TokenTime } from './token-report.ts';

/** Describes a token without asking any policy. */
export function describeToken(text: string, nowMs: number): TokenReport {
  const parts = text.split('.', 6);
  const header = decodePart(parts[0]);
  const claims = parts.length === 3 ? decodePart(parts[1]) : undefined;
  const read = readCompactToken(text);
  const form = findForm(parts, header, claims);
  return {
    form,
    length: text.length,
    header: header === undefined || form === 'opaque' ? null : hideTokens(header),
    claims: claims === undefined ? null : hideTokens(claims),
    times: claims === undefined ? [] : listTimes(claims, nowMs),
    issuedFor: claims === undefined ? null : findIssuedFor(claims),
    refusal: read.ok ? null : describeRefusal('form', read),
    warnings: listWarnings(form, header, claims),
    providers: null,
  };
}

/** By claims that only a gateway sets together. */
function findIssuedFor({ sub, idp }: JsonObject): TokenReport['issuedFor'] {
  const read = typeof sub === 'string' ? readIssuedSubject(sub) : undefined;
  return read !== undefined && read.idp === idp ? read : null;
}

/** A refusal of the gateway's own code in the words of the report. */
export function describeRefusal(
  check: string,
  {
    reason,
    detail,
    operatorDetail,
  }: { readonly reason: string; readonly detail: string; readonly operatorDetail?: string },
): TokenProblem {
  return { check, reason, text: operatorDetail === undefined ? detail : `${detail} ${capitalize(operatorDetail)}.` };
}

function capitalize(text: string): string {
  // Names of claims keep their spelling.
  return /^(?:it|neither|missing)\b/.test(text) ? `${text[0]!.toUpperCase()}${text.slice(1)}` : text;
}

function findForm(
  parts: readonly string[],
  header: JsonObject | undefined,
  claims: JsonObject | undefined,
): TokenReport['form'] {
  if (parts.length === 5 && header !== undefined) return 'encrypted';
  if (parts.length === 3 && header !== undefined && claims !== undefined) return 'jwt';
  return header === undefined ? 'opaque' : 'malformed';
}

function decodePart(part: string | undefined): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A token inside the token is a token. */
function hideTokens(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value), (_, member: unknown) =>
    typeof member === 'string' && member.startsWith('eyJ') ? redactText(member) : member,
  ) as JsonObject;
}

const timeClaims = ['iat', 'auth_time', 'nbf', 'exp', 'updated_at'];
/** The last second that a calendar knows. */
const lastSecond = 8_640_000_000_000;

function listTimes(claims: JsonObject, nowMs: number): TokenTime[] {
  return timeClaims.flatMap((claim) => {
    const seconds = claims[claim];
    if (typeof seconds !== 'number' || Math.abs(seconds) > lastSecond) return [];
    const time = `${new Date(seconds * 1_000).toISOString().slice(0, 19)}Z`;
    return [{ claim, time, distance: describeDistance(seconds * 1_000 - nowMs) }];
  });
}

function listWarnings(
  form: TokenReport['form'],
  header: JsonObject | undefined,
  claims: JsonObject | undefined,
): string[] {
  const warnings: string[] = [];
  if (form === 'opaque')
    warnings.push(
      'This is no JSON Web Token: only its issuer can tell what it is for. Many identity providers issue JSON Web Tokens once an audience or resource is asked for.',
    );
  if (form === 'encrypted')
    warnings.push('It is encrypted (JWE): have the identity provider sign access tokens without encrypting them.');
  if (header !== undefined && typeof header['cty'] === 'string' && /jwt$/i.test(header['cty']))
    warnings.push('There is another token inside (cty): nested tokens are not accepted.');
  if (claims === undefined) return warnings;
  if (typeof claims['iss'] === 'string' && isTestIssuer(claims['iss']))
    warnings.push(
      'It is a test token of mcp-gatehouse token new. Its policy accepts it in a gateway that reads files; deployed gateways refuse that policy.',
    );
  const isIdToken = checkKind(claims) !== undefined;
  if (isIdToken) warnings.push('It is an ID token, which tells a client who logged in. Send the access token.');
  else if (['nonce', 'at_hash'].some((name) => Object.hasOwn(claims, name)) && claims['scope'] === undefined)
    warnings.push('It looks like an ID token (nonce or at_hash, and no scope). If so, send the access token.');
  for (const name of ['exp', 'nbf', 'iat']) {
    if (typeof claims[name] === 'string') warnings.push(`${name} is a text; it has to be a number of seconds.`);
    else if (typeof claims[name] === 'number' && claims[name] > 100_000_000_000)
      warnings.push(`${name} looks like milliseconds; it has to be seconds.`);
  }
  if (typeof claims['aud'] === 'string' && claims['aud'].includes(' '))
    warnings.push('aud is one text with spaces in it, and counts as one audience; several have to be a list.');
  return warnings;
}
