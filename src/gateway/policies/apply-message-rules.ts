// The step for rules over MCP messages (`spec.backend.mcp.authorization`). Without such rules the body is not read.
import type { McpAuthorizationConfig } from '../config/mcp-authorization-config.ts';
import { judgeMessages } from '../mcp/judge/judge-messages.ts';
import { asksForSubscription } from '../mcp/streams/list-changed-notification.ts';
import type { FindAppTools } from '../request/app-tools.ts';
import type { JudgedMessages, MessageVerdict } from '../request/judged-messages.ts';
import type { RequestContext } from '../request/request-context.ts';
import { continueUnchanged, type Verdict } from '../request/verdict.ts';
import type { BackendRequest } from '../request/run-steps.ts';

/** Judges the messages of a request to a backend with rules. Returns a promise only when it has to wait for a body. */
export function applyMessageRules(request: BackendRequest): Verdict | Promise<Verdict> {
  const { context, choice, backend } = request;
  const { method, headers } = context.exchange;
  // The stream of a GET or of a subscription may outlive the rules; it is judged again when they change.
  if (backend.mcp !== undefined && (method === 'GET' || asksForSubscription(method, headers)))
    context.judgeAgain = (other) => (other === undefined ? unjudged : judge(request, other, true));
  const rules = choice.policies['backend.mcp.authorization'];
  if (rules === undefined) return continueUnchanged;
  const verdict = judge(request, rules, false);
  return verdict instanceof Promise ? verdict.then((late) => keep(context, late)) : keep(context, verdict);
}

const unjudged: JudgedMessages = {
  kind: 'continue',
  responseHeaders: [],
  body: undefined,
  filterAnswer: undefined,
};

function judge(
  request: BackendRequest,
  rules: McpAuthorizationConfig,
  isAgain: boolean,
): MessageVerdict | Promise<MessageVerdict> {
  const { context, backend, findAppTools } = request;
  const { caller: token, mcp } = context;
  const find: FindAppTools | undefined =
    backend.federation && findAppTools && ((names, ...rest) => findAppTools(request, names, ...rest));
  return judgeMessages({ context, rules, backend, token, resource: mcp?.resource, findAppTools: find, isAgain });
}

function keep(context: RequestContext, verdict: MessageVerdict): Verdict {
  if (verdict.kind === 'continue') context.messages = verdict;
  return verdict;
}
