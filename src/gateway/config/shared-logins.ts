// Login state shared by all processes on the same ports: registration limits, fetched client documents and registrations.
// A process that serves alone keeps this state itself.

/** How a client authenticates at the IdP's token endpoint: only by the method that the IdP answered at registration. */
export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'client_secret_jwt';

/** The client as the IdP knows it. */
export interface IdpClient {
  readonly clientId: string;
  readonly authMethod: ClientAuthMethod;
  /** Undefined with `none`. */
  readonly secret: string | undefined;
}

/** What a client says about itself. */
export interface ClientDocument {
  readonly redirectUris: readonly string[];
  readonly name: string | undefined;
  readonly scope: string | undefined;
}

export type ClientDocumentResult =
  | { readonly ok: true; readonly document: ClientDocument }
  /** `problem` is a sentence for the author of the client. */
  | {
      readonly ok: false;
      readonly problem: string;
      /** The gateway could not get to its server: what happened, for the operator only. */
      readonly unreachable?: string;
    };

/** The result of registering a client that has a metadata document. */
export type DocumentRegistrationResult =
  | { readonly ok: true; readonly idpClient: IdpClient }
  | { readonly ok: false; readonly reason: 'idp_unavailable' | 'idp_refused_client'; readonly detail: string };

/** Access to the shared state. No promise rejects: when the keeper is unreachable, the result is a refusal. */
export interface SharedLogins {
  /** Takes a token from the registration rate limit. 0: taken; otherwise the seconds until the next token. */
  takeRegistration(address: string, perMinute: number): Promise<number>;
  /** The metadata document of a client. */
  loadDocument(url: string, address: string, perMinute: number): Promise<ClientDocumentResult>;
  /** Whether documents can be fetched, as far as the last fetches show. */
  canFetchDocuments(): Promise<boolean>;
  /** The registration by this name, or the result of `register`; concurrent callers share it. */
  findRegistration(
    name: string,
    register: () => Promise<DocumentRegistrationResult>,
  ): Promise<DocumentRegistrationResult>;
  forgetRegistration(name: string): void;
}
