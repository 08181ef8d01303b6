// Python MCP clients with their own OAuth code behind the same interface as the SDK clients.
import { BrowserAgent } from '../idp/browser-agent.ts';
import type { AuthClientLibrary, AuthConnectOptions, AuthedClient, ClientRequest } from '../idp/sdk-auth-clients.ts';
import type { PythonEvent, PythonProgram } from './python-program.ts';

/** For createPythonProgram. */
export const pythonAuthClientScript = 'python_auth_client.py';

/** A Python library as a client library. */
export function createPythonAuthLibrary(program: PythonProgram, version: string): AuthClientLibrary {
  const name = `Python mcp ${version}`;
  return { name, connect: (options) => connect(program, name, options) };
}

type AuthEvent = PythonEvent &
  (
    | { readonly event: 'request'; readonly method: string; readonly url: string; readonly status: number }
    | { readonly event: 'authorize'; readonly url: string }
  );

async function connect(program: PythonProgram, name: string, options: AuthConnectOptions): Promise<AuthedClient> {
  const { url, browser = new BrowserAgent(), person = {}, redirectUri = 'http://127.0.0.1:33420/callback' } = options;
  const requests: ClientRequest[] = [];
  const client = program.addClient((event) => {
    const heard = event as AuthEvent;
    if (heard.event === 'request') {
      requests.push({ method: heard.method, url: heard.url, status: heard.status });
      return;
    }
    browser.authorize(heard.url, redirectUri, person).then(
      (callback) => client.tell('callback', { url: callback.href }),
      (error: unknown) => client.fail(error as Error),
    );
  });
  await client.ask('connect', { url, redirect_uri: redirectUri, name });
  return {
    requests,
    pages: browser.pages,
    readTokens: async () => (await client.ask('tokens')) as { accessToken: string; saved: number },
    listTools: async () => (await client.ask('list')) as string[],
    callTool: async (tool, args) => (await client.ask('call', { name: tool, args })) as string,
    spoilAccessToken: async () => void (await client.ask('spoil')),
    close: async () => void (await client.ask('close')),
  };
}
