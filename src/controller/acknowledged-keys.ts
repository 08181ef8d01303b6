// Which signing keys every gateway of a Gateway has: those of its present snapshot, once each process that counts has answered it and none refused it.
import type { AcknowledgedKeys } from '../deploy/plan-signing-keys.ts';
import { signingKeysKey } from '../ir/resource-keys.ts';
import type { GatewayFacts } from '../translate/gateway-facts.ts';

/** By Gateway; `sent` are the keys of the present snapshots. A Gateway without processes is missing: there is nobody who could tell. */
export function listAcknowledgedKeys(
  sent: ReadonlyMap<string, AcknowledgedKeys>,
  facts: ReadonlyMap<string, Pick<GatewayFacts, 'processes' | 'isSettled' | 'rejections'>>,
): ReadonlyMap<string, AcknowledgedKeys> {
  const acknowledged = new Map<string, AcknowledgedKeys>();
  for (const [gateway, keys] of sent) {
    const known = facts.get(gateway);
    if (known === undefined || known.processes === 0 || !known.isSettled('secrets', signingKeysKey)) continue;
    if (known.rejections.some(({ list, key }) => list === 'secrets' && key === signingKeysKey)) continue;
    acknowledged.set(gateway, keys);
  }
  return acknowledged;
}
