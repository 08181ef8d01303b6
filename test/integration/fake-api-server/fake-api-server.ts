// A Kubernetes API server in one process, for tests: real HTTP(S), objects of any kind in memory, and every fault on demand.
//
//   const cluster = await startFakeApiServer(context);                  // stops with the test (TestContext of node:test)
//   const client = cluster.connect();                                   // a KubernetesClient of src/kubernetes, named mcp-gateway-controller
//   cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata: {...} }); // as an administrator: creates or replaces, status included, returns what is stored
//   cluster.change('Gateway', 'default/web', (gateway) => { ... });     // edits in place; cluster-scoped: 'name'
//   cluster.find('Gateway', 'default/web');  cluster.list('Gateway');  cluster.delete('Gateway', 'default/web');
//   cluster.requests                                                    // every request: verb, kind, namespace, name, body, headers
//   cluster.reviewToken = ({ token, audiences }) => ({ authenticated: true, audiences, user: { username: ... } });
//   cluster.inject({ verb: 'update', kind: 'Gateway', fault: { type: 'status', code: 409 } });  // next one; times: n; see fault.ts
//   cluster.watches.drop() / .end() / .silence() / .sendBookmarks()     // see watch-hub.ts
//   cluster.expireHistory('status' | 'event')                           // watches from before now get 410 Gone
//   cluster.install(type, versions) / cluster.uninstall('HTTPRoute')    // as creating and deleting a CRD
//   cluster.stopServing('HTTPRoute')                                    // as `served: false` in a CRD; install(type) serves it again
//   await cluster.goAway(); await cluster.comeBack();                   // a restart, on the same port
//
// Like the real one: resourceVersions and their conflicts, generation, no event for a write that changes nothing, status as a subresource, finalizers,
// limit and continue, label and field selectors, PartialObjectMetadata, several versions of a kind, preconditions of DELETE, dryRun=All,
// server-side apply with field managers (lists are atomic), TokenReview. Unlike it: no admission, schemas, defaults or RBAC, no garbage
// collection by itself (collectGarbage), and namespaces need not exist.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createAuthority, createCertificate } from '../../self-signed-certificate.ts';
import type { KubernetesClient, KubernetesObject } from '../../../src/kubernetes/client.ts';
import { createRestClient } from '../../../src/kubernetes/rest-client.ts';
import type { ResourceType } from '../../../src/kubernetes/resource-type.ts';
import { FaultList, type FaultRule, type SeenRequest } from './fault.ts';
import { ObjectStore } from './object-store.ts';
import { listDefaultKinds, serveType, type ServedKind } from './served-kind.ts';
import { ContinueTokens, parsePath, readVerb, serveResource } from './serve-request.ts';
import { StatusError, writeStatus } from './status-error.ts';
import { WatchHub } from './watch-hub.ts';

/** What a TokenReview asks. */
export interface TokenReviewSpec {
  readonly token: string;
  readonly audiences?: readonly string[];
}

export interface FakeApiServerOptions {
  /** HTTPS with a certificate of an authority of its own. */
  readonly tls?: boolean;
  /** With tls: client certificates of this authority are asked for and required. */
  readonly clientAuthority?: string;
  /** Without these kinds. */
  readonly without?: readonly string[];
}

export interface FakeApiServer {
  readonly url: string;
  /** PEM of the authority that signed the server's certificate; undefined without tls. */
  readonly authority: string | undefined;
  readonly requests: readonly SeenRequest[];
  readonly watches: WatchHub;
  /** TCP connections that are open. */
  readonly connections: number;
  /** Set: requests without `authorization: Bearer <one of these>` get 401. */
  acceptedTokens: ReadonlySet<string> | undefined;
  /** Who clients are, for SelfSubjectReviews. */
  clientUsername: string;
  /** Answers TokenReviews. */
  reviewToken: (spec: TokenReviewSpec) => object;
  connect(name?: string): KubernetesClient;
  put(object: object): KubernetesObject;
  change(kind: string, name: string, edit: (draft: MutableObject) => void): KubernetesObject;
  find(kind: string, name: string): KubernetesObject | undefined;
  list(kind: string): readonly KubernetesObject[];
  delete(kind: string, name: string): void;
  /** Deletes a namespace and all that is in it. */
  deleteNamespace(name: string): void;
  /** Deletes what is owned by objects that are gone, until nothing is left to delete. */
  collectGarbage(): void;
  inject(rule: FaultRule): () => void;
  expireHistory(form?: 'status' | 'event'): void;
  expireContinueTokens(): void;
  install(type: ResourceType, versions?: readonly string[]): void;
  isInstalled(kind: string): boolean;
  /** Deletes the objects, ends their watches, and the kind is gone. */
  uninstall(kind: string): void;
  /** Removes the kind without events; its objects stay stored. */
  stopServing(kind: string): void;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

/** An object to edit. */
export interface MutableObject {
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string>; [field: string]: unknown };
  // oxlint-disable-next-line typescript/no-explicit-any -- tests write what they like into objects
  [field: string]: any;
}

