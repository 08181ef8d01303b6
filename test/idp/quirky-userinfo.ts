// The quirky identity provider's userinfo endpoint (OpenID Connect Core 5.3, RFC 6750).
import { formatSubject, selectMembers } from './quirky-people.ts';
import { answerJson, type IdpAnswer, type IdpCall, type IdpState } from './quirky-state.ts';

/** Says whose access token it is. */
export function answerUserinfo(state: IdpState, call: IdpCall): IdpAnswer {
  const { quirks } = state;
  if (quirks.userinfoAnswer !== undefined) return quirks.userinfoAnswer;
  if (quirks.userinfoMembers === undefined) return { status: 404 };
  const token = /^Bearer (.+)$/i.exec(call.headers.authorization ?? '')?.[1] ?? '';
  const grant = state.accessTokens.get(token);
  if (grant === undefined || state.removedUsers.has(grant.user)) {
    const challenge = 'Bearer error="invalid_token", error_description="The access token is unknown or has ended"';
    return answerJson(401, { error: 'invalid_token' }, { 'www-authenticate': challenge });
  }
  return answerJson(200, {
    [quirks.userinfoSubject]: formatSubject(state, grant.user),
    ...selectMembers(state, grant, quirks.userinfoMembers),
    ...quirks.userinfoChanges,
  });
}
