// Runs a credential plugin of a kubeconfig, and keeps what it gives until that expires.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
import { spawn } from 'node:child_process';
import { type Clock, systemClock } from '../base/clock.ts';
import { isJsonObject, type JsonObject, readJsonObject } from '../base/json-object.ts';
import type { ExecPlugin, KubeconfigCluster } from './kubeconfig-context.ts';

/** What a plugin gives. */
export interface PluginCredentials {
  readonly token: string | undefined;
  /** PEM. */
  readonly certificate: { readonly cert: string; readonly key: string } | undefined;
}

/** Why a plugin gives nothing, for the operator: a sentence without a full stop. It never quotes the plugin's output. */
class PluginProblem extends Error {
  readonly code = 'exec_plugin';
}

/** More than that is no credential. */
const maxOutputBytes = 1024 * 1024;

/** Asks a plugin; `authority` is the PEM of the cluster's authority. Without an expiry the answer is good until it is refused: a new object asks anew. */
export class PluginRunner {
  readonly #plugin: ExecPlugin;
  readonly #clock: Clock;
  #kept: { readonly credentials: PluginCredentials; readonly untilMs: number } | undefined;

  constructor(plugin: ExecPlugin, clock: Clock = systemClock) {
    [this.#plugin, this.#clock] = [plugin, clock];
  }

  async read(cluster: KubeconfigCluster, authority: string | undefined): Promise<PluginCredentials> {
    if (this.#kept !== undefined && this.#clock.now() < this.#kept.untilMs) return this.#kept.credentials;
    const info = describeExec(this.#plugin, cluster, authority);
    this.#kept = readAnswer(await runPlugin(this.#plugin, JSON.stringify(info)), this.#plugin.apiVersion);
    return this.#kept.credentials;
  }
}

/** What the plugin is told, in KUBERNETES_EXEC_INFO. Nobody is there to answer its questions. */
export function describeExec(plugin: ExecPlugin, cluster: KubeconfigCluster, authority: string | undefined): object {
  const { server, tlsServerName, proxyUrl, skipTlsVerify, disableCompression, pluginConfig } = cluster;
  return {
    apiVersion: plugin.apiVersion,
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(plugin.provideClusterInfo && {
        cluster: {
          server,
          ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
          'insecure-skip-tls-verify': skipTlsVerify,
          ...(authority !== undefined && { 'certificate-authority-data': Buffer.from(authority).toString('base64') }),
          ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
          ...(disableCompression && { 'disable-compression': true }),
          ...(pluginConfig !== undefined && { config: pluginConfig }),
        },
      }),
    },
  };
}

/** Reads what a plugin has printed. Pure. */
export function readAnswer(
  text: string,
  apiVersion: string,
): { readonly credentials: PluginCredentials; readonly untilMs: number } {
  const read = readJsonObject(text);
  if (!read.ok) throw new PluginProblem('the answer of the plugin is not JSON');
  const { value } = read;
  if (value['kind'] !== 'ExecCredential' || value['apiVersion'] !== apiVersion)
    throw new PluginProblem(`the answer of the plugin must be an ExecCredential of ${apiVersion}`);
  const status: JsonObject = isJsonObject(value['status']) ? value['status'] : {};
  const readField = (field: string): string | undefined => {
    const found = status[field] ?? '';
    if (typeof found !== 'string')
      throw new PluginProblem(`the answer of the plugin: status.${field} must be a string`);
    return found === '' ? undefined : found;
  };
  const token = readField('token');
  const [cert, key] = [readField('clientCertificateData'), readField('clientKeyData')];
  if ((cert === undefined) !== (key === undefined))
    throw new PluginProblem('the answer of the plugin has a certificate or a key, but not both');
  if (token === undefined && cert === undefined)
    throw new PluginProblem('the answer of the plugin has neither a token nor a certificate');
  const expiry = readField('expirationTimestamp');
  const untilMs = expiry === undefined ? Infinity : Date.parse(expiry);
  if (Number.isNaN(untilMs)) throw new PluginProblem('the answer of the plugin: status.expirationTimestamp is no time');
  return {
    credentials: { token, certificate: cert === undefined || key === undefined ? undefined : { cert, key } },
    untilMs,
  };
}

function runPlugin({ command, args, env, installHint }: ExecPlugin, info: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [output, complaint] = [collect(child.stdout), collect(child.stderr)];
    child.once('error', (error: NodeJS.ErrnoException) => {
      const hint = installHint === undefined ? '' : `; ${installHint}`;
      const why =
        error.code === 'ENOENT' ? `there is no program ${command}` : `${command} cannot be run (${error.code})`;
      reject(new PluginProblem(`${why}${hint}`));
    });
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output());
      else reject(new PluginProblem(complaint().trim() || `${command} ended with ${signal ?? `exit code ${code}`}`));
    });
  });
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxOutputBytes) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
