// A client_id: the one that the user brought, the URL of a metadata document (CIMD), or a registration (RFC 7591).
import type { FoundServer } from './discover-server.ts';
import type { Narrator } from './narration.ts';
import { endSentence, joinSaid } from './sentence.ts';
import { fetchTold, readJsonObject, readString, readStrings, showRequestId } from './told-fetch.ts';

/** What the user brought. */
interface ClientChoice {
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly redirectUri: string;
  readonly scope: string | undefined;
}

export interface OAuthClient {
  readonly id: string;
  readonly secret: string | undefined;
  /** How it proves itself at the token endpoint (RFC 6749 2.3). */
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post';
  /** Removes the registration (RFC 7592), when the server offers it. */
  readonly remove: (() => Promise<void>) | undefined;
}

/** Step 4. */
export async function obtainClient(
  narrator: Narrator,
  server: FoundServer,
  choice: ClientChoice,
): Promise<OAuthClient | undefined> {
  if (choice.clientId !== undefined) return useGivenClient(narrator, server, choice.clientId, choice.clientSecret);
  narrator.begin('Registration', 'RFC 7591 3');
  if (server.takesMetadataDocuments) {
    narrator.find(
      'good',
      'Clients with a metadata document need no registration here. This one has none; it registers.',
    );
  }
  if (server.registrationEndpoint === undefined) {
    narrator.find(
      'bad',
      'The server takes no registrations.',
      'Use a client that is registered already: --client-id ID [--client-secret-file PATH], with this redirect URI: --redirect-uri URL.',
    );
    return undefined;
  }
  return register(narrator, server, server.registrationEndpoint, choice);
}

function useGivenClient(narrator: Narrator, server: FoundServer, id: string, secret: string | undefined): OAuthClient {
  const isDocument = id.startsWith('https://');
  narrator.begin(
    isDocument ? 'Client metadata document' : 'Client that is registered already',
    isDocument ? 'draft-ietf-oauth-client-id-metadata-document' : 'RFC 6749 2',
  );
  if (isDocument && !server.takesMetadataDocuments) {
    narrator.find(
      'remark',
      'The server does not say that it takes such documents (`client_id_metadata_document_supported`).',
    );
  } else narrator.find('good', isDocument ? 'The client_id is the URL of its metadata.' : 'Used as given.');
  narrator.show('client_id', shortenId(id));
  const offersBasic = server.tokenAuthMethods?.includes('client_secret_basic') ?? true;
  return {
    id,
    secret,
    method: secret === undefined ? 'none' : offersBasic ? 'client_secret_basic' : 'client_secret_post',
    remove: undefined,
  };
}

async function register(
  narrator: Narrator,
  server: FoundServer,
  endpoint: string,
  choice: ClientChoice,
): Promise<OAuthClient | undefined> {
  const methods = server.tokenAuthMethods ?? ['client_secret_basic'];
  const wanted = methods.includes('none') ? 'none' : (methods.find(isKnownMethod) ?? 'none');
  const asked = await fetchTold(narrator, endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({
      client_name: 'mcp-gatehouse login',
      redirect_uris: [choice.redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: wanted,
      ...(choice.scope !== undefined && { scope: choice.scope }),
    }),
    note: `redirect_uris ${choice.redirectUri}, ${wanted}`,
  });
  if (!asked.ok) {
    narrator.find('bad', `No registration: ${endSentence(asked.problem)}`, asked.advice);
    return undefined;
  }
  const { status, text } = asked.answer;
  const document = readJsonObject(text);
  if (status !== 201 && status !== 200) {
    const error = readString(document, 'error');
    const said = joinSaid(error, readString(document, 'error_description'));
    narrator.find(
      'bad',
      endSentence(`The registration was refused${said === '' ? '' : `: ${said}`}`),
      adviseOnRefusal(status, error),
    );
    showRequestId(narrator, document);
    return undefined;
  }
  if (status === 200) narrator.find('remark', '200 instead of 201; clients accept it.');
  const id = readString(document, 'client_id');
  if (id === undefined) {
    narrator.find('bad', 'The answer has no client_id.', 'A registration must have one (RFC 7591 3.2.1).');
    return undefined;
  }
  narrator.find('good', 'Registered.');
  narrator.show('client_id', shortenId(id));
  const answered = readString(document, 'token_endpoint_auth_method') ?? wanted;
  const redirects = readStrings(document, 'redirect_uris');
  if (redirects !== undefined && !redirects.includes(choice.redirectUri)) {
    narrator.find('remark', `The registered redirect_uris are others: ${redirects.join(' ')}`);
  }
  const secret = readString(document, 'client_secret');
  const method = isKnownMethod(answered) ? answered : 'none';
  if (answered !== wanted) narrator.show('token_endpoint_auth_method', answered);
  if (secret !== undefined && method === 'none') {
    narrator.find('remark', 'A public client was given a secret. It is not used.');
  }
  return { id, secret: method === 'none' ? undefined : secret, method, remove: offerRemoval(narrator, document) };
}

/** RFC 7592: the registrant can delete the client, so that a trial leaves nothing behind. */
function offerRemoval(
  narrator: Narrator,
  document: Readonly<Record<string, unknown>> | undefined,
): (() => Promise<void>) | undefined {
  const uri = readString(document, 'registration_client_uri');
  const token = readString(document, 'registration_access_token');
  if (uri === undefined || token === undefined || URL.parse(uri)?.protocol.startsWith('http') !== true)
    return undefined;
  return async () => {
    const asked = await fetchTold(narrator, uri, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } });
    if (asked.ok && (asked.answer.status === 204 || asked.answer.status === 200)) {
      narrator.find('good', 'The registration is removed.');
    } else narrator.find('remark', 'The registration could not be removed; it stays at the authorization server.');
  };
}

function adviseOnRefusal(status: number, error: string | undefined): string {
  if (error === 'invalid_redirect_uri')
    return 'The server wants other redirect URIs: try --redirect-uri http://localhost:8976/callback';
  if (status === 401 || status === 403 || error === 'access_denied') {
    return 'The identity provider does not let this server register clients: its initial access token is missing, expired or used up, the client that should get one is not accepted, or registrations are restricted. Its operator can mend that (mcp-gatehouse check --online --try-registration), or give you a client: --client-id ID';
  }
  if (status === 429) return 'Too many registrations. Wait a little.';
  if (status >= 500) return 'The authorization server is in trouble. Its log may say more.';
  return status === 404
    ? 'Nothing is at the registration_endpoint of the metadata.'
    : 'Use a client that is registered already: --client-id ID';
}

function isKnownMethod(method: string): method is OAuthClient['method'] {
  return method === 'none' || method === 'client_secret_basic' || method === 'client_secret_post';
}

/** A client_id is no secret, but a sealed one fills the screen. */
function shortenId(id: string): string {
  return id.length <= 64 ? id : `${id.slice(0, 24)}... (${id.length} characters)`;
}
