// What errors of a Redis server, and of the way to it, mean for the operator.

/** A problem with the server. */
export interface RedisProblem {
  /** Another try cannot help: a setting is wrong, here or there. */
  readonly isFinal: boolean;
  /** Never holds a value or a credential. */
  readonly detail: string;
}

/** Set where a command got no answer in time. */
export class RedisTimeoutError extends Error {
  readonly code = 'REDIS_TIMEOUT';
}

const needed = 'see the ACL in docs/store.md';

/** By the first word of an error reply. */
const replies: Readonly<Record<string, RedisProblem>> = {
  WRONGPASS: { isFinal: true, detail: 'user name or password are wrong' },
  NOAUTH: { isFinal: true, detail: 'it asks for a password: --store-password-file names the file with it' },
  OOM: { isFinal: false, detail: 'its memory is full (maxmemory)' },
  READONLY: { isFinal: false, detail: 'it is a replica, which cannot be written to' },
  LOADING: { isFinal: false, detail: 'it is still loading its data' },
  MISCONF: { isFinal: false, detail: 'it refuses writes, because it cannot save its data' },
  MASTERDOWN: { isFinal: false, detail: 'it is a replica without its primary' },
  MOVED: { isFinal: true, detail: 'it is a node of a cluster; the store needs a server that has all keys' },
  NOREPLICAS: { isFinal: false, detail: 'it refuses writes, because too few replicas are there' },
  BUSY: { isFinal: false, detail: 'it is busy with a script' },
};

/** By the code of an error of Node. */
const codes: Readonly<Record<string, RedisProblem>> = {
  REDIS_TIMEOUT: { isFinal: false, detail: 'it does not answer in time' },
  ECONNREFUSED: { isFinal: false, detail: 'nothing listens there' },
  ECONNRESET: { isFinal: false, detail: 'it closed the connection' },
  EPIPE: { isFinal: false, detail: 'it closed the connection' },
  ENOTFOUND: { isFinal: false, detail: 'there is no such host' },
  EAI_AGAIN: { isFinal: false, detail: 'the name of the host cannot be looked up at the moment' },
  ETIMEDOUT: { isFinal: false, detail: 'it does not answer in time' },
  EHOSTUNREACH: { isFinal: false, detail: 'there is no route to the host' },
  ENETUNREACH: { isFinal: false, detail: 'there is no route to the host' },
  CERT_HAS_EXPIRED: { isFinal: true, detail: 'its certificate has expired' },
  ERR_TLS_CERT_ALTNAME_INVALID: { isFinal: true, detail: 'its certificate is for another host' },
  ERR_SSL_WRONG_VERSION_NUMBER: { isFinal: true, detail: 'it does not speak TLS: use redis:// instead of rediss://' },
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: {
    isFinal: true,
    detail: 'it asks for a certificate of clients (tls-auth-clients), which is not supported',
  },
};

const untrusted: RedisProblem = {
  isFinal: true,
  detail: 'its certificate is not signed by a CA that is known: --store-ca-file names the file with the CA',
};
const untrustedCodes: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Describes an error that the client library threw. */
export function describeRedisError(error: unknown): RedisProblem {
  if (!(error instanceof Error)) return { isFinal: false, detail: 'it failed' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (untrustedCodes.has(code)) return untrusted;
  const known = codes[code];
  if (known !== undefined) return known;
  return describeReply(error.message) ?? describeClientError(error, code);
}

/** Undefined: the text is not an error reply of a server. */
function describeReply(text: string): RedisProblem | undefined {
  const [word] = text.split(' ', 1) as [string];
  const known = replies[word];
  if (known !== undefined) return known;
  // NOPERM User x has no permissions to run the 'getdel' command; or ... to access one of the keys
  const forbidden = /^NOPERM .*?'([\w|-]+)' command/.exec(text)?.[1];
  if (forbidden !== undefined) return { isFinal: true, detail: `its user may not run ${forbidden}: ${needed}` };
  if (word === 'NOPERM')
    return { isFinal: true, detail: `its user may not use keys that begin with mcp-gatehouse: (${needed})` };
  if (/without any password configured|no password is set/.test(text))
    return { isFinal: true, detail: 'it has no password, and one was given: leave out --store-password-file' };
  if (/DB index|invalid DB/i.test(text)) return { isFinal: true, detail: 'it has no database of that number' };
  const unknown = /^ERR unknown command '?"?`?([\w|-]+)/i.exec(text)?.[1];
  if (unknown !== undefined)
    return {
      isFinal: true,
      detail: `it does not know the command ${unknown}: Valkey, or Redis 6.2 or newer is needed`,
    };
  // Inside a script: ERR ACL failure in script: User x has no permissions to run the 'incr' command script: ...
  const inScript = /no permissions to run the '([\w|-]+)' command/.exec(text)?.[1];
  if (inScript !== undefined) return { isFinal: true, detail: `its user may not run ${inScript}: ${needed}` };
  if (text.includes("The user executing the script can't run this command"))
    return { isFinal: true, detail: `its user may not run one of the commands inside scripts: ${needed}` };
  // An error that scripts pass on has its own word inside.
  const passedOn = Object.entries(replies).find(([name]) => new RegExp(`\\b${name} `).test(text));
  if (passedOn !== undefined) return passedOn[1];
  return /^[A-Z]{2,}$/.test(word) ? { isFinal: false, detail: `it answered with the error ${word}` } : undefined;
}

function describeClientError(error: Error, code: string): RedisProblem {
  switch (error.constructor.name) {
    case 'ConnectionTimeoutError':
    case 'SocketTimeoutError':
      return codes['ETIMEDOUT']!;
    case 'SocketClosedUnexpectedlyError':
    case 'DisconnectsClientError':
    case 'ClientClosedError':
    case 'ClientOfflineError':
      return codes['ECONNRESET']!;
    default:
      return { isFinal: false, detail: code === '' ? `it failed (${error.constructor.name})` : `it failed (${code})` };
  }
}
