// A browser-based MCP client: the current SDK in a page of another origin than the gateway's. The test drives it and reads `#outcome`.
// The login leaves the page, so what the SDK wants kept is in the tab's session storage.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const callbackPath = '/callback';

function load(name) {
  const text = sessionStorage.getItem(name);
  return text === null ? undefined : JSON.parse(text);
}

function save(name, value) {
  if (value === undefined) sessionStorage.removeItem(name);
  else sessionStorage.setItem(name, JSON.stringify(value));
}

const provider = {
  redirectUrl: new URL(callbackPath, location.href).href,
  clientMetadata: {
    client_name: 'Page in Chromium',
    redirect_uris: [new URL(callbackPath, location.href).href],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state() {
    const state = crypto.randomUUID();
    save('state', state);
    return state;
  },
  clientInformation: () => load('client'),
  saveClientInformation: (client) => save('client', client),
  tokens: () => load('tokens'),
  saveTokens(tokens) {
    save('savedTokens', (load('savedTokens') ?? 0) + 1);
    save('tokens', tokens);
  },
  redirectToAuthorization: (url) => location.assign(url),
  saveCodeVerifier: (verifier) => save('verifier', verifier),
  codeVerifier: () => load('verifier'),
  saveDiscoveryState: (state) => save('discovery', state),
  discoveryState: () => load('discovery'),
  invalidateCredentials(scope) {
    if (scope === 'all' || scope === 'client') save('client', undefined);
    if (scope === 'all' || scope === 'tokens') save('tokens', undefined);
    if (scope === 'all' || scope === 'discovery') save('discovery', undefined);
  },
};

const statuses = [];

function open() {
  const transport = new StreamableHTTPClientTransport(new URL(load('url')), {
    authProvider: provider,
    fetch: async (input, init) => {
      // An answer has to begin at some time: the one that does not is named in the outcome.
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new Error(`no answer to ${init?.method ?? 'GET'} ${input}`)), 60_000);
      const signal = AbortSignal.any([late.signal, ...(init?.signal ? [init.signal] : [])]);
      const response = await fetch(input, { ...init, signal }).finally(() => clearTimeout(timer));
      statuses.push(`${init?.method ?? 'GET'} ${new URL(input).pathname} ${response.status}`);
      save('statuses', [...(load('statuses') ?? []), statuses.at(-1)]);
      return response;
    },
  });
  return { transport, client: new Client({ name: 'page', version: '1.0.0' }) };
}

async function convert(client, value) {
  const { content } = await client.callTool({ name: 'convert_units', arguments: { value, from: 'km', to: 'm' } });
  return content.map(({ text }) => text ?? '').join('\n');
}

async function begin(url) {
  sessionStorage.clear();
  save('url', url);
  const { client, transport } = open();
  try {
    await client.connect(transport);
  } catch (error) {
    // On its way to the login page.
    if (error instanceof UnauthorizedError) return undefined;
    throw error;
  }
  throw new Error('let in without a login');
}

async function finish(query) {
  if (query.get('state') !== load('state')) throw new Error('the state is not the one that was sent');
  if (query.has('error')) throw new Error(`${query.get('error')} ${query.get('error_description') ?? ''}`);
  await open().transport.finishAuth(query);
  const { client, transport } = open();
  await client.connect(transport);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const first = await convert(client, 2);
  const before = load('tokens');
  const outcome = { tools, first };
  if (before.refresh_token !== undefined) {
    // As if it had expired: the next request is refused, and the client has to refresh.
    save('tokens', { ...before, access_token: `${before.access_token.slice(0, -8)}AAAAAAAA` });
    outcome.second = await convert(client, 3);
    outcome.isNewToken = load('tokens').access_token !== before.access_token;
  }
  await transport.terminateSession();
  await client.close();
  return { ...outcome, savedTokens: load('savedTokens'), statuses: load('statuses') };
}

function show(outcome) {
  document.querySelector('#outcome').textContent = JSON.stringify(outcome);
  document.body.dataset.state = 'done';
}

const query = new URLSearchParams(location.search);
try {
  const outcome = location.pathname === callbackPath ? await finish(query) : await begin(query.get('url'));
  if (outcome !== undefined) show(outcome);
} catch (error) {
  show({ error: `${error.name}: ${error.message}`, statuses: load('statuses') ?? [] });
}
