// The REST API of the identity provider like GitHub: who somebody is, their email addresses, their organizations.
import type { GithubAccount, GithubAnswer, GithubCall, GithubGrant, GithubState } from './github-state.ts';
import type { WrongAnswer } from './quirks.ts';

/** The paths at GitHub Enterprise Server; GitHub itself has them at a host of their own. */
export const githubApi = {
  user: '/api/v3/user',
  emails: '/api/v3/user/emails',
  organizations: '/api/v3/user/orgs',
} as const;

/** Too many requests of one person: an hour's worth is used up. */
export const rateLimitExceeded: WrongAnswer = {
  status: 403,
  headers: {
    'content-type': 'application/json',
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Math.ceil(Date.now() / 1_000) + 60),
  },
  body: '{"message":"API rate limit exceeded for user ID 583231.","documentation_url":"https://docs.github.com/rest"}',
};

/** Too many at once: the secondary rate limit. */
export const secondaryRateLimitExceeded: WrongAnswer = {
  status: 429,
  headers: { 'content-type': 'application/json', 'retry-after': '7' },
  body: '{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}',
};

/** Answers for the paths of the API; undefined for others. */
export function answerApi(state: GithubState, call: GithubCall): GithubAnswer | undefined {
  const { switches } = state;
  switch (call.path) {
    case githubApi.user:
      return switches.userAnswer ?? answerAbout(state, call, describeUser);
    case githubApi.emails:
      return (
        switches.emailsAnswer ??
        answerAbout(state, call, ({ emails }, grant) =>
          mayRead(state, grant, ['user:email', 'user'])
            ? answerJson(
                200,
                emails.map((each) => ({ ...each, visibility: each.primary ? 'private' : null })),
              )
            : forbidden,
        )
      );
    case githubApi.organizations:
      return (
        switches.organizationsAnswer ??
        answerAbout(state, call, (account, grant) =>
          mayRead(state, grant, ['read:org', 'user']) ? answerPage(state, call, account) : forbidden,
        )
      );
    default:
      return undefined;
  }
}

/** The members that GitHub has, as far as anybody here reads them; `email` is the public one, which most people do not have. */
function describeUser({ id, login, name }: GithubAccount): GithubAnswer {
  return answerJson(200, {
    login,
    id,
    node_id: 'MDQ6VXNlcg==',
    type: 'User',
    site_admin: false,
    name,
    company: null,
    email: null,
  });
}

function answerAbout(
  state: GithubState,
  { method, headers }: GithubCall,
  describe: (account: GithubAccount, grant: GithubGrant) => GithubAnswer,
): GithubAnswer {
  if (method !== 'GET') return answerJson(404, { message: 'Not Found' });
  // It refuses whoever does not say what program it is.
  if ((headers['user-agent'] ?? '') === '') {
    return {
      status: 403,
      headers: { 'content-type': 'text/html' },
      body: 'Request forbidden by administrative rules. Please make sure your request has a User-Agent header.',
    };
  }
  const token = /^(?:Bearer|token) (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  const grant = state.tokens.get(token);
  const account = grant === undefined ? undefined : state.accounts.get(grant.user);
  if (grant === undefined || account === undefined) return answerJson(401, { message: 'Bad credentials' });
  return describe(account, grant);
}

const forbidden = answerJson(403, {
  message: 'You need at least read:org scope or user scope to list your organizations.',
});

/** Apps have permissions in place of scopes; here they have those that they need. */
function mayRead({ app }: GithubState, { scopes }: GithubGrant, sufficient: readonly string[]): boolean {
  return app.kind === 'App' || sufficient.some((scope) => scopes.includes(scope));
}

function answerPage({ origin }: GithubState, { path, query }: GithubCall, account: GithubAccount): GithubAnswer {
  const size = Math.min(Number(query.get('per_page') ?? 30), 100);
  const page = Number(query.get('page') ?? 1);
  const last = Math.max(1, Math.ceil(account.organizations.length / size));
  const shown = account.organizations.slice((page - 1) * size, page * size);
  const link = (to: number, rel: string): string => `<${origin}${path}?per_page=${size}&page=${to}>; rel="${rel}"`;
  const links = page < last ? [link(page + 1, 'next'), link(last, 'last')] : page > 1 ? [link(page - 1, 'prev')] : [];
  return answerJson(
    200,
    shown.map((login, index) => ({ login, id: page * 1_000 + index, description: '' })),
    links.length === 0 ? {} : { link: links.join(', ') },
  );
}

function answerJson(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): GithubAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
  };
}
