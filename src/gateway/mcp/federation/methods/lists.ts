// Requests for lists: those of all targets as one (merge-lists.ts).
import type { FederationConfig } from '../../../config/federation-config.ts';
import type { ListMethod } from '../../read/list-methods.ts';
import { rpcCodes } from '../../read/message.ts';
import { chooseListNotes } from '../app-tools.ts';
import type { Federation } from '../federation.ts';
import { ListCache } from '../list-cache.ts';
import { listMerged } from '../merge-lists.ts';
import { withConfig } from '../reconfigured-target.ts';
import { togetherMs } from '../slow-targets.ts';
import type { Target } from '../target.ts';
import { formatError, formatResult, internalError } from './failures.ts';
import { type Asked, type Conversation, type MessageSink, nothingRunning, type Running } from './federated-request.ts';
import { hearStreams } from './hear-streams.ts';

export function answerList(
  { federation, speaker, config, sealer, note }: Conversation,
  { message: { id, params } }: Asked,
  method: ListMethod,
  sink: MessageSink,
): Running {
  const { cursor } = params;
  if (cursor !== undefined && typeof cursor !== 'string') {
    sink.answer(formatError(id, rpcCodes.invalidParams, 'The cursor is not a string.'));
    return nothingRunning;
  }
  const stop = new AbortController();
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    stop.abort();
  }, togetherMs);
  let isGone = false;
  const { key, lists, slow } = federation;
  const isInForce = config === federation.config;
  const judged = isInForce ? federation.targets : findJudgedTargets(federation, config);
  const targets = judged.map((target) => hearStreams(slow.pass(target, 'lists'), sink));
  // What other targets were configured for is nothing to keep.
  const cache = isInForce ? lists : new ListCache(() => performance.now());
  const owned = config.naming === 'never' ? federation.owned : undefined;
  const notes = isInForce ? (owned ?? chooseListNotes(method, federation.appTools)) : undefined;
  const listed = { key, naming: config.naming, targets, cache, owned, notes, sealer };
  const onMissing = (target: string, problem: string, isLate: boolean): void => {
    if (isOver && isLate) slow.note(target, 'lists');
    note({ detail: `${target}: ${problem}` });
  };
  listMerged(listed, { method, cursor, speaker, signal: stop.signal, onMissing })
    .then((outcome) =>
      outcome.ok
        ? formatResult(id, outcome.result)
        : formatError(id, outcome.error.code, outcome.error.message, outcome.error.data),
    )
    .catch((error: unknown) => {
      note({ reason: 'internal_error', detail: String(error) });
      return formatError(id, internalError, 'The gateway failed to read the lists of its servers.');
    })
    .then((json) => {
      clearTimeout(timer);
      if (!isGone) sink.answer(json);
    })
    .catch((error: unknown) => note({ reason: 'internal_error', detail: String(error) }));
  return {
    resume() {},
    abort() {
      isGone = true;
      clearTimeout(timer);
      stop.abort();
    },
  };
}

/** As the rules that filter the list know them, which saw another configuration than the one in force. */
function findJudgedTargets(federation: Federation, config: FederationConfig): readonly Target[] {
  return config.targets.flatMap((target) => {
    const member = federation.find(target.name);
    return member === undefined ? [] : [withConfig(member.target, target)];
  });
}
