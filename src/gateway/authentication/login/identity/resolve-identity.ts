// Who somebody is: from the identity provider's token answer to a person who is allowed in. This file is the order of steps.
import type { JsonObject } from '../../../../base/json-object.ts';
import { cutText } from '../../../../base/cut-text.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';
import type { IdentityRules, PersonIdentity, TokenIssuer } from '../../../config/token-issuer.ts';
import { readClaim } from '../../token/read-claim.ts';
import { showValue } from '../../token/refusal.ts';
import { checkAllowed } from './check-allowed.ts';
import { validateIdToken } from './id-token.ts';
import { type IdentityFailure, type IdentityOutcome, refuseIdentity } from './identity-outcome.ts';
import { findOrganizationsMember, findWanted } from './identity-rules.ts';
import { readClaims, readNames } from './read-claims.ts';
import { nameSubjectMember, readSubject } from './read-subject.ts';
import { fetchUserinfo, fetchUserinfoList, type UserinfoOutcome } from './userinfo.ts';
import { findVouchedEmail, judgeEmail } from './vouched-email.ts';

export type { IdentityOutcome } from './identity-outcome.ts';

export interface IdentityAsk {
  readonly config: Pick<McpAuthenticationConfig, 'message' | 'preset' | 'idp' | 'ca'> & {
    readonly issuer?: Pick<TokenIssuer, 'identity'> | undefined;
  };
  readonly metadata: IdpMetadata;
  /** The identity provider's token answer; for an access token that does not expire, `{ access_token }`. */
  readonly answer: JsonObject;
  /** The gateway's own at the identity provider. */
  readonly clientId: string;
  /** That of the login; undefined at a refresh: an ID token need not have one. */
  readonly nonce: string | undefined;
  readonly now: () => number;
  /** At a refresh: the subject of the login. */
  readonly expectedSubject?: string;
}

/** Finds out who logged in, or whether the identity provider still vouches for somebody (refresh). Never throws because of an answer. */
export async function resolveIdentity(ask: IdentityAsk): Promise<IdentityOutcome> {
  const { preset, message } = ask.config;
  const rules = ask.config.issuer!.identity;
  const idToken = await findIdToken(ask);
  if (idToken.kind !== 'members') return idToken;
  const userinfo = await findUserinfo(ask, rules, idToken.members);
  if (userinfo.kind !== 'members') return userinfo;
  const documents = [idToken.members, userinfo.members];
  // What is signed comes first.
  const members = { ...dropNulls(userinfo.members), ...dropNulls(idToken.members) };

  const subject = readSubject(preset, rules, members);
  if (subject === undefined)
    return refuseIdentity(
      `the identity provider names no subject (${nameSubjectMember(preset, rules)}) that can be used`,
    );
  if (ask.expectedSubject !== undefined && subject !== ask.expectedSubject)
    return refuseIdentity(`the subject is ${showValue(subject)}, but ${showValue(ask.expectedSubject)} logged in`);

  const email = findVouchedEmail(preset, documents);
  const { email: _, email_verified: __, ...others } = members;
  const vouched = email === undefined ? others : { ...others, email, email_verified: true };
  const claims = readClaims(rules.claims, vouched);
  if (claims.kind !== 'claims') return claims;

  const person: PersonIdentity = {
    subject,
    claims: claims.claims,
    email,
    organizations: readNames(members, findOrganizationsMember({ preset, issuer: message.issuer }, rules)),
    userName: findUserName(preset.identity?.claims?.['preferred_username'], vouched),
  };
  return checkAllowed(person, rules.allow) ? { kind: 'person', person } : refusePerson(person);
}

