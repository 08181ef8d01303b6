// Three clocks decide whether a token is in time: the identity provider's, which wrote it, the server's, which judges it, and this machine's, by which both can
// be compared. Pure.
import { describeOffset } from '../../base/clock-offset.ts';

/** How far ahead of this machine's clock the others are, in milliseconds. Undefined: it does not show. */
export interface ClockOffsets {
  readonly idpMs: number | undefined;
  readonly serverMs: number | undefined;
}

/** Whole seconds, a slow network, and a token that took its time. */
const toleranceMs = 20_000;

/** The most that clockSkew allows. */
const longestSkewMs = 600_000;

/** When a token was written, by its claims: iat, or what is left of exp without its lifetime. In milliseconds; undefined: it does not say. */
export function readWrittenAt(
  claims: Readonly<Record<string, unknown>>,
  lifetimeSeconds: number | undefined,
): number | undefined {
  const { iat, exp } = claims;
  if (typeof iat === 'number') return iat * 1_000;
  return typeof exp === 'number' && lifetimeSeconds !== undefined ? (exp - lifetimeSeconds) * 1_000 : undefined;
}

/** Whose clock is off, and what to do, as far as it can be told. Undefined: nothing shows that any is. */
export function judgeClocks({
  idpMs,
  serverMs,
}: ClockOffsets): { readonly text: string; readonly advice: string } | undefined {
  if (idpMs === undefined) {
    if (serverMs === undefined || isSmall(serverMs)) return undefined;
    return {
      text: `The server's clock is ${describe(serverMs)} this machine's. The token does not tell the identity provider's.`,
      advice: 'Compare all three with a time server (NTP), and set the one that is off.',
    };
  }
  if (serverMs === undefined) {
    if (isSmall(idpMs)) return undefined;
    return {
      text: `The identity provider's clock is ${describe(idpMs)} this machine's. The server does not tell its own.`,
      advice: 'Compare all three with a time server (NTP), and set the one that is off.',
    };
  }
  const differenceMs = idpMs - serverMs;
  if (isSmall(differenceMs)) {
    if (isSmall(serverMs)) return undefined;
    return {
      text: `This machine's clock is ${describe(-serverMs)} those of the identity provider and the server, which agree.`,
      advice: "Set this machine's clock (NTP). The server judges tokens by its own: this is not why it refuses one.",
    };
  }
  const bridge =
    Math.abs(differenceMs) <= longestSkewMs ? ' Until then, clockSkew of the policy bridges up to 10 min.' : '';
  if (isSmall(serverMs))
    return {
      text: `The identity provider's clock is ${describe(differenceMs)} those of the server and this machine, which agree.`,
      advice: `Set the identity provider's clock (NTP).${bridge}`,
    };
  if (isSmall(idpMs))
    return {
      text: `The server's clock is ${describe(-differenceMs)} those of the identity provider and this machine, which agree.`,
      advice: `Set the server's clock, which is the gateway's if one stands before it (NTP).${bridge}`,
    };
  return {
    text: `No two clocks agree: the identity provider's is ${describe(idpMs)} this machine's, and the server's is ${describe(serverMs)} it.`,
    advice: `Set all of them by a time server (NTP).${bridge}`,
  };
}

function isSmall(offsetMs: number): boolean {
  return Math.abs(offsetMs) <= toleranceMs;
}

/** "10 min ahead of". */
function describe(offsetMs: number): string {
  return `${describeOffset(offsetMs)} ${offsetMs > 0 ? 'ahead of' : 'behind'}`;
}
