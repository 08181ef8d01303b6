// The limit of registrations per address: a bucket in this process or shared by its workers, and with a shared store a count of all gateways.
import type { OAuthRequest } from '../oauth-endpoint.ts';
import { createLimiters, groupAddress } from './address-limiter.ts';

/** One per connection to an IdP: survives configuration changes that do not concern it. */
const findLimiter = createLimiters();

const minuteMs = 60_000;

/** Takes a turn. 0: it was there; otherwise the seconds until it is worth trying again. */
export async function takeRegistrationTurn(request: OAuthRequest, perMinute: number): Promise<number> {
  const waitSeconds = await takeHere(request, perMinute);
  // Whoever is over the limit here does not get to ask the store.
  return waitSeconds > 0 ? waitSeconds : takeEverywhere(request, perMinute);
}

function takeHere({ context, resource: { config }, now }: OAuthRequest, perMinute: number): number | Promise<number> {
  const { address } = context.client;
  if (config.idp.shared !== undefined) return config.idp.shared.takeRegistration(address, perMinute);
  return findLimiter(config.idp).take(address, perMinute, now());
}

/** Counts by the minute. While the store does not answer, each gateway counts for itself: clients can register, and are limited. */
async function takeEverywhere({ context, resource: { config }, now }: OAuthRequest, perMinute: number) {
  if (config.registrationCounts === undefined) return 0;
  const nowMs = now();
  const minute = Math.floor(nowMs / minuteMs);
  const key = `${config.source} ${groupAddress(context.client.address)} ${minute}`;
  // Clocks of gateways differ.
  const counted = await config.registrationCounts.count(key, 2 * minuteMs);
  if (!counted.ok || counted.value <= perMinute) return 0;
  return Math.max(1, Math.ceil(((minute + 1) * minuteMs - nowMs) / 1_000));
}
