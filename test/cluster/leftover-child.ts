// Starts a cluster with a pod, tells its parent, and waits to be killed: for leftovers.test.ts.
import { observedImages, startObservedPod } from './observed-pod.ts';
import { startCluster } from './start-cluster.ts';

const cluster = await startCluster({ images: observedImages, hasCrds: false });
const address = await startObservedPod(cluster, 'left');
await cluster.blackHole({ from: address, to: '192.0.2.1' });
process.send?.({ slot: cluster.addresses.slot, folder: cluster.folder, address });
