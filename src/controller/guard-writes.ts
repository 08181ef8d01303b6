// A client that sends writes only while this replica leads. A process that was paused, or a machine that was suspended, resumes in the middle of its
// work: another replica may lead by then.
import type { KubernetesClient } from '../kubernetes/client.ts';

/** The interval between two checks of the leadership. */
const pollMs = 100;

/** Writes wait until this replica leads or they are aborted. In addition, each write has a precondition on the object that it changes. */
export function guardWrites(client: KubernetesClient, isLeading: () => boolean): KubernetesClient {
  const wait = async (signal: AbortSignal | undefined): Promise<void> => {
    while (!isLeading()) {
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, pollMs).unref());
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
