// HAProxy with its own check of tokens. It has no cache for them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PeerPorts } from '../bench-case.ts';
import { audience, issuer, publicKeyPem } from '../bench-tokens.ts';

/** One thread, connections to the upstream kept and shared, a line in the log per request. It wants the key in a file. */
export function configureHaproxy({ gateway, upstream, folder }: PeerPorts): string {
  const keyFile = join(folder, 'key.pem');
  writeFileSync(keyFile, publicKeyPem);
  return `global
  nbthread 1
  maxconn 9000
  log stdout format raw local0 info
defaults
  mode http
  log global
  option httplog
  timeout connect 5s
  timeout client 1h
  timeout server 1h
frontend clients
  bind 127.0.0.1:${gateway}
  http-request set-var(txn.token) http_auth_bearer
  http-request set-var(txn.alg) var(txn.token),jwt_header_query('$.alg')
  http-request set-var(txn.iss) var(txn.token),jwt_payload_query('$.iss')
  http-request set-var(txn.aud) var(txn.token),jwt_payload_query('$.aud')
  http-request set-var(txn.exp) var(txn.token),jwt_payload_query('$.exp','int')
  http-request set-var(txn.now) date()
  http-request deny deny_status 401 unless { var(txn.alg) -m str RS256 }
  http-request deny deny_status 401 unless { var(txn.iss) -m str ${issuer} }
  http-request deny deny_status 401 unless { var(txn.aud) -m str ${audience} }
  http-request deny deny_status 401 if { var(txn.exp),sub(txn.now) -m int lt 0 }
  http-request deny deny_status 401 unless { var(txn.token),jwt_verify(txn.alg,"${keyFile}") 1 }
  http-request del-header authorization
  default_backend server
backend server
  http-reuse always
  server upstream 127.0.0.1:${upstream}
`;
}
