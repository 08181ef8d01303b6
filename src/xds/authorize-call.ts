// Authorizes peers before anything is sent, and rechecks open calls from time to time: tokens expire, and Gateways are deleted.
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import type { Log } from '../base/log.ts';
import type { OpenCall } from './open-call.ts';
import { callOrigin, createRefusal, type PeerRequest, type PeerVerdict, readToken } from './peer.ts';

export interface AuthorizeOptions {
  readonly log: Log;
  readonly recheckIntervalMs: number;
  /** Called for every refusal. */
  readonly refused: (code: 'unauthenticated' | 'permission_denied' | 'unavailable') => void;
}

/** The identity that a peer claims, and the function that verifies it. */
interface PeerClaim {
  readonly claim: Pick<PeerRequest, 'nodeId' | 'gateway'>;
  readonly authorize: (peer: PeerRequest) => Promise<PeerVerdict>;
  /** The call ends in time for the peer to reconnect with a fresh token. Not needed for calls that end with another one. */
  readonly endsWithToken: boolean;
}

/** A call ends this long before its token expires, or after nine tenths of the remaining time if that is later. Kubernetes has rotated the token by then. */
const maxMarginMs = 5 * 60_000;
const maxDelayMs = 2 ** 31 - 1;

/**
 * Throws when the peer is refused. The verdict is rechecked while the call is open: a denial ends the call, an unavailable verdict leaves
 * it open. A call with an expired token ends like at a shutdown, and the peer reconnects with its next token.
 * Returns the function that ends the rechecks.
 */
export async function authorizeCall(
  call: OpenCall,
  context: HandlerContext,
  { claim, authorize, endsWithToken }: PeerClaim,
  { log, recheckIntervalMs, refused }: AuthorizeOptions,
): Promise<() => void> {
  const origin = context.values.get(callOrigin);
  const { peerAddress } = origin;
  const peer: PeerRequest = { ...claim, token: readToken(context), peerAddress };
  const ask = async (): Promise<PeerVerdict> => {
    try {
      return await authorize(peer);
    } catch (error) {
      log.error({ err: error, peerAddress, ...claim }, 'a peer could not be authorized');
      return {
        allowed: false,
        code: 'unavailable',
        reason: 'the controller cannot verify your identity at the moment',
      };
    }
  };
  const refuse = (verdict: PeerVerdict & { allowed: false }): void => {
    refused(verdict.code);
    log.warn({ peerAddress, ...claim, code: verdict.code, reason: verdict.reason }, 'refused a peer');
    call.end(createRefusal(verdict));
  };
  const askForFreshToken = (reason: string): void => {
    log.debug({ peerAddress, ...claim, reason }, 'a peer has to reconnect with a fresh token');
    call.end(new ConnectError(`${reason}; reconnect with a fresh one`, Code.Unavailable));
  };

  const verdict = await call.until(ask());
  if (!verdict.allowed) {
    refuse(verdict);
    throw createRefusal(verdict);
  }
  origin.trust();

  let isAsking = false;
  const recheck = async (): Promise<void> => {
    if (isAsking || call.error !== undefined) return;
    isAsking = true;
    const later = await ask();
    isAsking = false;
    if (later.allowed || later.code === 'unavailable' || call.error !== undefined) return;
    // The token was valid when the call began. If the next token is not, the next call is refused.
    if (later.code === 'unauthenticated') askForFreshToken('the token is not accepted any more');
    else refuse(later);
  };
  const interval = setInterval(() => void recheck(), recheckIntervalMs).unref();
  const leftMs = endsWithToken && verdict.expiresAt !== undefined ? verdict.expiresAt - Date.now() : 0;
  const marginMs = Math.min(maxMarginMs, leftMs / 10) * (0.5 + Math.random() / 2);
  const expiry =
    leftMs > 0
      ? setTimeout(() => askForFreshToken('the token is about to expire'), Math.min(leftMs - marginMs, maxDelayMs))
      : undefined;
  expiry?.unref();
  return () => {
    clearInterval(interval);
    clearTimeout(expiry);
  };
}
