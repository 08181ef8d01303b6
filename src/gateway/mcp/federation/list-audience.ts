// To whom a server may list something else: a client of another version, or with other capabilities. A short text, whatever a client says of itself: lists are kept by it.
import { createHash } from 'node:crypto';
import type { Speaker } from './target.ts';

type Audience = Pick<Speaker, 'version' | 'capabilities'>;

const maxLength = 200;
const known = new WeakMap<Audience, string>();

/** The same for clients that get the same lists, apart from who they are. */
export function formatAudience(speaker: Audience): string {
  let audience = known.get(speaker);
  if (audience === undefined) {
    const { version, capabilities } = speaker;
    const text = `${version}\0${capabilities}`;
    audience = text.length <= maxLength ? text : createHash('sha256').update(text).digest('base64url');
    known.set(speaker, audience);
  }
  return audience;
}
