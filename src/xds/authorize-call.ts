// Lets peers in, and looks again from time to time whether they still may: tokens expire, and Gateways go away. Nobody is sent anything before.
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import type { Log } from '../base/log.ts';
import type { OpenCall } from './open-call.ts';
import { callOrigin, createRefusal, type PeerRequest, type PeerVerdict, readToken } from './peer.ts';

export interface AuthorizeOptions {
  readonly log: Log;
  readonly recheckIntervalMs: number;
  /** Told about every refusal. */
  readonly refused: (code: 'unauthenticated' | 'permission_denied' | 'unavailable') => void;
}

/** What a peer says it is, and who judges that. */
export interface PeerClaim {
  readonly claim: Pick<PeerRequest, 'nodeId' | 'gateway'>;
  readonly authorize: (peer: PeerRequest) => Promise<PeerVerdict>;
  /** The call ends in time for the peer to come back with a fresh token. Calls that live and die with another one need not. */
  readonly endsWithToken: boolean;
}

/** How long before its token expires a call ends, at most; a tenth of the time that is left if that is less. Kubernetes has made the next one by then. */
const maxMarginMs = 5 * 60_000;
const maxDelayMs = 2 ** 31 - 1;

/**
 * Throws when the peer may not have what it asks for. The verdict is asked for again while the call is open: a denial ends it, and no verdict leaves
 * it as it is. A token that has become too old is no offence: such a call ends as a shutdown would end it, and the peer comes back with the next one.
 * Returns the function that ends the asking.
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
      log.error({ err: error, peerAddress, ...claim }, 'could not find out whether a peer may connect');
      return { allowed: false, code: 'unavailable', reason: 'the controller cannot tell who you are at the moment' };
    }
  };
  const refuse = (verdict: PeerVerdict & { allowed: false }): void => {
    refused(verdict.code);
    log.warn({ peerAddress, ...claim, code: verdict.code, reason: verdict.reason }, 'refused a peer');
    call.end(createRefusal(verdict));
  };
  const askForFreshToken = (reason: string): void => {
    log.debug({ peerAddress, ...claim, reason }, 'a peer has to come back with a fresh token');
    call.end(new ConnectError(`${reason}; come back with a fresh one`, Code.Unavailable));
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
    // It was good when the call began. If the next one is not, the next call is refused.
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
