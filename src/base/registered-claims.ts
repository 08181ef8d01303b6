// Claims whose meaning is fixed: in tokens of its own the gateway sets them, or leaves them out. An identity provider never does (RFC 7519 4.1, RFC 9068 2.2).

/** Their names. `scp` is among them because it is read as scopes. */
export const registeredClaims: readonly string[] = [
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'client_id',
  'scope',
  'scp',
  'idp',
  'typ',
  'azp',
  'cnf',
  'act',
  'may_act',
  'authorization_details',
  'nonce',
  'at_hash',
  'c_hash',
  's_hash',
  'sid',
  'events',
];
