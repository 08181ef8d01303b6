// Builds the Go programs that the heavier suites need, in the order in which CI comes to them. Each suite builds what it needs itself where this was not done.
import { installDex } from './install-dex.ts';
import { installEtcd } from './install-etcd.ts';
import { installGatewayApi } from './install-gateway-api.ts';
import { installHelm } from './install-helm.ts';
import { installEndpointPicker, installInferenceExtension } from './install-inference-extension.ts';
import { installKubernetes } from './install-kubernetes.ts';
import { runInstaller } from './install-once.ts';

await runInstaller('Helm', installHelm);
await runInstaller('Dex', installDex);
await runInstaller('etcd', installEtcd);
await runInstaller('Gateway API', installGatewayApi);
await runInstaller('Kubernetes', installKubernetes);
await runInstaller('Inference Extension', installInferenceExtension);
await runInstaller('Endpoint picker', installEndpointPicker);
