// The store in the pods of a gateway: variables for its flags, and the files with its password and its CA.
import type { GatewayStore } from '../api/gateway-store.ts';
import type { Json } from './merge-values.ts';

const passwordFolder = '/var/run/secrets/mcp-gateway-store';
const caFolder = '/etc/mcp-gateway/store-ca';
const passwordFile = 'password';
const caFile = 'ca.crt';

/** What a pod gets for its store; nothing when there is none. */
interface RenderedStore {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly volumes: readonly Json[];
  readonly mounts: readonly Json[];
}

/** Renders it. */
export function renderStore(server: GatewayStore['redis'] | undefined): RenderedStore {
  if (server === undefined) return { environment: {}, volumes: [], mounts: [] };
  const { url, username, passwordRef, caCertificateRef } = server;
  const items = [{ key: caFile, path: caFile }];
  return {
    environment: {
      MCP_GATEHOUSE_STORE: url,
      MCP_GATEHOUSE_STORE_USERNAME: username,
      MCP_GATEHOUSE_STORE_PASSWORD_FILE: passwordRef && `${passwordFolder}/${passwordFile}`,
      MCP_GATEHOUSE_STORE_CA_FILE: caCertificateRef && `${caFolder}/${caFile}`,
    },
    volumes: [
      ...(passwordRef === undefined
        ? []
        : [
            {
              name: 'store-password',
              secret: { secretName: passwordRef.name, items: [{ key: passwordRef.key, path: passwordFile }] },
            },
          ]),
      ...(caCertificateRef === undefined
        ? []
        : [
            {
              name: 'store-ca',
              ...(caCertificateRef.kind === 'Secret'
                ? { secret: { secretName: caCertificateRef.name, items } }
                : { configMap: { name: caCertificateRef.name, items } }),
            },
          ]),
    ],
    mounts: [
      ...(passwordRef === undefined ? [] : [{ name: 'store-password', mountPath: passwordFolder, readOnly: true }]),
      ...(caCertificateRef === undefined ? [] : [{ name: 'store-ca', mountPath: caFolder, readOnly: true }]),
    ],
  };
}
