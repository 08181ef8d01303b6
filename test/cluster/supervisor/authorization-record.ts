// Writes down what the API server asks its authorizers about one user, before RBAC answers: the requests, and what admission and creation by patch ask beside
// them, which no audit log has. It is a webhook that has no opinion.
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** The name of the file with the record, one SubjectAccessReviewSpec in each line. */
export const authorizationRecordFile = 'authorizations.jsonl';

export interface AuthorizationRecordOptions {
  /** `system:serviceaccount:NAMESPACE:NAME` */
  readonly user: string;
  /** Where the API server's configuration goes. */
  readonly configFolder: string;
  readonly logFolder: string;
}

/** Starts to write. Returns the file for `--authorization-config`. */
export async function startAuthorizationRecord(options: AuthorizationRecordOptions): Promise<string> {
  const record = join(options.logFolder, authorizationRecordFile);
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const review = JSON.parse(await text(request)) as { readonly apiVersion: string; readonly spec: object };
      appendFileSync(record, `${JSON.stringify(review.spec)}\n`);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ...review, status: { allowed: false } }));
    };
    // Whoever asked may be gone before the question is complete.
    answer().catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;

  const kubeConfigFile = join(options.configFolder, 'authorization-record.kubeconfig');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'record', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'apiserver', user: {} }],
    contexts: [{ name: 'record', context: { cluster: 'record', user: 'apiserver' } }],
    'current-context': 'record',
  };
  await writeFile(kubeConfigFile, JSON.stringify(kubeconfig));
  const configFile = join(options.configFolder, 'authorization.json');
  const webhook = {
    // Nothing is remembered: every question is written down.
    authorizedTTL: '1ms',
    unauthorizedTTL: '1ms',
    timeout: '10s',
    subjectAccessReviewVersion: 'v1',
    matchConditionSubjectAccessReviewVersion: 'v1',
    // A record with a gap would prove nothing.
    failurePolicy: 'Deny',
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile },
    matchConditions: [{ expression: `request.user == ${JSON.stringify(options.user)}` }],
  };
  const config = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers: [
      { type: 'Webhook', name: 'record', webhook },
      { type: 'RBAC', name: 'rbac' },
    ],
  };
  await writeFile(configFile, JSON.stringify(config));
  return configFile;
}
