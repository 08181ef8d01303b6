// nginx as a plain proxy: what every proxy has to do, and nothing else.
import type { PeerPorts } from '../bench-case.ts';

export interface NginxOptions {
  /** Passes bodies on as they come, as event streams need it. By itself nginx collects them first, on disk if they are long. */
  readonly streams?: boolean;
}

/** One worker, connections to the upstream kept, a line in the access log per request. */
export function configureNginx(
  { gateway, upstream, folder }: PeerPorts,
  { streams = false }: NginxOptions = {},
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
${process.getuid?.() === 0 ? 'user root;\n' : ''}worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 24000; }
http {
  access_log /dev/null combined;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_max_body_size 0;
  upstream server {
    server 127.0.0.1:${upstream};
    keepalive 256;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
  }
  server {
    listen 127.0.0.1:${gateway} backlog=4096;
    location / {
      proxy_pass http://server;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_read_timeout 1h;
      proxy_buffering ${streams ? 'off' : 'on'};
      proxy_request_buffering ${streams ? 'off' : 'on'};
    }
  }
}
`;
}
