// What the identity provider like GitHub knows and keeps, its switches, and the shape of its answers.
import type { IncomingHttpHeaders } from 'node:http';
import type { WrongAnswer } from './quirks.ts';

/** The application that an operator made there. */
export interface GithubApp {
  /** Tokens of an OAuth app do not expire; those of an App live 8 hours and come with refresh tokens that rotate. */
  readonly kind: 'OAuth app' | 'App';
  readonly clientId: string;
  readonly clientSecret: string;
  /** The authorization callback URL. */
  readonly callback: string;
}

/** Faults. A test may turn them while the server runs. */
export interface GithubSwitches {
  authorizeAnswer: WrongAnswer | undefined;
  tokenAnswer: WrongAnswer | undefined;
  refreshAnswer: WrongAnswer | undefined;
  userAnswer: WrongAnswer | undefined;
  emailsAnswer: WrongAnswer | undefined;
  organizationsAnswer: WrongAnswer | undefined;
}

/** Somebody's account. */
export interface GithubAccount {
  readonly id: number;
  /** People change it, and others may take it then. */
  login: string;
  name: string | null;
  emails: readonly { readonly email: string; readonly primary: boolean; readonly verified: boolean }[];
  organizations: readonly string[];
}

/** What somebody agreed to. */
export interface GithubGrant {
  readonly user: string;
  readonly scopes: readonly string[];
  /** Tokens that follow one another by refreshing have the same one. */
  readonly family?: string;
}

/** All of it. */
export interface GithubState {
  readonly origin: string;
  readonly app: GithubApp;
  readonly switches: GithubSwitches;
  /** By the name that logs in. */
  readonly accounts: Map<string, GithubAccount>;
  readonly codes: Map<
    string,
    GithubGrant & { readonly redirectUri: string | undefined; readonly challenge: string | undefined }
  >;
  readonly tokens: Map<string, GithubGrant>;
  readonly refresh: Map<string, GithubGrant>;
}

/** A request, read. */
export interface GithubCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An answer. */
export type GithubAnswer = WrongAnswer;

/** Where people log in and applications get tokens. */
export const githubPaths = {
  authorize: '/login/oauth/authorize',
  session: '/session',
  token: '/login/oauth/access_token',
} as const;

/** The accounts of the people in test-users.ts. */
export function createAccounts(): Map<string, GithubAccount> {
  const describe = (user: string, id: number, organizations: readonly string[]): [string, GithubAccount] => [
    user,
    {
      id,
      login: `${user}-hub`,
      name: `${user.charAt(0).toUpperCase()}${user.slice(1)} Example`,
      emails: [
        { email: `${user}@users.noreply.example.org`, primary: false, verified: true },
        { email: `${user}@example.com`, primary: true, verified: true },
      ],
      organizations,
    },
  ];
  // Pages have a hundred at most: the one that counts is not on the first.
  const many = Array.from({ length: 101 }, (_, index) => `org-${index}`);
  return new Map([describe('alice', 583_231, [...many, 'acme']), describe('bob', 583_232, ['other-org'])]);
}

/** Always 200, also for errors; JSON only for whoever asks for it. */
export function answerForm({ headers }: GithubCall, members: Readonly<Record<string, string | number>>): GithubAnswer {
  const isJson = /\bapplication\/json\b/.test(headers.accept ?? '');
  return {
    status: 200,
    headers: {
      'content-type': isJson ? 'application/json; charset=utf-8' : 'application/x-www-form-urlencoded; charset=utf-8',
    },
    body: isJson
      ? JSON.stringify(members)
      : new URLSearchParams(Object.entries(members).map(([name, value]) => [name, String(value)])).toString(),
  };
}
