// A client whose writes are only sent while this replica leads. A process that was stopped, or a machine that was suspended, goes on in the middle of
// what it was doing: another replica may lead by then, and know better.
import type { KubernetesClient } from '../kubernetes/client.ts';

/** Between two looks at who leads. */
const lookMs = 100;

/** Writes wait until this replica leads, or are called off. Each also has a precondition on what it changes; this is beside that. */
export function guardWrites(client: KubernetesClient, isLeading: () => boolean): KubernetesClient {
  const wait = async (signal: AbortSignal | undefined): Promise<void> => {
    while (!isLeading()) {
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, lookMs).unref());
    }
  };
  return {
    ...client,
    async create(type, object, signal) {
      await wait(signal);
      return client.create(type, object, signal);
    },
    async apply(type, object, options, signal) {
      await wait(signal);
      return client.apply(type, object, options, signal);
    },
    async replace(type, object, signal) {
      await wait(signal);
      return client.replace(type, object, signal);
    },
    async replaceStatus(type, object, signal) {
      await wait(signal);
      return client.replaceStatus(type, object, signal);
    },
    async mergePatch(type, name, patch, signal) {
      await wait(signal);
      return client.mergePatch(type, name, patch, signal);
    },
    async delete(type, name, preconditions, signal) {
      await wait(signal);
      return client.delete(type, name, preconditions, signal);
    },
  };
}
