// The MCP authorization flow from a client's side, step by step. Each step is a file of its own; this one only says the order.
import { authorize } from './authorize.ts';
import { askWithoutToken, findResourceMetadata } from './discover-resource.ts';
import { findServerMetadata } from './discover-server.ts';
import { exchangeCode, type FoundToken, refreshToken } from './exchange-code.ts';
import { listTools, type Tool } from './list-tools.ts';
import { listenOnLoopback } from './loopback-listener.ts';
import type { Narrator } from './narration.ts';
import { obtainClient } from './obtain-client.ts';
import { revokeSession } from './revoke-session.ts';

interface LoginOptions {
  readonly url: string;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly scope: string | undefined;
  readonly redirectUri: string;
  readonly timeoutMs: number;
  /** Also renews the token, once. */
  readonly refresh: boolean;
  readonly showUrl: (url: string) => Promise<void>;
}

/** The tools, or undefined when a step failed; which one is told. Throws a LoopbackListenError. */
export async function runLogin(narrator: Narrator, options: LoginOptions): Promise<readonly Tool[] | undefined> {
  const { url } = options;
  const first = await askWithoutToken(narrator, url);
  if (first.kind === 'failed') return undefined;
  if (first.kind === 'open') return listTools(narrator, url, undefined, undefined);
  const found = await findResourceMetadata(narrator, url, first.challenge);
  if (found === undefined) return undefined;
  const [issuer] = found.authorizationServers;
  if (found.authorizationServers.length > 1)
    narrator.find('remark', 'Several authorization servers: the first one is used.');
  const server = await findServerMetadata(narrator, issuer ?? new URL(url).origin, issuer === undefined);
  if (server === undefined) return undefined;

  const listener = await listenOnLoopback(options.redirectUri);
  try {
    const { redirectUri } = listener;
    // As MCP says: what the challenge asks for, else everything that the resource knows of.
    const scope = options.scope ?? first.challenge.scope ?? found.scopesSupported?.join(' ');
    const { resource = url } = found;
    const client = await obtainClient(narrator, server, { ...options, scope, redirectUri });
    if (client === undefined) return undefined;
    let token: FoundToken | undefined;
    try {
      const grant = await authorize(narrator, {
        ...options,
        server,
        client,
        listener,
        scope,
        resource,
        isGivenClient: options.clientId !== undefined,
      });
      if (grant === undefined) return undefined;
      token = await exchangeCode(narrator, { server, client, grant, redirectUri, resource });
      if (token === undefined) return undefined;
      const tools = await listTools(narrator, url, token, resource);
      if (tools === undefined || !options.refresh) return tools;
      const renewed = await refreshToken(narrator, { server, client, resource }, token);
      if (renewed === undefined) return undefined;
      token = renewed;
      return await listTools(narrator, url, token, resource);
    } finally {
      const { revocationEndpoint } = server;
      const endsSession = token?.refreshToken !== undefined && revocationEndpoint !== undefined;
      if (endsSession || client.remove !== undefined) {
        const standards = [
          ...(endsSession ? ['RFC 7009 2.1'] : []),
          ...(client.remove === undefined ? [] : ['RFC 7592 2.3']),
        ];
        narrator.begin('Leave nothing behind', standards.join(', '));
        if (endsSession) await revokeSession(narrator, revocationEndpoint, client, token!.refreshToken!);
        await client.remove?.();
      }
    }
  } finally {
    await listener.close();
  }
}
