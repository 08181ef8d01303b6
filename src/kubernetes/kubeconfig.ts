// The API server of a kubeconfig. Client certificates, tokens, exec plugins and the older auth providers are read by @kubernetes/client-node, which is
// loaded here and nowhere else: it costs half a second and tens of megabytes that a pod need not pay.
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { dirname, isAbsolute, join } from 'node:path';
import type { Cluster, Context, KubeConfig, User } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { isJsonObject, type JsonObject } from '../base/json-object.ts';
import type { Log } from '../base/log.ts';
import { type Access, CredentialsError, rememberAccess } from './access.ts';
import { defaultNamespace, type EndpointResult } from './api-endpoint.ts';
import { describeFailure } from './describe-failure.ts';

/** Why a kubeconfig cannot be used, for the operator. */
class KubeconfigProblem extends Error {
  readonly code = 'kubeconfig_problem';
}

/** The entries that a context refers to. */
interface Selection {
  readonly config: KubeConfig;
  readonly cluster: Cluster;
  readonly user: User | undefined;
  readonly namespace: string;
  readonly tokenFile: string | undefined;
}

/** Reads the files; earlier ones take precedence. A missing file is ignored unless all are missing. */
export async function loadKubeconfig(
  files: readonly string[],
  context: string | undefined,
  log: Log,
): Promise<EndpointResult> {
  try {
    let selection = await select(files, context);
    const { cluster, user, namespace } = selection;
    const server = checkServer(cluster);
    const isPlain = server.startsWith('http:');
    if (isPlain && user !== undefined)
      log.warn({ server }, 'the kubeconfig names a server without TLS: no credentials are sent to it');
    const readAccess = rememberAccess(async (fresh) => {
      if (isPlain) return { authorization: undefined, tls: undefined };
      // Reload everything: the library caches a plugin's token, and a file may have changed.
      if (fresh) selection = await select(files, context);
      return await readSelection(selection);
    });
    return { ok: true, endpoint: { server, proxy: checkProxy(cluster), namespace, readAccess } };
  } catch (error) {
    if (error instanceof KubeconfigProblem) return { ok: false, problem: error.message };
    throw error;
  }
}

async function select(files: readonly string[], wanted: string | undefined): Promise<Selection> {
  const found = await readFiles(files);
  const { KubeConfig: Config } = await import('@kubernetes/client-node');
  const [clusters, users, contexts]: [Cluster[], User[], Context[]] = [[], [], []];
  const rawUsers = new Map<string, { readonly raw: JsonObject; readonly folder: string }>();
  let current: string | undefined;
  for (const { file, text } of found) {
    const one = new Config();
    try {
      const raw: unknown = parse(text);
      if (!isJsonObject(raw)) throw new KubeconfigProblem('it holds no kubeconfig');
      one.loadFromString(text);
      one.makePathsAbsolute(dirname(file));
      for (const [name, user] of listRawUsers(raw))
        if (!rawUsers.has(name)) rawUsers.set(name, { raw: user, folder: dirname(file) });
    } catch (error) {
      throw new KubeconfigProblem(`the kubeconfig ${file} cannot be used: ${describeFailure(error)}`);
    }
    addNew(clusters, one.getClusters());
    addNew(users, one.getUsers());
    addNew(contexts, one.getContexts());
    const name: unknown = one.getCurrentContext();
    if (current === undefined && typeof name === 'string' && name !== '') current = name;
  }

  const where = `the kubeconfig ${files.join(', ')}`;
  const contextName = wanted ?? current;
  if (contextName === undefined)
    throw new KubeconfigProblem(`${where} has no current-context; choose one with --context: ${listNames(contexts)}`);
  const context = contexts.find(({ name }) => name === contextName);
  if (context === undefined)
    throw new KubeconfigProblem(`${where} has no context ${contextName}; it has ${listNames(contexts)}`);
  const cluster = clusters.find(({ name }) => name === context.cluster);
  if (cluster === undefined)
    throw new KubeconfigProblem(`${where} has no cluster ${context.cluster}, which context ${contextName} names`);
  const hasUser = typeof context.user === 'string' && context.user !== '';
  const user = hasUser ? users.find(({ name }) => name === context.user) : undefined;
  if (hasUser && user === undefined)
    throw new KubeconfigProblem(`${where} has no user ${context.user}, which context ${contextName} names`);

  const config = new Config();
  // The library reads the cluster's authority only if there is a user.
  const usedUser: User = user === undefined ? { name: '' } : withExecInfo(user, cluster);
  config.loadFromOptions({
    clusters: [cluster],
    users: [usedUser],
    contexts: [{ ...context, user: usedUser.name }],
    currentContext: contextName,
  });
  const namespace =
    typeof context.namespace === 'string' && context.namespace !== '' ? context.namespace : defaultNamespace;
  const tokenFile = user === undefined ? undefined : readTokenFile(where, user, rawUsers);
  return { config, cluster, user, namespace, tokenFile };
}

