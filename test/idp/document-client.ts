// A client that behaves as Claude Code does: it has a metadata document of its own and uses it wherever documents are offered. Here nobody can fetch it: the gateway
// has no way out. Its first login ends at a page that says so; then documents are not offered, and the second login registers.
import assert from 'node:assert/strict';
import { BrowserBlockedError } from './browser-agent.ts';
import type { AuthClientLibrary } from './sdk-auth-clients.ts';

/** A name that no resolver knows (RFC 6761). */
const metadataUrl = 'https://client.invalid/oauth/client-metadata.json';

/** A library with such a document. */
export function withUnreachableDocument(library: AuthClientLibrary): AuthClientLibrary {
  return {
    name: `${library.name} with a metadata document, no egress`,
    async connect(options) {
      const asked = { ...options, metadataUrl, clientName: 'A client with a document' };
      if (await offersDocuments(options.url)) {
        await assert.rejects(library.connect(asked), (error: unknown) => {
          assert.ok(error instanceof BrowserBlockedError, String(error));
          assert.match(error.message, /client\.invalid/, 'the page names the host');
          return true;
        });
        assert.equal(await offersDocuments(options.url), false, 'documents are not offered any more');
      }
      const client = await library.connect(asked);
      assert.ok(
        client.requests.some(({ method, url }) => method === 'POST' && /\/reg(ister|istrations)?\b/.test(url)),
        'it registered',
      );
      return client;
    },
  };
}

/** Whether clients of this server are offered to use their documents. */
export async function offersDocuments(url: string): Promise<boolean> {
  const { origin, pathname } = new URL(url);
  const answer = await fetch(`${origin}/.well-known/oauth-authorization-server${pathname}`);
  if (!answer.ok) return false;
  const metadata = (await answer.json()) as { readonly client_id_metadata_document_supported?: boolean };
  return metadata.client_id_metadata_document_supported === true;
}
