// Identity providers with presets: what is known of them before anybody asks them. What is special about their protocols is in the presets of the gateway.

interface IdentityProvider {
  readonly name: string;
  /** The same for everybody; absent: each customer has another one. */
  readonly issuer?: string;
  /** Only the identity provider itself can check its access tokens: flow Auto means Issuer, and no other flow works. */
  readonly hasOpaqueTokens?: true;
  /** OAuth 2.0 only: no metadata, no ID tokens, no keys. */
  readonly lacksOpenId?: true;
}

const table = [
  { name: 'Keycloak' },
  { name: 'Auth0' },
  { name: 'Okta' },
  { name: 'Entra' },
  { name: 'Descope' },
  { name: 'Authentik' },
  { name: 'Google', issuer: 'https://accounts.google.com', hasOpaqueTokens: true },
  { name: 'GitHub', issuer: 'https://github.com', hasOpaqueTokens: true, lacksOpenId: true },
  // One's own GitLab has its own issuer.
  { name: 'GitLab', issuer: 'https://gitlab.com', hasOpaqueTokens: true },
  { name: 'Dex' },
  { name: 'Spring' },
] as const satisfies readonly IdentityProvider[];

/** What a policy can name as `provider`. */
export type IdentityProviderName = (typeof table)[number]['name'];

const rows: readonly (IdentityProvider & { readonly name: IdentityProviderName })[] = table;

/** Identity providers with presets. */
export const identityProviders: readonly IdentityProviderName[] = rows.map(({ name }) => name);

/** Those that need no `issuer`. */
export const providersWithIssuer = listProviders(({ issuer }) => issuer !== undefined);

/** Those whose access tokens only they can check. */
export const providersWithOpaqueTokens = listProviders(({ hasOpaqueTokens }) => hasOpaqueTokens === true);

/** Those without OpenID Connect. */
export const providersWithoutOpenId = listProviders(({ lacksOpenId }) => lacksOpenId === true);

function listProviders(matches: (row: IdentityProvider) => boolean): readonly IdentityProviderName[] {
  return rows.filter(matches).map(({ name }) => name);
}

/** The fields that say how people log in, and where. */
interface LoginFields {
  readonly flow: string;
  readonly provider?: IdentityProviderName | undefined;
  readonly issuer?: string | undefined;
  readonly endpoints?: { readonly authorization: string } | undefined;
}

/** Whether the gateway issues the tokens: flow Issuer, or Auto where no other flow works. */
export function issuesTokens({ flow, provider }: Pick<LoginFields, 'flow' | 'provider'>): boolean {
  return (
    flow === 'Issuer' || (flow === 'Auto' && provider !== undefined && providersWithOpaqueTokens.includes(provider))
  );
}

/** The same as a CEL expression over an MCP authentication. */
export const issuesTokensInCel = `(self.flow == 'Issuer' || (self.flow == 'Auto' && has(self.provider) && self.provider in ${spellNames(providersWithOpaqueTokens)}))`;

/** Names as a list in CEL. */
export function spellNames(names: readonly string[]): string {
  return `['${names.join("', '")}']`;
}

/** The issuer that a policy names, or the one that its provider always has; empty: neither, which the schema refuses. */
export function findIssuer({ issuer, provider }: Pick<LoginFields, 'issuer' | 'provider'>): string {
  return issuer ?? rows.find(({ name }) => name === provider)?.issuer ?? '';
}

/** Tenants of Entra that everybody belongs to or can join; the last one is that of personal accounts. */
const publicTenants = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad'];

/** Identity providers where anybody can get an account, by their hosts; `tenants`: only under these first segments of the path. */
const publicHosts: readonly {
  readonly hosts: readonly string[];
  readonly account: string;
  readonly tenants?: readonly string[];
}[] = [
  { hosts: ['accounts.google.com'], account: 'a Google account' },
  { hosts: ['github.com', 'www.github.com'], account: 'a GitHub account' },
  { hosts: ['gitlab.com', 'www.gitlab.com'], account: 'a GitLab account' },
  {
    // Those of other clouds, of version 1 and of former years lead to the same tenants.
    hosts: [
      'login.microsoftonline.com',
      'login.microsoftonline.us',
      'login.partner.microsoftonline.cn',
      'login.chinacloudapi.cn',
      'login.microsoft.com',
      'login.windows.net',
      'sts.chinacloudapi.cn',
      'sts.microsoftonline.us',
      'sts.windows.net',
    ],
    account: 'a Microsoft account',
    tenants: publicTenants,
  },
];

/** The account that suffices to log in, where anybody can get one: "a Google account". Undefined: only the operator's people have one. */
export function findPublicAccount(login: Omit<LoginFields, 'flow'>): string | undefined {
  // There is only one Google; others of the table are also run by companies for themselves.
  if (login.provider === 'Google') return 'a Google account';
  const urls = [findIssuer(login), login.endpoints?.authorization ?? ''].flatMap((text) => URL.parse(text) ?? []);
  return publicHosts.find(({ hosts, tenants }) =>
    urls.some(
      ({ hostname, pathname }) =>
        hosts.includes(hostname.replace(/\.$/, '')) &&
        (tenants === undefined || tenants.includes(readTenant(pathname))),
    ),
  )?.account;
}

/** What every token of the gateway has, whoever it is about. */
const impersonalClaims: ReadonlySet<string> = new Set(['iss', 'aud', 'exp', 'iat', 'jti', 'client_id', 'scope', 'idp']);

/** Whether an authentication by itself lets in only some of those who can log in. */
export function saysWhoGetsIn(
  authentication: Pick<LoginFields, 'flow' | 'provider'> & {
    readonly identity?: { readonly allow?: unknown } | undefined;
    readonly requiredClaims?: object | undefined;
  },
): boolean {
  const { identity, requiredClaims = {} } = authentication;
  if (identity?.allow !== undefined) return true;
  const isPersonal = (name: string): boolean => !issuesTokens(authentication) || !impersonalClaims.has(name);
  return Object.keys(requiredClaims).some(isPersonal);
}

/** The first segment of a path, as a server reads it. */
function readTenant(pathname: string): string {
  const tenant = pathname.split('/').find((segment) => segment !== '') ?? '';
  try {
    return decodeURIComponent(tenant).toLowerCase();
  } catch {
    return tenant.toLowerCase();
  }
}