/** Also refuses fields that the library would ignore silently. */
function readTokenFile(
  where: string,
  { name }: User,
  rawUsers: ReadonlyMap<string, { readonly raw: JsonObject; readonly folder: string }>,
): string | undefined {
  const found = rawUsers.get(name);
  if (found === undefined) return undefined;
  const { raw, folder } = found;
  for (const field of ['as-groups', 'as-uid', 'as-user-extra'])
    if (raw[field] !== undefined)
      throw new KubeconfigProblem(`${where}: user ${name} has ${field}, which is not supported yet`);
  const { tokenFile } = raw;
  if (typeof tokenFile !== 'string' || tokenFile === '' || typeof raw['token'] === 'string') return undefined;
  return isAbsolute(tokenFile) ? tokenFile : join(folder, tokenFile);
}

/** Reads the current credentials. */
async function readSelection({ config, tokenFile }: Selection): Promise<Access> {
  const options: RequestOptions & { servername?: string } = { headers: {} };
  let token: string | undefined;
  try {
    await config.applyToHTTPSOptions(options);
    if (tokenFile !== undefined) token = (await readFile(tokenFile, 'utf8')).trim();
  } catch (error) {
    // The parser quotes its input, which may be a token.
    const why = error instanceof SyntaxError ? 'the answer of the plugin is not JSON' : describeFailure(error);
    throw new CredentialsError(`the credentials of the kubeconfig cannot be used: ${why}`);
  }
  const { Authorization: authorization, ...headers } = (options.headers ?? {}) as Record<string, string>;
  const basic =
    typeof options.auth === 'string' ? `Basic ${Buffer.from(options.auth, 'utf8').toString('base64')}` : undefined;
  return {
    authorization: token === undefined ? (authorization ?? basic) : `Bearer ${token}`,
    headers,
    tls: {
      ca: readPem(options.ca),
      cert: readPem(options.cert),
      key: readPem(options.key),
      servername: options.servername,
      rejectUnauthorized: options.rejectUnauthorized ?? true,
    },
  };
}

function readPem(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : undefined;
}

function checkServer(cluster: Cluster): string {
  const { server } = cluster;
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new KubeconfigProblem(`the kubeconfig's cluster ${cluster.name}: server must be an https URL`);
  if (url.username !== '' || url.password !== '')
    throw new KubeconfigProblem(
      `the kubeconfig's cluster ${cluster.name}: server must not hold a user name or password`,
    );
  return server;
}

function checkProxy({ name, proxyUrl }: Cluster): string | undefined {
  if (proxyUrl === undefined || proxyUrl === '') return undefined;
  if (!URL.canParse(proxyUrl) || !/^https?:$/.test(new URL(proxyUrl).protocol))
    throw new KubeconfigProblem(`the kubeconfig's cluster ${name}: proxy-url must be an http or https URL`);
  return proxyUrl;
}

/** Sets KUBERNETES_EXEC_INFO, which plugins expect and the library does not set. */
function withExecInfo(user: User, cluster: Cluster): User {
  const exec: unknown = user.exec;
  if (!isJsonObject(exec)) return user;
  const info = {
    apiVersion: typeof exec['apiVersion'] === 'string' ? exec['apiVersion'] : 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(exec['provideClusterInfo'] === true && {
        cluster: {
          server: cluster.server,
          ...(cluster.caData !== undefined && { 'certificate-authority-data': cluster.caData }),
          ...(cluster.tlsServerName !== undefined && { 'tls-server-name': cluster.tlsServerName }),
          'insecure-skip-tls-verify': cluster.skipTLSVerify,
        },
      }),
    },
  };
  const env: unknown[] = Array.isArray(exec['env']) ? exec['env'] : [];
  return {
    ...user,
    exec: { ...exec, env: [...env, { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }] },
  };
}

function listRawUsers(raw: JsonObject): (readonly [string, JsonObject])[] {
  const users: unknown[] = Array.isArray(raw['users']) ? raw['users'] : [];
  return users.flatMap((entry) =>
    isJsonObject(entry) && typeof entry['name'] === 'string' && isJsonObject(entry['user'])
      ? [[entry['name'], entry['user']] as const]
      : [],
  );
}

function addNew<T extends { readonly name: string }>(list: T[], more: readonly T[]): void {
  for (const entry of more) if (!list.some(({ name }) => name === entry.name)) list.push(entry);
}

function listNames(contexts: readonly Context[]): string {
  return contexts.length === 0 ? 'none' : contexts.map(({ name }) => name).join(', ');
}

async function readFiles(
  files: readonly string[],
): Promise<readonly { readonly file: string; readonly text: string }[]> {
  const found: { readonly file: string; readonly text: string }[] = [];
  for (const file of files) {
    try {
      found.push({ file, text: await readFile(file, 'utf8') });
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') continue;
      throw new KubeconfigProblem(`the kubeconfig ${file} cannot be read: ${describeFailure(error)}`);
    }
  }
  if (found.length === 0) throw new KubeconfigProblem(`there is no kubeconfig ${files.join(' or ')}`);
  return found;
}
