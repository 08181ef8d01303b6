// The content of Secrets and ConfigMaps. The API server is asked first, because a watch may be late; while it is away, what the
// watch has seen last counts.
import { type ApiClient, ApiError, type ApiObject } from '../api-client.ts';
import { ObjectCache } from './object-cache.ts';

interface ContentObject extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** Reads Secrets and ConfigMaps, and tells when they change. */
export class ContentReader {
  readonly #client: ApiClient;
  readonly #secrets: ObjectCache<ContentObject>;
  readonly #configMaps: ObjectCache<ContentObject>;

  constructor(client: ApiClient, signal: AbortSignal) {
    this.#client = client;
    this.#secrets = new ObjectCache(client, '/api/v1/secrets', signal);
    this.#configMaps = new ObjectCache(client, '/api/v1/configmaps', signal);
  }

  /** Calls with the namespace of each Secret or ConfigMap that changes. */
  onChange(listener: (namespace: string) => void): void {
    const tell = (key: string): void => listener(key.slice(0, key.indexOf('/')));
    this.#secrets.subscribe(tell);
    this.#configMaps.subscribe(tell);
  }

  async readSecret(namespace: string, name: string): Promise<ReadonlyMap<string, Buffer> | undefined> {
    const secret = await this.#read(this.#secrets, 'secrets', namespace, name);
    return secret === undefined ? undefined : decode({}, secret.data);
  }

  async readConfigMap(namespace: string, name: string): Promise<ReadonlyMap<string, Buffer> | undefined> {
    const configMap = await this.#read(this.#configMaps, 'configmaps', namespace, name);
    return configMap === undefined ? undefined : decode(configMap.data, configMap.binaryData);
  }

  async #read(
    cache: ObjectCache<ContentObject>,
    plural: string,
    namespace: string,
    name: string,
  ): Promise<ContentObject | undefined> {
    try {
      return await this.#client.get<ContentObject>(`/api/v1/namespaces/${namespace}/${plural}/${name}`);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      return cache.get(`${namespace}/${name}`);
    }
  }
}

function decode(
  texts: Readonly<Record<string, string>> | undefined,
  binaries: Readonly<Record<string, string>> | undefined,
): ReadonlyMap<string, Buffer> {
  return new Map([
    ...Object.entries(texts ?? {}).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(binaries ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
  ]);
}
