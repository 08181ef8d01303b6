// Tells when a gateway has read its files again, also when there is nothing to say about them: a file of its own, which is read in every reading. When its change
// is in force, so is what was written before it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { routeResource } from './gateway-resources.ts';
import type { GatewayRun } from './run-gateway.ts';
import { waitFor } from './wait-for.ts';

export interface ReadMarker {
  readonly folder: string;
  /** Of the gateway. */
  readonly flags: readonly string[];
  /** How often it was waited for. */
  readonly readings: number;
  /** Resolves when the gateway has read what was written before. */
  waitUntilRead(gateway: GatewayRun): Promise<void>;
  remove(): void;
}

/** Makes the file. The Gateway must be called `test`. */
export function createReadMarker(): ReadMarker {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-marker-'));
  let readings = 0;
  const write = (): void => {
    readings += 1;
    const redirect = {
      matches: [{ path: { type: 'Exact', value: '/marker' } }],
      filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: `reading-${readings}.example` } }],
    };
    writeFileSync(join(folder, 'marker.yaml'), JSON.stringify(routeResource('marker', [redirect])));
  };
  write();
  return {
    folder,
    flags: ['-f', folder, '--reload-settle', '5ms'],
    get readings() {
      return readings;
    },
    async waitUntilRead(gateway) {
      write();
      const wanted = `reading-${readings}.example`;
      // Asked of the admin port: a policy whose targets cannot be read closes every route there is.
      await waitFor('the gateway has read its files', async () => {
        const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}/config`);
        return (await answer.text()).includes(wanted);
      });
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
