// Sends one registration to the IdP and classifies its answer (RFC 7591 3).
import { isJsonObject, type JsonObject, readJsonObject } from '../../../../base/json-object.ts';
import { findChoice } from './chosen-by.ts';
import { hideSecrets } from './hide-secrets.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';

/** The outcome of a registration. */
export type RegistrationOutcome =
  | { readonly ok: true; readonly answer: JsonObject & { readonly client_id: string } }
  | RegistrationFailure;

export interface RegistrationFailure {
  readonly ok: false;
  /**
   * - refused: the metadata of the client is not acceptable; the client can change it. `error` is a code of RFC 7591.
   * - denied: because of the gateway's credential or a rule of the IdP. The client cannot fix it.
   * - unavailable: no usable answer.
   */
  readonly kind: 'refused' | 'denied' | 'unavailable';
  readonly error: string;
  /** The IdP's own words, cleaned; for the client only with `refused`. */
  readonly description: string;
  /** For the operator. */
  readonly detail: string;
  /** The scope may be the cause. */
  readonly mayBeScope: boolean;
}

/** RFC 7591 3.2.2. */
const clientErrors: ReadonlySet<string> = new Set([
  'invalid_redirect_uri',
  'invalid_client_metadata',
  'invalid_software_statement',
  'unapproved_software_statement',
]);

/** Sends one registration. */
export async function attemptRegistration(
  config: McpAuthenticationConfig,
  endpoint: URL,
  members: JsonObject,
  authorization: string | undefined,
): Promise<RegistrationOutcome> {
  const outcome = await config.idp.fetcher.fetch({
    url: endpoint.href,
    method: 'POST',
    chosenBy: findChoice(endpoint.href, config.message),
    ca: config.ca,
    // The second setting is for a registration endpoint that the policy names itself.
    allowInsecureHttp: config.message.allowInsecureHttp || config.message.registration?.allowInsecureHttp === true,
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      ...(authorization !== undefined && { authorization }),
    },
    body: JSON.stringify(members),
  });
  if (outcome.ok) return readAnswer(outcome.status, outcome.body, [authorization?.split(' ', 2)[1]]);
  // A redirect leads to a login page: the endpoint requires a credential that the gateway does not have.
  return fail(outcome.code === 'redirect' || outcome.code === 'blocked' ? 'denied' : 'unavailable', outcome.message);
}

/** Judges an answer of the registration endpoint. */
export function readAnswer(
  status: number,
  body: string,
  secrets: readonly (string | undefined)[] = [],
): RegistrationOutcome {
  const read = readJsonObject(body);
  const answer = read.ok ? read.value : undefined;
  if (status === 200 || status === 201) {
    const clientId = answer?.['client_id'];
    if (answer !== undefined && typeof clientId === 'string' && clientId !== '')
      return { ok: true, answer: { ...answer, client_id: clientId } };
    return fail('unavailable', `the IdP answers ${status} to a registration, but without a client_id`);
  }
  const error = readText(answer?.['error'], 100, secrets);
  const description = readText(answer?.['error_description'], 300, secrets);
  const oauthError = [error, description].filter((text) => text !== '').join(': ');
  const detail = `the IdP answers ${status} to a registration${oauthError === '' ? '' : `: ${oauthError}`}`;
  if (status < 400 || status >= 500) return fail('unavailable', detail);
  const mayBeScope =
    status === 403 || error === 'invalid_scope' || (status === 400 && /scope/i.test(`${error} ${description}`));
  const isRefusal = status === 400 && clientErrors.has(error);
  return { ok: false, kind: isRefusal ? 'refused' : 'denied', error, description, detail, mayBeScope };
}

function fail(kind: RegistrationFailure['kind'], detail: string): RegistrationFailure {
  return { ok: false, kind, error: '', description: '', detail, mayBeScope: false };
}

/** Cleans a text of the IdP for logs and answers: one line of printable characters. */
function readText(value: unknown, maxLength: number, secrets: readonly (string | undefined)[]): string {
  if (typeof value !== 'string' && !isJsonObject(value)) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Before it is cut: half a secret would not be recognised.
  return hideSecrets(text, secrets)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, maxLength)
    .toWellFormed();
}
