// Redacts the gateway's secrets in texts of an IdP before they reach clients and logs: some IdPs echo what they were sent.

/** Shorter values are no secrets, and redacting them would damage ordinary words. */
const minLength = 4;

/** Removes the secrets from a text: in plain form, URL- or form-encoded, or as part of a Basic header. */
export function hideSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret === undefined || secret.length < minLength) continue;
    for (const spelling of spellSecret(secret)) clean = clean.replaceAll(spelling, '[hidden]');
  }
  return clean;
}

function spellSecret(secret: string): ReadonlySet<string> {
  const form = new URLSearchParams({ v: secret }).toString().slice(2);
  const bytes = Buffer.from(secret);
  return new Set([secret, form, encodeURIComponent(secret), bytes.toString('base64'), bytes.toString('base64url')]);
}
