// What the logins of all processes on the same ports have in common: how often clients may register, and what was fetched or registered already.
// A process that serves alone has it all itself.

/** How a client authenticates at the IdP's token endpoint: the method that the IdP answered at registration, and no other. */
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
  | { readonly ok: false; readonly problem: string };

/** What became of the registration of a client with a metadata document. */
export type DocumentRegistrationResult =
  | { readonly ok: true; readonly idpClient: IdpClient }
  | { readonly ok: false; readonly reason: 'idp_unavailable' | 'idp_refused_client'; readonly detail: string };

/** Asks whoever keeps it. Nothing here rejects: who cannot be asked says no. */
export interface SharedLogins {
  /** Takes a token of the limit for registrations. 0: go on; otherwise the seconds until there is one. */
  takeRegistration(address: string, perMinute: number): Promise<number>;
  /** The metadata document of a client. */
  loadDocument(url: string, address: string, perMinute: number): Promise<ClientDocumentResult>;
  /** The registration by this name, or the one that `register` makes; whoever asks meanwhile gets the same. */
  findRegistration(
    name: string,
    register: () => Promise<DocumentRegistrationResult>,
  ): Promise<DocumentRegistrationResult>;
  forgetRegistration(name: string): void;
}
