// The people who log in at the test identity providers, and the pages that they see there.

/** Somebody with a password. */
export interface TestUser {
  readonly id: string;
  readonly password: string;
  readonly groups: readonly string[];
}

/** Two of them. */
export const testUsers: readonly TestUser[] = [
  { id: 'alice', password: 'wonder', groups: ['support'] },
  { id: 'bob', password: 'builder', groups: ['sales'] },
];

/** The user with this name and password. */
export function findUser(name: string | null, password: string | null): TestUser | undefined {
  return testUsers.find((user) => user.id === name && user.password === password);
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character]!);
}

/** A page that asks for name and password. */
export function renderLoginPage(action: string, problem = ''): string {
  return `<!doctype html><title>Log in</title><h1>Log in</h1><p>${escapeHtml(problem)}</p>
<form method="post" action="${escapeHtml(action)}">
<input name="username"><input name="password" type="password">
<button name="decision" value="login">Log in</button><button name="decision" value="cancel">Cancel</button>
</form>`;
}

/** A page that asks whether the client may have what it asks for. */
export function renderIdpConsentPage(action: string, client: string, scope: string): string {
  return `<!doctype html><title>Allow access</title><h1>${escapeHtml(client)} asks for ${escapeHtml(scope)}</h1>
<form method="post" action="${escapeHtml(action)}">
<button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button>
</form>`;
}
