// Recognises the answer of an authorization endpoint that refuses a redirect URI: a page, since it must not redirect there (RFC 6749 4.1.2.1).
import { readJsonObject } from '../base/json-object.ts';

/** "Invalid parameter: redirect_uri", "Unregistered redirect_uri", `{"error": "invalid_redirect_uri"}`, AADSTS50011... */
export function isAboutRedirectUri(status: number, body: string): boolean {
  if (/AADSTS50011\b/.test(body)) return true;
  if (status < 400 || status >= 500) return false;
  const json = readJsonObject(body);
  const text = json.ok ? `${String(json.value['error'])} ${String(json.value['error_description'])}` : body;
  return /redirect[_ -]?ur[il]|callback url/i.test(text);
}
