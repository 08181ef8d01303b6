// Projected ServiceAccount tokens of one pod, from the API server's TokenRequest: bound to the pod, for one audience, renewed when
// four fifths of their life are over.
import type { ApiClient } from '../api-client.ts';
import type { Pod } from './pod.ts';

interface Token {
  readonly text: string;
  readonly renewAt: number;
}

/** The tokens of a pod. */
export class ServiceAccountTokens {
  readonly #client: ApiClient;
  readonly #pod: Pod;
  readonly #tokens = new Map<string, Token>();

  constructor(client: ApiClient, pod: Pod) {
    this.#client = client;
    this.#pod = pod;
  }

  /** The current token for an audience. */
  async read(audience: string | undefined, expirationSeconds: number): Promise<string> {
    const key = `${audience ?? ''} ${expirationSeconds}`;
    const known = this.#tokens.get(key);
    if (known !== undefined && Date.now() < known.renewAt) return known.text;
    try {
      const token = await this.#request(audience, expirationSeconds);
      this.#tokens.set(key, token);
      return token.text;
    } catch (error) {
      // The API server is away: the old token is good for a while.
      if (known === undefined) throw error;
      return known.text;
    }
  }

  /** Whether a token is to be renewed. */
  get isRenewalDue(): boolean {
    return [...this.#tokens.values()].some(({ renewAt }) => Date.now() >= renewAt);
  }

  /** Makes the next read ask for new ones. */
  expire(): void {
    for (const [key, { text }] of this.#tokens) this.#tokens.set(key, { text, renewAt: 0 });
  }

  async #request(audience: string | undefined, expirationSeconds: number): Promise<Token> {
    const { metadata, spec } = this.#pod;
    const path = `/api/v1/namespaces/${metadata.namespace}/serviceaccounts/${spec.serviceAccountName ?? 'default'}/token`;
    const { status } = await this.#client.create<{ status: { token: string; expirationTimestamp: string } }>(path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        ...(audience === undefined ? {} : { audiences: [audience] }),
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid },
      },
    });
    const life = Date.parse(status.expirationTimestamp) - Date.now();
    return { text: status.token, renewAt: Date.now() + life * 0.8 };
  }
}
