// The ids under which a client sees the questions of servers (sampling, elicitation, roots). Two servers count from the same number, so each id is sealed with
// the target and its own id: no two collide, only the client of that session can answer, and any replica can pass the answer on.
import type { Sealer } from '../../../base/sealed.ts';

const purpose = 'mcp-federated-question';

/** What an id stands for. */
interface Question {
  readonly target: string;
  /** JSON of the server's own id. */
  readonly id: string;
}

/** JSON of the id for the client. `session`: the name of its session. Always the same one, because a server can cancel what it has asked. */
export function sealQuestion(sealer: Sealer, session: string, { target, id }: Question): string {
  return JSON.stringify(sealer.sealRepeatably(purpose, [target, id], session)[0]);
}

/** The question that an answer with this id (JSON) is for; undefined: nobody asked it in this session. */
export function openQuestion(sealer: Sealer, session: string, id: string): Question | undefined {
  if (!id.startsWith('"')) return undefined;
  const opened = sealer.open<readonly [string, string]>(purpose, JSON.parse(id) as string, session);
  return opened.ok ? { target: opened.value[0], id: opened.value[1] } : undefined;
}
