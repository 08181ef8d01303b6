// What the mcp-auth-broker tests stand on: gateways in this process (so that a test decides what names resolve to), and an IdP with one user.
import { createHash, randomBytes } from 'node:crypto';
import { createFetcher, type FetcherOptions } from '../../src/base/fetch-json.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { addSealKeys } from '../../src/cmd/seal-keys.ts';
import { defaultUpstreamLimits } from '../../src/gateway/forward/upstream/upstream-limits.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { defaultListenLimits } from '../../src/gateway/listen/limits.ts';
import { createGatewayMetrics } from '../../src/gateway/observe/request-metrics.ts';
import { createFixedSource } from '../../src/sources/fixed-source.ts';
import { translate } from '../../src/translate/translate.ts';
import { formatResources, type ProtectedGatewayOptions } from '../idp/protected-gateway.ts';
import { type QuirkyIdp, startQuirkyIdp } from '../idp/quirky-idp.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import type { Closable } from './gateway-fixture.ts';

/** An IdP where everybody is logged in already. Every client needs its secret, and cookies come with what it answers. */
export function startBrokerIdp(): Promise<QuirkyIdp> {
  return startQuirkyIdp({
    knownUser: 'alice',
    metadataDocuments: ['oauth-authorization-server'],
    tokenEndpointAuthMethods: ['client_secret_basic'],
    insistsOnMethod: 'client_secret_basic',
    advertisesIss: true,
    emitsIss: 'always',
    talksTooMuch: true,
  });
}

const shared = { clientId: 'shared-client', secret: 'shared-secret' };

/** Of the policy of a gateway that has one client at the IdP for all. */
export const sharedRegistration = {
  mode: 'Shared',
  clientId: shared.clientId,
  clientSecretRef: { name: 'idp', key: 'secret' },
};

/** The Secret `idp` of such a gateway. */
export const sharedSecrets = { secret: shared.secret };

/** Makes the gateway's client known to the IdP. */
export function addSharedClient(idp: QuirkyIdp, gateway: BrokerGateway): void {
  const redirectUris = [`${gateway.url}/.oauth/mcp/callback`];
  idp.addClient({ id: shared.clientId, secret: shared.secret, redirectUris });
}

/** A gateway in this process. */
export interface BrokerGateway extends Closable {
  readonly port: number;
  readonly url: string;
}

export interface BrokerGatewayOptions extends Pick<ProtectedGatewayOptions, 'backends' | 'secrets' | 'listener'> {
  /** The first seals, both open. */
  readonly keys: readonly [Uint8Array, Uint8Array?];
  readonly fetcher?: FetcherOptions;
  /** The port of one that runs no more: restarted, or another replica behind the same address. */
  readonly port?: number;
  readonly resources?: readonly object[];
}

/** Starts a gateway. */
export async function startBrokerGateway(options: BrokerGatewayOptions): Promise<BrokerGateway> {
  const port = options.port ?? (await findFreePorts(1))[0]!;
  const fetcher = createFetcher(options.fetcher);
  const metrics = createGatewayMetrics(createMetrics(), 'test');
  const gateway = createGateway({
    log: silentLog,
    listenLimits: defaultListenLimits,
    upstreamLimits: defaultUpstreamLimits,
    metrics: metrics.requests,
    connectionMetrics: metrics.connections,
    upstreamMetrics: metrics.upstreams,
    configMetrics: metrics.config,
    accessLog: undefined,
    tracing: undefined,
    fetcher,
  });
  const resources = [...formatResources(port, options), ...(options.resources ?? [])];
  const { configuration } = translate(createFixedSource(resources).resources.get());
  const [current, previous] = options.keys;
  const report = await gateway.apply(addSealKeys(configuration, { current, previous }));
  if (report.problems.length > 0 || report.bindProblems.length > 0) throw new Error(JSON.stringify(report));
  const isTls = options.listener !== undefined && 'tls' in options.listener;
  return {
    port,
    url: `${isTls ? 'https' : 'http'}://127.0.0.1:${port}`,
    close: async () => {
      await gateway.drain(0);
      await fetcher.close();
    },
  };
}

/** A PKCE pair. */
export function createPkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
