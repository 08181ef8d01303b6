// Which ports for traffic cannot be opened: asked when a start fails anyway, so that it names everything that is in the way.
import { createPortClaims } from '../gateway/workers/port-claims.ts';
import { silentLog } from '../base/log.ts';
import type { Configuration } from '../ir/configuration.ts';
import { compileUnconnected } from './unconnected-idp.ts';

/** One line for each. Opens every port for a moment. */
export async function findTakenPorts(configuration: Configuration): Promise<readonly string[]> {
  const { runtime, fetcher } = compileUnconnected(configuration);
  try {
    const problems = await createPortClaims({ log: silentLog }).reconcile(runtime.ports);
    return problems.map(({ message }) => message);
  } finally {
    await fetcher.close();
  }
}
