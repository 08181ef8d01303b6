// A whole list, page by page.
import { ApiError, type KubernetesClient, type Scope } from './client.ts';
import type { Relist } from './known-objects.ts';
import type { ResourceType } from './resource-type.ts';

/** Lists everything and returns the resourceVersion of the list. `begin` is called again when the list has to start over. */
export async function listAllPages(
  client: KubernetesClient,
  type: ResourceType,
  scope: Scope,
  signal: AbortSignal,
  begin: () => Relist,
): Promise<string> {
  let relist = begin();
  let token: string | undefined;
  let limit: number | undefined;
  for (;;) {
    try {
      const page = await client.list(type, scope, { continue: token, limit }, signal);
      // The call may have been aborted while the response was in flight.
      signal.throwIfAborted();
      for (const object of page.items) relist.see(object);
      token = page.continue;
      if (token !== undefined) continue;
      relist.end();
      return page.resourceVersion;
    } catch (error) {
      const isExpired = error instanceof ApiError && error.status.code === 410 && token !== undefined;
      if (!isExpired) throw error;
      // The continue token has expired: reading took too long. Start over without paging, which cannot expire.
      relist = begin();
      token = undefined;
      limit = 0;
    }
  }
}
