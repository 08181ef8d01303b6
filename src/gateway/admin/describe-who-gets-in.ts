// Who gets in where the gateway issues the tokens, in one line: for `check`, /config and /routes.
import { LoginFlow, type McpAuthentication } from '../../ir/gen/config_pb.ts';

const maxNames = 5;

/** "members of acme, beta; everybody with an email at example.com". Null: the identity provider decides that with its tokens. */
export function describeWhoGetsIn({ flow, issuer, identity }: McpAuthentication): string | null {
  if (flow !== LoginFlow.ISSUER) return null;
  const allow = identity?.allow;
  if (allow === undefined) return `everybody with an account at ${issuer} whom requiredClaims and rules let in`;
  return [
    describeList('members of', allow.organizations),
    describeList('everybody with an email at', allow.domains),
    describeList('the emails', allow.emails),
    describeList('the subjects', allow.subjects),
  ]
    .filter((part) => part !== '')
    .join('; ');
}

function describeList(what: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : '';
  return `${what} ${names.slice(0, maxNames).join(', ')}${more}`;
}