/** Whatever ends things after a test, such as node:test's TestContext. */
export interface Cleanup {
  after(run: () => unknown): void;
}

/** Starts a server on a free port of loopback. */
export async function startFakeApiServer(context: Cleanup, options: FakeApiServerOptions = {}): Promise<FakeApiServer> {
  const kinds = new Map<string, ServedKind>();
  for (const kind of listDefaultKinds()) if (options.without?.includes(kind.kind) !== true) kinds.set(kind.kind, kind);
  const known = new Map(listDefaultKinds().map((kind) => [kind.kind, kind]));
  const store = new ObjectStore();
  const watches = new WatchHub(store);
  const faults = new FaultList();
  const tokens = new ContinueTokens();
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const clients: KubernetesClient[] = [];
  const authority = options.tls === true ? createAuthority('CA of the fake API server') : undefined;
  const certificate =
    authority === undefined ? undefined : createCertificate({ names: ['127.0.0.1', 'localhost'], issuer: authority });
  const admin = { manager: 'kubectl' };
  let server: Server;
  let port = 0;

  function open(): Promise<void> {
    const listener = (request: IncomingMessage, response: ServerResponse): void =>
      void serve(request, response).catch((error: unknown) => response.destroy(error as Error));
    server =
      certificate === undefined
        ? createHttpServer(listener)
        : createHttpsServer(
            {
              ...certificate,
              ...(options.clientAuthority !== undefined && {
                ca: options.clientAuthority,
                requestCert: true,
                rejectUnauthorized: true,
              }),
            },
            listener,
          );
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    });
    return new Promise((resolve) => {
      server.listen(port, '127.0.0.1', () => {
        ({ port } = server.address() as AddressInfo);
        resolve();
      });
    });
  }

  async function close(): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://server');
    const method = request.method ?? 'GET';
    const parsed = parsePath(url.pathname, kinds.values());
    const contentType = request.headers['content-type'] ?? '';
    const seen: SeenRequest = {
      verb: readVerb(method, parsed, url.searchParams, contentType),
      kind: parsed?.kind.kind,
      namespace: parsed?.namespace,
      name: parsed?.name,
      subresource: parsed?.subresource,
      method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: await readBody(request),
    };
    requests.push(seen);
    try {
      const fault = faults.take(seen);
      switch (fault?.type) {
        case 'drop':
          return void response.socket?.destroy();
        case 'hang':
          return;
        case 'garbage':
          return answer(response, 200, '<html>not an API server</html>');
        case 'cut':
          response.writeHead(200, { 'content-type': 'application/json' }).write('{"kind":"List","items":[');
          return void setImmediate(() => response.socket?.destroy());
        case 'status':
          throw new StatusError(
            fault.code,
            fault.reason ?? reasonsByCode[fault.code] ?? 'Unknown',
            fault.message ?? `injected ${fault.code}`,
            fault.retryAfterSeconds,
            fault.cause,
          );
        case 'wait':
          await fault.until;
          break;
        case undefined:
      }
      const authorization = request.headers['authorization'] ?? '';
      if (self.acceptedTokens !== undefined && !self.acceptedTokens.has(authorization.replace(/^Bearer /, '')))
        throw new StatusError(401, 'Unauthorized', 'Unauthorized');
      if (parsed === undefined) return servePath(seen, response);
      const outcome = serveResource(seen, parsed, store, tokens);
      if (outcome.type === 'watch') watches.serve(outcome.request, response);
      else answer(response, outcome.code, JSON.stringify(outcome.body));
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', String(error.retryAfterSeconds));
      answer(response, error.statusCode, JSON.stringify(writeStatus(error)));
    }
  }

  function servePath(seen: SeenRequest, response: ServerResponse): void {
    if (seen.path === '/version')
      return answer(response, 200, JSON.stringify({ major: '1', minor: '36', gitVersion: 'v1.36.3' }));
    if (seen.path === '/apis/authentication.k8s.io/v1/tokenreviews' && seen.method === 'POST') {
      const review = seen.body as { spec: TokenReviewSpec };
      return answer(response, 201, JSON.stringify({ ...review, status: self.reviewToken(review.spec) }));
    }
    if (seen.path === '/apis/authentication.k8s.io/v1/selfsubjectreviews' && seen.method === 'POST') {
      const status = { userInfo: { username: self.clientUsername } };
      return answer(response, 201, JSON.stringify({ ...(seen.body as object), status }));
    }
    const [, root, group = '', version = ''] = /^\/(apis|api)\/([^/]+)\/?([^/]*)$/.exec(seen.path) ?? [];
    const [wantedGroup, wantedVersion] = root === 'api' ? ['', group] : [group, version];
    const served = [...kinds.values()].filter(
      (kind) => kind.group === wantedGroup && kind.versions.includes(wantedVersion),
    );
    if (root !== undefined && served.length > 0)
      return answer(
        response,
        200,
        JSON.stringify({
          kind: 'APIResourceList',
          apiVersion: 'v1',
          groupVersion: wantedGroup === '' ? wantedVersion : `${wantedGroup}/${wantedVersion}`,
          resources: served.map(({ plural, kind, namespaced }) => ({ name: plural, kind, namespaced })),
        }),
      );
    response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
  }

  function getKind(kind: string): ServedKind {
    const served = kinds.get(kind);
    if (served === undefined) throw new Error(`the fake API server does not serve ${kind}`);
    return served;
  }

  const self: FakeApiServer = {
    get url() {
      return `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
    },
    authority: authority?.cert,
    requests,
    watches,
    get connections() {
      return sockets.size;
    },
    acceptedTokens: undefined,
    clientUsername: 'system:serviceaccount:proxy-system:proxy',
    reviewToken: () => ({ authenticated: false, error: 'no reviewToken set' }),
    connect(name = 'mcp-gateway-controller') {
      const access = {
        authorization: undefined,
        tls: authority === undefined ? undefined : { ca: authority.cert },
      };
      const client = createRestClient({
        server: self.url,
        name,
        readAccess: async () => access,
      });
      clients.push(client);
      return client;
    },
    put(object) {
      const { kind = '', metadata } = object as KubernetesObject;
      const served = getKind(kind);
      const given = (served.namespaced
        ? { ...object, metadata: { ...metadata, namespace: metadata.namespace ?? 'default' } }
        : object) as unknown as KubernetesObject;
      if (store.find(served, given.metadata.namespace, given.metadata.name) === undefined)
        store.create(served, given, admin);
      const { resourceVersion: _version, uid: _uid, ...rest } = given.metadata;
      return store.replace(served, { ...given, metadata: rest }, 'everything', admin);
    },
    change(kind, name, edit) {
      const served = getKind(kind);
      const draft = structuredClone(store.get(served, ...splitName(name))) as unknown as MutableObject;
      edit(draft);
      return store.replace(served, draft as unknown as KubernetesObject, 'everything', admin);
    },
    find: (kind, name) => store.find(getKind(kind), ...splitName(name)),
    list: (kind) => store.list(getKind(kind)),
    delete: (kind, name) => void store.delete(getKind(kind), ...splitName(name)),
    deleteNamespace(name) {
      for (const kind of kinds.values())
        for (const { metadata } of store.list(kind))
          if (kind.namespaced && metadata.namespace === name) store.delete(kind, name, metadata.name);
      if (store.find(getKind('Namespace'), undefined, name) !== undefined)
        store.delete(getKind('Namespace'), undefined, name);
    },
    collectGarbage() {
      for (let found = true; found;) {
        found = false;
        const uids = new Set(
          [...kinds.values()].flatMap((kind) => store.list(kind).map(({ metadata }) => metadata.uid)),
        );
        for (const kind of kinds.values())
          for (const { metadata } of store.list(kind)) {
            const owners = metadata.ownerReferences ?? [];
            if (owners.length === 0 || owners.some(({ uid }) => uids.has(uid))) continue;
            store.delete(kind, metadata.namespace, metadata.name);
            found = true;
          }
      }
    },
    inject: (rule) => faults.add(rule),
    expireHistory(form = 'status') {
      watches.expiryForm = form;
      store.forgetHistory();
    },
    expireContinueTokens: () => tokens.expire(),
    install(type, versions) {
      kinds.set(
        type.kind,
        versions === undefined ? (known.get(type.kind) ?? serveType(type)) : serveType(type, versions),
      );
    },
    isInstalled: (kind) => kinds.has(kind),
    uninstall(kind) {
      const served = getKind(kind);
      for (const { metadata } of store.list(served)) store.delete(served, metadata.namespace, metadata.name);
      self.stopServing(kind);
    },
    stopServing(kind) {
      getKind(kind);
      watches.end(kind);
      kinds.delete(kind);
    },
    goAway: close,
    comeBack: open,
    async stop() {
      await Promise.all(clients.map((client) => client.close()));
      if (server.listening) await close();
    },
  };
  await open();
  context.after(() => self.stop());
  return self;
}

const reasonsByCode: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

/** namespace/name, or the name alone. */
function splitName(text: string): [namespace: string | undefined, name: string] {
  const [left = '', right] = text.split('/');
  return right === undefined ? [undefined, left] : [left, right];
}

function answer(response: ServerResponse, code: number, body: string): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(body);
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
