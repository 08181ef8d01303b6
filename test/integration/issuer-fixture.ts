// What the tests of the flow Issuer stand on: one gateway with a protected server for each identity provider, behind one address.
import assert from 'node:assert/strict';
import { profileSetups, type StartedIdp, startGithub, startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent, type Person } from '../idp/browser-agent.ts';
import { type FlowAnswer, FlowClient } from '../idp/flow-client.ts';
import type { GithubIdp } from '../idp/github-idp.ts';
import type { GithubApp } from '../idp/github-state.ts';
import { idpProfiles } from '../idp/idp-profiles.ts';
import {
  createSealKeyFile,
  formatResources,
  type ProtectedGateway,
  type ProtectedGatewayOptions,
  startProtectedGateway,
} from '../idp/protected-gateway.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import type { Quirks } from '../idp/quirks.ts';
import { startTcpSwitch, type TcpSwitch } from '../idp/tcp-switch.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { waitFor } from '../kit/wait-for.ts';

/** Starts an identity provider for the callback of one server. */
export type IdpStart<I extends StartedIdp = StartedIdp> = (callback: string) => Promise<I>;

type QuirkyStart = StartedIdp & { readonly quirky: QuirkyIdp };

/** One like those of idp-profiles.ts, with further switches and members of the policy. */
export function likeProfile(
  name: string,
  quirks: Partial<Quirks> = {},
  authentication: Readonly<Record<string, unknown>> = {},
): IdpStart<QuirkyStart> {
  const profile = idpProfiles.find((each) => each.name === name);
  assert.ok(profile !== undefined && profile.lacksMetadata !== true, name);
  return (callback) =>
    startQuirky(
      { ...profile.quirks, ...quirks },
      { ...profile.authentication, ...authentication },
      { callback, method: 'as-listed' },
    );
}

/** One like GitHub. */
export function likeGithub(
  kind: GithubApp['kind'],
  identity?: Readonly<Record<string, unknown>>,
): IdpStart<StartedIdp & { readonly github: GithubIdp }> {
  return (callback) => startGithub(kind, callback, identity);
}

/** A row of the compatibility matrix. */
export function likeSetup(name: string): IdpStart {
  return (callback) => profileSetups.find((setup) => setup.name === name)!.start(callback);
}

/** The whole of it. */
export interface IssuerSite<K extends string, S extends Readonly<Record<K, IdpStart>>> {
  readonly idps: { readonly [P in K]: Awaited<ReturnType<S[P]>> };
  readonly upstream: RecordingUpstream;
  readonly front: TcpSwitch;
  readonly gateway: ProtectedGateway;
  /** A second one with the same keys. */
  addGateway(flags?: readonly string[]): Promise<ProtectedGateway>;
  /** Where its keys are. */
  readonly keyFile: string;
  /** Changes the policy of one server. */
  changePolicy(name: K, authentication: Readonly<Record<string, unknown>>): void;
  urlOf(name: K): string;
  /** A client that has registered. */
  prepare(name: K): Promise<FlowClient>;
  /** One that has logged in. */
  connect(name: K, person?: Person): Promise<FlowClient>;
  /** What the log says with this reason since the last call of `forgetLog`. */
  waitForReason(reason: string): Promise<Record<string, unknown>>;
  forgetLog(): void;
  close(): Promise<void>;
}

/** Starts it: a server at `/name` for each identity provider. */
export async function startIssuerSite<K extends string, S extends Readonly<Record<K, IdpStart>>>(
  starts: S & Readonly<Record<K, IdpStart>>,
  { flags = [] }: { readonly flags?: readonly string[] } = {},
): Promise<IssuerSite<K, S>> {
  const stops: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const stop of stops.toReversed()) await stop();
  };
  try {
    const front = await startTcpSwitch();
    stops.push(() => front.close());
    const origin = `http://127.0.0.1:${front.port}`;
    const upstream = await startMcpUpstream();
    stops.push(() => upstream.close());
    const key = createSealKeyFile();
    stops.push(() => key.remove());
    const names = Object.keys(starts) as K[];
    const started = new Map<K, StartedIdp>();
    for (const name of names) {
      const idp = await starts[name](`${origin}/.oauth/${name}/callback`);
      started.set(name, idp);
      stops.push(() => idp.close());
    }
    const policies = new Map(names.map((name) => [name, started.get(name)!.authentication]));
    const describe = (): ProtectedGatewayOptions => ({
      backends: names.map((name) => ({ path: `/${name}`, port: upstream.port, authentication: policies.get(name) })),
      secrets: Object.assign({}, ...[...started.values()].map(({ secrets }) => secrets)) as Record<string, string>,
      sealKeyFile: key.path,
      origin,
      flags,
    });
    const gateway = await startProtectedGateway(describe());
    stops.push(() => gateway.stop());
    front.pointTo(gateway.port);
    let seen = 0;
    const prepare = (name: K): Promise<FlowClient> => new FlowClient(`${origin}/${name}`).prepare();
    return {
      idps: Object.fromEntries(started) as IssuerSite<K, S>['idps'],
      upstream,
      front,
      gateway,
      keyFile: key.path,
      async addGateway(others = []) {
        const options = describe();
        const another = await startProtectedGateway({ ...options, flags: [...(options.flags ?? []), ...others] });
        stops.push(() => another.stop());
        return another;
      },
      changePolicy(name, authentication) {
        policies.set(name, authentication);
        gateway.write(formatResources(gateway.port, describe()));
      },
      urlOf: (name) => `${origin}/${name}`,
      prepare,
      async connect(name, person = {}) {
        const client = await prepare(name);
        await client.redeem(await client.logIn(new BrowserAgent(), person));
        return client;
      },
      async waitForReason(reason) {
        const find = (): Record<string, unknown> | undefined =>
          gateway
            .readLog()
            .slice(seen)
            .find((record) => record['reason'] === reason);
        await waitFor(`the log says ${reason}`, () => find() !== undefined);
        return find()!;
      },
      forgetLog() {
        seen = gateway.readLog().length;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The request passed. */
export function assertAccepted(answer: FlowAnswer): void {
  assert.equal(answer.status, 200, `${answer.body} ${String(answer.headers['www-authenticate'])}`);
}

/** An OAuth error, for people to read and not to be cached. */
export function assertError(answer: FlowAnswer, status: number, error: string): void {
  assert.equal(answer.status, status, answer.body);
  const body = answer.json();
  assert.equal(body['error'], error, answer.body);
  assert.match(String(body['error_description']), /\w+ \w+/);
  assert.match(String(answer.headers['cache-control']), /no-store/);
  if (status === 503) assert.match(String(answer.headers['retry-after']), /^\d+$/);
}