/** The claims of the ID token; without members: there is none, and there need not be one. */
async function findIdToken({ config, answer, clientId, nonce, now }: IdentityAsk): Promise<UserinfoOutcome> {
  const { id_token: idToken } = answer;
  const isOpenid = config.message.endpoints === undefined && config.preset.fixedMetadata === undefined;
  // Without OpenID Connect there are no keys to validate one with, unless the policy names some: userinfo alone counts.
  if (!isOpenid && config.message.keys?.source.case === undefined) return { kind: 'members', members: {} };
  if (typeof idToken !== 'string' || idToken === '') {
    // OpenID Connect Core 12.2: a refresh may go without.
    if (!isOpenid || nonce === undefined) return { kind: 'members', members: {} };
    return refuseIdentity(
      'the token answer has no ID token (id_token): does the identity provider support OpenID Connect, and may the client ask for the scope openid?',
    );
  }
  const accessToken = readAccessToken(answer);
  const outcome = await validateIdToken(config, { text: idToken, accessToken, clientId, nonce, nowMs: now() });
  return outcome.kind === 'claims' ? { kind: 'members', members: outcome.claims } : outcome;
}

/** Userinfo, where the ID token leaves something out that the policy wants; without members: it is not needed. */
async function findUserinfo(ask: IdentityAsk, rules: IdentityRules, idToken: JsonObject): Promise<UserinfoOutcome> {
  const { config, metadata, answer } = ask;
  const { preset, message } = config;
  const { identity } = preset;
  const provider = { preset, issuer: message.issuer };
  const url = metadata.userinfo_endpoint;
  const hasIdToken = idToken.sub !== undefined;
  const wanted = findWanted(provider, rules);
  const missing = [
    ...wanted.members,
    ...(wanted.organizations ? [findOrganizationsMember(provider, rules)] : []),
    ...(rules.subject === undefined ? [] : [rules.subject]),
  ].some((member) => readClaim(idToken, member) === undefined);
  const isNeeded = !hasIdToken || missing || (wanted.email && judgeEmail(preset, idToken).kind === 'unknown');
  const isOffered = url !== undefined && identity?.hasUserinfo !== false;
  if (hasIdToken && !(isNeeded && isOffered)) return { kind: 'members', members: {} };
  const accessToken = readAccessToken(answer);
  if (!isOffered || accessToken === undefined)
    return refuseIdentity('there is neither an ID token nor userinfo that could tell who this is');

  const call = { config, url, accessToken };
  const userinfo = await fetchUserinfo(call);
  if (userinfo.kind !== 'members') return userinfo;
  const problem = findSubjectProblem(idToken, userinfo.members);
  if (problem !== undefined) return problem;
  let { members } = userinfo;
  for (const list of identity?.lists ?? []) {
    if (!wanted[list.wantedFor]) continue;
    const listed = await fetchUserinfoList(call, list);
    if (listed.kind !== 'members') return listed;
    members = { ...members, ...listed.members };
  }
  return { kind: 'members', members };
}

/** OpenID Connect Core 5.3.2: otherwise userinfo may be about somebody else (token substitution). */
function findSubjectProblem(idToken: JsonObject, userinfo: JsonObject): IdentityFailure | undefined {
  if (idToken.sub === undefined || idToken.sub === userinfo.sub) return undefined;
  return refuseIdentity(
    `userinfo is about another subject than the ID token: ${showValue(userinfo.sub)} and not ${showValue(idToken.sub)}`,
  );
}

function readAccessToken({ access_token: token }: JsonObject): string | undefined {
  return typeof token === 'string' && token !== '' ? token : undefined;
}

function dropNulls(document: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null));
}

/** On one line, and short. */
function findUserName(member: string | undefined, members: JsonObject): string | undefined {
  const found = [member ?? 'preferred_username', 'email', 'name'].map((name) => members[name]);
  const name = found.find((value): value is string => typeof value === 'string' && value !== '');
  return name === undefined ? undefined : cutText(name.replaceAll(/\p{C}/gu, '?'), 200);
}

function refusePerson({ subject, userName, email, organizations }: PersonIdentity): IdentityOutcome {
  const facts = [
    `subject ${showValue(subject)}`,
    ...(userName === undefined ? [] : [`name ${showValue(userName)}`]),
    email === undefined ? 'no email that the identity provider vouches for' : `email ${showValue(email)}`,
    organizations.length === 0 ? 'no organizations' : `organizations ${showValue(organizations)}`,
  ];
  return {
    kind: 'refused',
    reason: 'identity_not_allowed',
    detail: `identity.allow does not list ${facts.join(', ')}`,
  };
}
