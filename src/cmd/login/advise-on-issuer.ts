// What to do about refusals of a gateway that issues its own tokens (flow: Issuer), by the sentence with which it refuses.

const details =
  'The log and the inspector of the gateway (/flows of its admin port) have the details under the request id.';

/** By the words of the gateway: no more reaches a client. */
const remedies: readonly (readonly [said: RegExp, advice: string])[] = [
  [
    /not among those that may use this server/,
    `The login worked, and identity.allow (or requiredClaims) of the policy does not name this account. The inspector of the gateway (/flows of its admin port) says under the request id who it was: its subject, the email that the identity provider vouches for, and its organizations. Add one of them to identity.allow, or log in as somebody else.`,
  ],
  [
    /What the identity provider says about the user cannot be trusted/,
    `Its ID token or its userinfo is not as it has to be: another nonce, another audience, two subjects that disagree, a signature that no key verifies. ${details} mcp-gatehouse check --online asks for its keys.`,
  ],
  [
    /no key to sign access tokens with/,
    `The operator of the gateway has to see why: files need --signing-key-file to be readable; on Kubernetes the controller makes the keys, and sends them only over TLS (status of the ProxyPolicy: XdsNotEncrypted). ${details}`,
  ],
  [
    /The store of sessions does not answer/,
    `Is the store of the gateway (--store) up? Logins wait for it; tokens that were given out are accepted meanwhile. ${details}`,
  ],
  [
    /This session has ended/,
    'Log in again. Who ended it: mcp-gatehouse sessions revoke, the client itself, or a refresh token that was used twice.',
  ],
];

/** Undefined: this is no refusal of that kind. */
export function adviseOnIssuer(description: string): string | undefined {
  return remedies.find(([said]) => said.test(description))?.[1];
}
