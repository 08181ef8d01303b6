// The API server of a kubeconfig, and the credentials for it: tokens, passwords, client certificates, exec plugins.
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Log } from '../base/log.ts';
import { type Access, CredentialsError, rememberAccess } from './access.ts';
import type { EndpointResult } from './api-endpoint.ts';
import { describeFailure } from './describe-failure.ts';
import { type PluginCredentials, PluginRunner } from './exec-plugin.ts';
import {
  type FileOrText,
  type KubeconfigUser,
  selectContext,
  type SelectedContext,
  type UserCredentials,
} from './kubeconfig-context.ts';
import { type Kubeconfig, KubeconfigProblem, mergeKubeconfigs, parseKubeconfig } from './kubeconfig-file.ts';

/** Reads the files; earlier ones take precedence. A missing file is ignored unless all are missing. */
export async function loadKubeconfig(
  files: readonly string[],
  context: string | undefined,
  log: Log,
): Promise<EndpointResult> {
  try {
    let reader = new CredentialsReader(await select(files, context));
    const { cluster, user, namespace } = reader.selected;
    const isPlain = cluster.server.startsWith('http:');
    if (isPlain && user !== undefined)
      log.warn({ server: cluster.server }, 'the kubeconfig names a server without TLS: no credentials are sent to it');
    const readAccess = rememberAccess(async (fresh) => {
      if (isPlain) return { authorization: undefined, tls: undefined };
      try {
        // The files may have changed, and what a plugin gave is not good any more.
        if (fresh) reader = new CredentialsReader(await select(files, context));
        return await reader.read();
      } catch (error) {
        throw new CredentialsError(`the credentials of the kubeconfig cannot be used: ${describeFailure(error)}`);
      }
    });
    return { ok: true, endpoint: { server: cluster.server, proxy: cluster.proxyUrl, namespace, readAccess } };
  } catch (error) {
    if (error instanceof KubeconfigProblem) return { ok: false, problem: error.message };
    throw error;
  }
}

async function select(files: readonly string[], wanted: string | undefined): Promise<SelectedContext> {
  return selectContext(mergeKubeconfigs(await readFiles(files)), wanted, `the kubeconfig ${files.join(', ')}`);
}

async function readFiles(files: readonly string[]): Promise<readonly Kubeconfig[]> {
  const found: Kubeconfig[] = [];
  for (const file of files) {
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') continue;
      throw new KubeconfigProblem(`the kubeconfig ${file} cannot be read: ${describeFailure(error)}`);
    }
    found.push(parseKubeconfig(file, text, dirname(resolve(file))));
  }
  if (found.length === 0) throw new KubeconfigProblem(`there is no kubeconfig ${files.join(' or ')}`);
  return found;
}

/** Reads the credentials of a context. Files are read each time: what is in them rotates. */
class CredentialsReader {
  readonly selected: SelectedContext;
  readonly #runner: PluginRunner | undefined;

  constructor(selected: SelectedContext) {
    this.selected = selected;
    const credentials = selected.user?.credentials;
    this.#runner = credentials?.kind === 'exec' ? new PluginRunner(credentials.plugin) : undefined;
  }

  async read(): Promise<Access> {
    const { cluster, user } = this.selected;
    const ca = await readPem(cluster.authority);
    const given = await this.#runner?.read(cluster, ca);
    const certificate = given?.certificate ?? (await readCertificate(user));
    return {
      authorization: await readAuthorization(user?.credentials, given),
      headers: user?.impersonate === undefined ? {} : { 'Impersonate-User': user.impersonate },
      tls: {
        ca,
        cert: certificate?.cert,
        key: certificate?.key,
        servername: cluster.tlsServerName,
        rejectUnauthorized: !cluster.skipTlsVerify,
      },
    };
  }
}

async function readAuthorization(
  credentials: UserCredentials | undefined,
  given: PluginCredentials | undefined,
): Promise<string | undefined> {
  switch (credentials?.kind) {
    case 'token':
      return `Bearer ${await readToken(credentials)}`;
    case 'basic': {
      const { username, password } = credentials;
      return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
    }
    case 'exec':
      return given?.token === undefined ? undefined : `Bearer ${given.token}`;
    default:
      return undefined;
  }
}

async function readToken({ token, tokenFile }: UserCredentials & { readonly kind: 'token' }): Promise<string> {
  if (tokenFile === undefined) return token!;
  try {
    const found = (await readFile(tokenFile, 'utf8')).trim();
    if (found === '') throw new CredentialsError(`${tokenFile} is empty`);
    return found;
  } catch (error) {
    if (token === undefined) throw error;
    return token;
  }
}

async function readCertificate(
  user: KubeconfigUser | undefined,
): Promise<{ readonly cert: string | undefined; readonly key: string | undefined } | undefined> {
  if (user?.certificate === undefined) return undefined;
  return { cert: await readPem(user.certificate.cert), key: await readPem(user.certificate.key) };
}

async function readPem(source: FileOrText | undefined): Promise<string | undefined> {
  if (source === undefined) return undefined;
  return 'text' in source ? source.text : readFile(source.file, 'utf8');
}
