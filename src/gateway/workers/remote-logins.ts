// Asks the process that keeps the shared state of logins. If it cannot be asked, the answer is no.
import type { SharedLogins } from '../config/shared-logins.ts';
import type { CallChannel } from './call-channel.ts';
import type { SupervisorCalls } from './worker-calls.ts';

/** For the connection to one IdP. */
export function createRemoteLogins(
  channel: Pick<CallChannel<SupervisorCalls, object>, 'ask' | 'tell'>,
  id: string,
): SharedLogins {
  return {
    takeRegistration: (address, perMinute) =>
      channel.ask('takeRegistration', { id, address, perMinute }).catch(() => 1),
    loadDocument: (url, address, perMinute) =>
      channel
        .ask('loadDocument', { url, address, perMinute })
        .catch(() => ({ ok: false, problem: 'the document cannot be fetched at the moment' })),
    canFetchDocuments: () => channel.ask('canFetchDocuments', undefined).catch(() => true),
    async findRegistration(name, register) {
      const claim = await channel.ask('claimRegistration', name).catch(() => undefined);
      if (claim === undefined)
        return { ok: false, reason: 'idp_unavailable', detail: 'the process that keeps registrations is gone' };
      if (claim.kind === 'known') return claim.result;
      let result;
      try {
        result = await register();
      } finally {
        channel.tell('settleRegistration', { name, result });
      }
      return result;
    },
    forgetRegistration: (name) => channel.tell('forgetRegistration', name),
  };
}
