// A real Dex for tests, with the configuration and the policy of docs/idp/dex.md: in memory, people with static passwords, one client for the gateway.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { dexVersion } from '../../scripts/install-dex.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import type { AuthSetup, StartedIdp } from './auth-setups.ts';
import { readBlockWith } from './page-blocks.ts';
import { passOn } from './pass-on.ts';
import { readPagePolicy } from './page-policy.ts';
import { startRealIdp } from './real-idp.ts';
import { startSwitchableServer } from './switchable-server.ts';

const page = 'idp/dex.md';
const secret = 'the-secret-of-the-shared-client';

/** The one way of registration that it has, with Dex's own tokens and with the gateway's. `folder` holds the program. */
export function createDexSetups(folder: string): AuthSetup[] {
  const common = { isShared: true, refreshes: true } as const;
  const minor = dexVersion.replace(/\.\d+$/, '');
  const policy = readPagePolicy(page);
  const { audiences: _, ...withoutAudience } = policy;
  return [
    {
      ...common,
      name: `Dex ${minor}, Shared`,
      flow: 'Broker',
      page: { path: page, issuer: 'https://dex.example.com/dex' },
      start: (callback) => startDex(folder, callback, policy),
    },
    {
      ...common,
      name: `Dex ${minor}, Issuer`,
      flow: 'Issuer',
      start: (callback) => {
        const issuing = { flow: 'Issuer', identity: { allow: { domains: ['example.com'] } } };
        return startDex(folder, callback, { ...withoutAudience, ...issuing, requiredScopes: ['tickets:read'] });
      },
    },
  ];
}

interface DexConfiguration {
  readonly staticClients: readonly object[];
}

async function startDex(
  folder: string,
  callback: string,
  policy: Readonly<Record<string, unknown>>,
): Promise<StartedIdp> {
  const [port] = await findFreePorts(1);
  const origin = `http://127.0.0.1:${port}`;
  // In front of it a server that notes what arrives: that is the issuer.
  const server = await startSwitchableServer(() => (incoming, outgoing) => passOn(origin, incoming, outgoing));
  const issuer = `${server.origin}/dex`;
  const scratch = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-dex-'));
  const close = async (): Promise<void> => {
    await server.close();
    await rm(scratch, { recursive: true, force: true });
  };
  try {
    const shown = parse(readBlockWith(page, 'text', 'staticClients')) as DexConfiguration;
    const configuration = {
      ...shown,
      issuer,
      storage: { type: 'memory' },
      web: { http: `127.0.0.1:${port}` },
      staticClients: [{ ...shown.staticClients[0], secret, redirectURIs: [callback] }],
    };
    const file = join(scratch, 'dex.yaml');
    await writeFile(file, stringify(configuration));
    const dex = await startRealIdp({
      title: 'Dex',
      command: join(folder, 'dex'),
      args: ['serve', file],
      findOrigin: async () => ((await isAnswering(`${origin}/dex/healthz`)) ? origin : undefined),
    });
    return {
      issuer,
      server,
      authentication: { ...policy, issuer },
      secrets: { 'client-secret': secret },
      quirky: undefined,
      rotateKeys: () => Promise.reject(new Error('Dex rotates its keys by the clock only')),
      close: async () => {
        await dex.stop();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function isAnswering(url: string): Promise<boolean> {
  return fetch(url).then(
    (answer) => answer.ok,
    () => false,
  );
}
