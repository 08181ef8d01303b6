// The cluster and the user that a context of a kubeconfig names, checked field by field: what is not supported is refused by name. Pure.
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
import { isAbsolute, join } from 'node:path';
import { isJsonObject, type JsonObject } from '../base/json-object.ts';
import { defaultNamespace } from './api-endpoint.ts';
import { type Kubeconfig, type KubeconfigEntry, KubeconfigProblem } from './kubeconfig-file.ts';

/** A file, or its content. */
export type FileOrText = { readonly file: string } | { readonly text: string };

/** The API server. */
export interface KubeconfigCluster {
  readonly server: string;
  readonly authority: FileOrText | undefined;
  readonly skipTlsVerify: boolean;
  readonly tlsServerName: string | undefined;
  readonly proxyUrl: string | undefined;
  readonly disableCompression: boolean;
  /** What the cluster has for plugins, in `extensions`. */
  readonly pluginConfig: unknown;
}

/** How requests are authenticated, beside a client certificate. */
export type UserCredentials =
  | { readonly kind: 'none' }
  /** With both, the token is for as long as the file cannot be read. */
  | { readonly kind: 'token'; readonly token: string | undefined; readonly tokenFile: string | undefined }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'exec'; readonly plugin: ExecPlugin };

/** A program that gives credentials. https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
}

/** The user. */
export interface KubeconfigUser {
  readonly credentials: UserCredentials;
  readonly certificate: { readonly cert: FileOrText; readonly key: FileOrText } | undefined;
  readonly impersonate: string | undefined;
}

/** What a context refers to. */
export interface SelectedContext {
  readonly cluster: KubeconfigCluster;
  /** Undefined: the context names none. */
  readonly user: KubeconfigUser | undefined;
  readonly namespace: string;
}

/** Finds a context, the current one if none is wanted. `where` names the files. */
export function selectContext(config: Kubeconfig, wanted: string | undefined, where: string): SelectedContext {
  const contextName = wanted ?? config.currentContext;
  const known = [...config.contexts.keys()].toSorted().join(', ') || 'none';
  if (contextName === undefined)
    throw new KubeconfigProblem(`${where} has no current-context; choose one with --context: ${known}`);
  const context = config.contexts.get(contextName);
  if (context === undefined) throw new KubeconfigProblem(`${where} has no context ${contextName}; it has ${known}`);
  const fields = new Fields(context, `${where}: context ${contextName}`, {
    known: ['cluster', 'user', 'namespace', 'extensions'],
  });
  const clusterName = fields.text('cluster');
  if (clusterName === undefined) throw new KubeconfigProblem(`${where}: context ${contextName} names no cluster`);
  const cluster = config.clusters.get(clusterName);
  if (cluster === undefined)
    throw new KubeconfigProblem(`${where} has no cluster ${clusterName}, which context ${contextName} names`);
  const userName = fields.text('user');
  const user = userName === undefined ? undefined : config.users.get(userName);
  if (userName !== undefined && user === undefined)
    throw new KubeconfigProblem(`${where} has no user ${userName}, which context ${contextName} names`);
  return {
    cluster: readCluster(cluster, clusterName, where),
    user: user === undefined ? undefined : readUser(user, `${where}: user ${userName}`),
    namespace: fields.text('namespace') ?? defaultNamespace,
  };
}

const pluginExtension = 'client.authentication.k8s.io/exec';

function readCluster(entry: KubeconfigEntry, name: string, where: string): KubeconfigCluster {
  const fields = new Fields(entry, `${where}: cluster ${name}`, {
    known: [
      'server',
      'certificate-authority',
      'certificate-authority-data',
      'insecure-skip-tls-verify',
      'tls-server-name',
      'proxy-url',
      'disable-compression',
      'extensions',
    ],
  });
  const problem = (text: string): KubeconfigProblem =>
    new KubeconfigProblem(`the kubeconfig's cluster ${name}: ${text}`);
  const server = fields.text('server') ?? '';
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw problem('server must be an https URL');
  if (url.username !== '' || url.password !== '') throw problem('server must not hold a user name or password');
  const proxyUrl = fields.text('proxy-url');
  if (proxyUrl !== undefined && (!URL.canParse(proxyUrl) || !/^https?:$/.test(new URL(proxyUrl).protocol)))
    throw problem('proxy-url must be an http or https URL');
  const skipTlsVerify = fields.flag('insecure-skip-tls-verify');
  const authority = fields.fileOrData('certificate-authority');
  if (skipTlsVerify && authority !== undefined)
    throw problem('insecure-skip-tls-verify makes certificate-authority pointless; remove one of them');
  const extensions = fields.list('extensions').filter((each) => isJsonObject(each));
  return {
    server,
    authority,
    skipTlsVerify,
    tlsServerName: fields.text('tls-server-name'),
    proxyUrl,
    disableCompression: fields.flag('disable-compression'),
    pluginConfig: extensions.find((each) => each['name'] === pluginExtension)?.['extension'],
  };
}

function readUser(entry: KubeconfigEntry, where: string): KubeconfigUser {
  const fields = new Fields(entry, where, {
    known: [
      'client-certificate',
      'client-certificate-data',
      'client-key',
      'client-key-data',
      'token',
      'tokenFile',
      'username',
      'password',
      'as',
      'exec',
      'extensions',
    ],
    unsupported: {
      'as-groups': 'which is not supported yet',
      'as-uid': 'which is not supported yet',
      'as-user-extra': 'which is not supported yet',
      'auth-provider': 'which Kubernetes has removed; use an exec plugin',
    },
  });
  const [cert, key] = [fields.fileOrData('client-certificate'), fields.fileOrData('client-key')];
  if ((cert === undefined) !== (key === undefined))
    throw fields.problem(`has ${cert === undefined ? 'client-key' : 'client-certificate'} alone; both are needed`);
  return {
    credentials: readCredentials(fields),
    certificate: cert === undefined || key === undefined ? undefined : { cert, key },
    impersonate: fields.text('as'),
  };
}

