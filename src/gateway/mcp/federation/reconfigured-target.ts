// A target with other members: its connections stay what they are while its prefix, its selection or its failure mode changes.
import type { FederationTarget } from '../../config/federation-config.ts';
import type { Target } from './target.ts';

/** The target with another configuration. */
export function withConfig(target: Target, config: FederationTarget): Target {
  return target.config === config ? target : replaceMembers(target, { config });
}

/** The target with these members in place of its own. */
export function replaceMembers(target: Target, members: Partial<Target>): Target {
  return {
    config: target.config,
    describe: () => target.describe(),
    introduce: (speaker) => target.introduce(speaker),
    request: (speaker, message, events) => target.request(speaker, message, events),
    resumeCall: (speaker, place, events) => target.resumeCall(speaker, place, events),
    notify: (speaker, text) => target.notify(speaker, text),
    listen: (speaker, filter, events) => target.listen(speaker, filter, events),
    endSession: (speaker) => target.endSession(speaker),
    onHealthChange: (listener) => target.onHealthChange(listener),
    close: () => target.close(),
    ...members,
  };
}
