// The part of oidc-provider that the demo and the tests use; the package ships no types of its own.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface InteractionDetails {
    readonly uid: string;
    readonly prompt: { readonly name: string; readonly details: Readonly<Record<string, unknown>> };
    readonly params: Readonly<Record<string, unknown>>;
    readonly session?: { readonly accountId?: string; readonly cookie?: string };
    readonly grantId?: string;
  }

  export interface Grant {
    addOIDCScope(scope: string): void;
    addOIDCClaims(claims: readonly string[]): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  export interface GrantConstructor {
    new (properties: { readonly accountId: string; readonly clientId: string }): Grant;
    find(id: string): Promise<Grant | undefined>;
  }

  export interface Client {
    readonly clientId: string;
    readonly clientName?: string;
    readonly redirectUris?: readonly string[];
  }

  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    proxy: boolean;
    readonly issuer: string;
    readonly Grant: GrantConstructor;
    readonly Session: { find(id: string): Promise<{ destroy(): Promise<void> } | undefined> };
    readonly Client: { find(id: string): Promise<Client | undefined> };
    readonly InitialAccessToken: new (properties?: object) => { save(): Promise<string> };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<InteractionDetails>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options?: { readonly mergeWithLastSubmission?: boolean },
    ): Promise<void>;
    on(event: string, listener: (...args: unknown[]) => void): this;
    use(middleware: (context: unknown, next: () => Promise<void>) => Promise<void>): this;
  }

  export const errors: Readonly<Record<string, new (...args: unknown[]) => Error>>;
}

// The same class without the package's front door, which does nothing but write to stderr that it prefers an LTS release of Node.
declare module 'oidc-provider/lib/provider.js' {
  export { default as Provider } from 'oidc-provider';
}