function readCredentials(fields: Fields): UserCredentials {
  const [token, tokenFile] = [fields.text('token'), fields.path('tokenFile')];
  const [username, password] = [fields.text('username'), fields.text('password')];
  const exec = fields.object('exec');
  if (username === undefined && password !== undefined) throw fields.problem('has a password without a username');
  const hasToken = token !== undefined || tokenFile !== undefined;
  const given = [hasToken && 'a token', username !== undefined && 'a username', exec && 'exec'].filter(
    (each) => typeof each === 'string',
  );
  if (given.length > 1) throw fields.problem(`has ${given.join(' and ')}; only one of them can be used`);
  if (hasToken) return { kind: 'token', token, tokenFile };
  if (username !== undefined) return { kind: 'basic', username, password: password ?? '' };
  return exec === undefined ? { kind: 'none' } : { kind: 'exec', plugin: readPlugin(exec) };
}

const pluginVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

function readPlugin(fields: Fields): ExecPlugin {
  fields.allow(['apiVersion', 'command', 'args', 'env', 'installHint', 'provideClusterInfo', 'interactiveMode']);
  const apiVersion = fields.text('apiVersion');
  if (apiVersion === undefined || !pluginVersions.includes(apiVersion))
    throw fields.problem(`apiVersion must be ${pluginVersions.join(' or ')}`);
  const command = fields.text('command');
  if (command === undefined) throw fields.problem('command is missing');
  const mode = fields.text('interactiveMode') ?? (apiVersion.endsWith('v1beta1') ? 'IfAvailable' : undefined);
  if (mode === 'Always')
    throw fields.problem('interactiveMode is Always, but plugins run without a terminal here; log in beforehand');
  if (mode !== 'Never' && mode !== 'IfAvailable')
    throw fields.problem('interactiveMode must be Never, IfAvailable or Always');
  const args = fields.list('args');
  if (!args.every((each) => typeof each === 'string')) throw fields.problem('args must be strings');
  return {
    apiVersion,
    // A name is looked for on the PATH, a path starts at the file.
    command: command.includes('/') ? fields.resolve(command) : command,
    args,
    env: Object.fromEntries(
      fields.list('env').map((each, index) => {
        const { name, value = '' } = isJsonObject(each) ? each : {};
        if (typeof name !== 'string' || name === '' || typeof value !== 'string')
          throw fields.problem(`env[${index}] must have a name and a value, both strings`);
        return [name, value];
      }),
    ),
    installHint: fields.text('installHint'),
    provideClusterInfo: fields.flag('provideClusterInfo'),
  };
}

/** The fields of an entry. An empty value is as good as none, as it is for kubectl. */
class Fields {
  readonly #fields: JsonObject;
  readonly #folder: string;
  readonly #where: string;

  constructor(
    { fields, folder }: KubeconfigEntry,
    where: string,
    rules?: { readonly known: readonly string[]; readonly unsupported?: Readonly<Record<string, string>> },
  ) {
    [this.#fields, this.#folder, this.#where] = [fields, folder, where];
    for (const [field, why] of Object.entries(rules?.unsupported ?? {}))
      if (fields[field] !== undefined && fields[field] !== null) throw this.problem(`has ${field}, ${why}`);
    if (rules !== undefined) this.allow(rules.known);
  }

  problem(text: string): KubeconfigProblem {
    return new KubeconfigProblem(`${this.#where} ${text}`);
  }

  /** Refuses all other fields. */
  allow(known: readonly string[]): void {
    for (const field of Object.keys(this.#fields))
      if (!known.includes(field) && this.#fields[field] !== null)
        throw this.problem(`has ${field}, which is not supported`);
  }

  text(field: string): string | undefined {
    const value = this.#fields[field] ?? '';
    if (typeof value !== 'string') throw this.problem(`has a ${field} that is not a string; put it in quotes`);
    return value === '' ? undefined : value;
  }

  flag(field: string): boolean {
    const value = this.#fields[field] ?? false;
    if (typeof value !== 'boolean') throw this.problem(`has ${field}, which must be true or false`);
    return value;
  }

  list(field: string): readonly unknown[] {
    const value = this.#fields[field] ?? [];
    if (!Array.isArray(value)) throw this.problem(`has ${field} that is not a list`);
    return value;
  }

  object(field: string): Fields | undefined {
    const value = this.#fields[field];
    if (value === undefined || value === null) return undefined;
    if (!isJsonObject(value)) throw this.problem(`has ${field} that is not an object`);
    return new Fields({ fields: value, folder: this.#folder }, `${this.#where}: ${field}:`);
  }

  path(field: string): string | undefined {
    const value = this.text(field);
    return value === undefined ? undefined : this.resolve(value);
  }

  resolve(path: string): string {
    return isAbsolute(path) ? path : join(this.#folder, path);
  }

  /** `FIELD-data` counts before the file that `FIELD` names. */
  fileOrData(field: string): FileOrText | undefined {
    const data = this.text(`${field}-data`);
    const file = this.path(field);
    if (data === undefined) return file === undefined ? undefined : { file };
    const bytes = data.replaceAll(/\s/g, '');
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(bytes)) throw this.problem(`has a ${field}-data that is not base64`);
    return { text: Buffer.from(bytes, 'base64').toString('utf8') };
  }
}
