// Words of an IdP on their way to clients and logs. Some repeat what they were sent; a secret of the gateway stays one, whoever repeats it.

/** Shorter ones are no secrets, and would cut words to pieces. */
const minLength = 4;

/** The text without anything that equals one of the secrets: as it is, encoded for a URL or a form, or inside of a Basic header. */
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
