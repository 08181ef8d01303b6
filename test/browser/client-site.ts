// Where a login ends: the address that a client waits at, as a site that shows what it was sent. And a site of somebody who means harm.
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createCertificate } from '../self-signed-certificate.ts';

/** A site that runs. */
export interface Site {
  readonly port: number;
  close(): Promise<void>;
}

/** A site on a free loopback port. With `tlsFor` it speaks TLS, with a certificate for that name that nobody else trusts. */
export async function startSite(html: string | (() => string), tlsFor?: string): Promise<Site> {
  const answer: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(typeof html === 'string' ? html : html());
  };
  const server =
    tlsFor === undefined ? createServer(answer) : createTlsServer(createCertificate({ names: [tlsFor] }), answer);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What the sites of clients show. */
export const clientHtml =
  '<!doctype html><html lang="en"><title>The client</title><link rel="icon" href="data:,"><h1>Back at the client</h1>';

/** The first message of an MCP session. */
export const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
