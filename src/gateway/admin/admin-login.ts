// The token that the admin port of a deployed gateway requires: neither other programs in the same pod nor a backend may read its pages.
// Programs send it as a bearer token; a browser logs in with it once and gets a cookie that no other site can send along (SameSite=Strict).
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ownCookiePrefix } from '../http/own-cookies.ts';
import { answerPage } from './page-frame.ts';
import { answerError, type PlainAnswer, type PlainPages } from './plain-server.ts';

/** One of the gateway's own: every port of the host gets it, and none goes on to a server. */
const cookieName = `${ownCookiePrefix}admin`;
const lifetimeSeconds = 8 * 3_600;
const loginPath = '/login';

interface AdminLogin {
  /** The answer in place of the page; undefined: the request may pass. */
  readonly check: (path: string, headers: IncomingHttpHeaders) => PlainAnswer | undefined;
  readonly pages: PlainPages;
}

/** Makes it for a token. */
export function createAdminLogin(token: string): AdminLogin {
  // Not the token itself: the cookie in a browser is of no use anywhere else.
  const ticket = createHmac('sha256', token).update('admin cookie').digest('base64url');
  return {
    check(path, headers) {
      if (path === loginPath) return undefined;
      const sent = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
      if (sent !== undefined) return isSame(sent, token) ? undefined : refuse('The token is not that of this gateway.');
      if (readCookies(headers.cookie).some((each) => isSame(each, ticket))) return undefined;
      if (/\btext\/html\b/.test(headers.accept ?? '')) return { ...showLogin(''), status: 401 };
      return refuse('The admin port asks for the token of this gateway: Authorization: Bearer TOKEN.');
    },
    pages: {
      [loginPath]: {
        GET: () => showLogin(''),
        POST: ({ body }) => {
          const sent = new URLSearchParams(body).get('token')?.trim() ?? '';
          if (!isSame(sent, token)) return { ...showLogin('That is not the token of this gateway.'), status: 401 };
          const cookie = `${cookieName}=${ticket}; Path=/; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Strict`;
          const headers = { location: '/', 'set-cookie': cookie };
          return { status: 303, contentType: 'text/plain', body: '', headers };
        },
      },
    },
  };
}

function refuse(description: string): PlainAnswer {
  return { ...answerError(401, 'admin_token_needed', description), headers: { 'www-authenticate': 'Bearer' } };
}

function showLogin(problem: string): PlainAnswer {
  return answerPage(
    'mcp-gatehouse admin',
    `<h1>mcp-gatehouse admin</h1>
<p>${problem === '' ? 'These pages ask for the token of this gateway.' : problem}</p>
<form method="post" action="${loginPath}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" required autofocus>
<button>Log in</button>
</form>
<p class="soft">In a cluster: <code>kubectl exec -n NAMESPACE deploy/NAME -- mcp-gatehouse admin-token</code></p>`,
  );
}

function readCookies(header: string | undefined): readonly string[] {
  return (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${cookieName}=`))
    .map((pair) => pair.slice(cookieName.length + 1));
}

function isSame(left: string, right: string): boolean {
  const [one, other] = [left, right].map((text) => createHmac('sha256', 'compare').update(text).digest());
  return timingSafeEqual(one!, other!);
}
