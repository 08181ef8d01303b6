// The client of a token request (RFC 6749 2.3, 3.2.1). Clients of the gateway are public: they send a client_id and no secret. A Basic header
// with an empty password is accepted as well; a secret that was never issued is refused.
import type { OAuthRequest } from '../oauth-endpoint.ts';
import type { RequestParameters } from '../request-parameters.ts';
import { describeUnknownClient, type TokenError } from './token-answer.ts';

/** The client as it presents itself. */
export interface PresentedClient {
  readonly clientId: string;
  /** The client sent a secret. */
  readonly hasSecret: boolean;
  /** The Authorization header; undefined: none. */
  readonly authorization: string | undefined;
}

type PresentedClientResult =
  | { readonly ok: true; readonly client: PresentedClient }
  | { readonly ok: false; readonly error: TokenError };

/** Reads the client of a token request. */
export function readPresentedClient({ context }: OAuthRequest, form: RequestParameters): PresentedClientResult {
  const { headers } = context.exchange;
  const lines = headers.filter((_, index) => index % 2 === 1 && headers[index - 1]!.toLowerCase() === 'authorization');
  const inForm = form.get('client_id');
  const hasFormSecret = form.names.has('client_secret') || form.names.has('client_assertion');
  const [authorization] = lines;
  if (authorization === undefined) {
    if (inForm !== undefined)
      return { ok: true, client: { clientId: inForm, hasSecret: hasFormSecret, authorization: undefined } };
    return refuse(describeUnknownClient('client_id is missing.', 'no client_id in the token request', false));
  }
  const basic = lines.length === 1 ? readBasic(authorization) : undefined;
  if (basic === undefined || basic.clientId === '')
    return refuse(
      describeUnknownClient('The Authorization header must be Basic with a client_id.', 'not a Basic header', true),
    );
  if ((inForm !== undefined && inForm !== basic.clientId) || hasFormSecret)
    return refuse({
      error: 'invalid_request',
      description: 'Send the client credentials either in the Authorization header or in the body.',
      reason: 'token_request_invalid',
      detail: 'a Basic header beside other client credentials in the body',
    });
  return { ok: true, client: { clientId: basic.clientId, hasSecret: basic.password !== '', authorization } };
}

function refuse(error: TokenError): PresentedClientResult {
  return { ok: false, error };
}

/** RFC 6749 2.3.1: both halves are form-encoded before they are joined. Not all clients do so; a value that does not decode is used unchanged. */
function readBasic(header: string): { readonly clientId: string; readonly password: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+=*)$/i.exec(header.trim())?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  return at === -1 ? undefined : { clientId: decodeFormValue(text.slice(0, at)), password: text.slice(at + 1) };
}

function decodeFormValue(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return value;
  }
}
