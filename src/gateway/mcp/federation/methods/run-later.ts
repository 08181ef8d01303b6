// A request whose target has to be found out first.
import type { Running } from './federated-request.ts';

/** Runs as soon as it is known, unless the client is gone by then. */
export function runLater<Known>(
  awaited: Promise<Known>,
  run: (known: Known) => Running,
  onError: (error: unknown) => void,
): Running {
  let running: Running | undefined;
  let isGone = false;
  awaited
    .then((known) => {
      if (!isGone) running = run(known);
    })
    .catch((error: unknown) => {
      if (!isGone) onError(error);
    });
  return {
    resume: () => running?.resume(),
    abort() {
      isGone = true;
      running?.abort();
    },
  };
}
