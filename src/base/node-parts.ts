// Parts of Node that are loaded when they are first used. An import loads them with the program: TLS, HTTP/2 and compression take milliseconds and megabytes of
// a gateway that has none of them, and what can be imported from node:http includes the classes of fetch, which bring a whole HTTP client along.

let http: typeof import('node:http') | undefined;
let http2: typeof import('node:http2') | undefined;
let tls: typeof import('node:tls') | undefined;
let zlib: typeof import('node:zlib') | undefined;

/** node:http. */
export function getHttp(): typeof import('node:http') {
  http ??= process.getBuiltinModule('node:http');
  return http;
}

/** node:http2. */
export function getHttp2(): typeof import('node:http2') {
  http2 ??= process.getBuiltinModule('node:http2');
  return http2;
}

/** node:tls. */
export function getTls(): typeof import('node:tls') {
  tls ??= process.getBuiltinModule('node:tls');
  return tls;
}

/** node:zlib. */
export function getZlib(): typeof import('node:zlib') {
  zlib ??= process.getBuiltinModule('node:zlib');
  return zlib;
}
