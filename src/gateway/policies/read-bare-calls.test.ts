// Calls of tools by the server's own name, with rules over messages and without: when it is asked whose they are, and what becomes of the message.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createContext } from '../authentication/testing/auth-fixture.ts';
import type { BackendConfig } from '../config/runtime-config.ts';
import { createFederation, createRules } from '../mcp/testing/message-fixture.ts';
import type { FindAppToolsOf } from '../request/app-tools.ts';
import type { BackendRequest } from '../request/run-steps.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { Verdict } from '../request/verdict.ts';
import { applyMessageRules } from './apply-message-rules.ts';
import { readFederatedMessage } from './read-federated-message.ts';

const federation = createFederation({ tickets: 'tix', wiki: 'wiki' });
const backend = { mcp: { transport: 'streamable-http' }, federation } as unknown as BackendConfig;
const onlyHidden = createRules({ action: 'Deny', expressions: ['mcp.tool.name == "tix_hidden"'] });

const call = (name: string, id = 1): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });

interface Passed {
  readonly verdict: Verdict;
  readonly context: RequestContext;
  /** What it was asked for. */
  readonly asked: readonly (readonly string[])[];
}

/** Passes the steps; everything that the caller may see is of `tickets`, but for `both`. */
async function pass(hasRules: boolean, body: unknown, headers: readonly string[] = []): Promise<Passed> {
  const { context } = createContext({
    method: 'POST',
    headers: ['Content-Type', 'application/json', ...headers],
    body: [JSON.stringify(body)],
  });
  const asked: (readonly string[])[] = [];
  const findAppTools: FindAppToolsOf<BackendRequest> = async (_request, names, _message, isListed) => {
    asked.push(names);
    const seen = names.filter((name) => isListed(`tix_${name}`));
    const refused = names.includes('both') ? [['both', { code: -32_602, message: 'Several have it.' }] as const] : [];
    return {
      prefixed: new Map(seen.filter((name) => name !== 'both').map((name) => [name, `tix_${name}`])),
      refused: new Map(refused),
    };
  };
  const policies = { 'backend.mcp.authorization': hasRules ? onlyHidden : undefined };
  const request = {
    context,
    backend,
    choice: { policies },
    matched: { matchedPrefix: '/mcp' },
    findAppTools,
  } as unknown as BackendRequest;
  const judged = await applyMessageRules(request);
  const verdict = judged.kind === 'continue' ? await readFederatedMessage(request) : judged;
  return { verdict, context, asked };
}

const sent = ({ context }: Passed): unknown => JSON.parse(Buffer.from(context.messages!.body!).toString());
const modern = (name: string): readonly string[] => [
  'MCP-Protocol-Version',
  '2026-07-28',
  'Mcp-Method',
  'tools/call',
  'Mcp-Name',
  name,
];

for (const hasRules of [true, false])
  describe(hasRules ? 'with rules' : 'without rules', () => {
    test('a bare name becomes the prefixed one in body, message, header and log', async () => {
      const passed = await pass(hasRules, call('close'), modern('close'));
      const { context, asked } = passed;
      assert.deepEqual(asked, [['close']]);
      assert.deepEqual(sent(passed), call('tix_close'));
      const { messages } = context;
      assert.deepEqual(messages!.read!.messages[0], { ...messages!.read!.messages[0], params: { name: 'tix_close' } });
      assert.equal(messages!.read!.text, Buffer.from(messages!.body!).toString());
      assert.equal(messages!.mcpName, 'tix_close');
      assert.equal(context.mcpMessage?.item?.name, 'tix_close');
      assert.ok(messages!.releaseBody !== undefined);
    });

    test('nobody is asked for prefixed names, other methods, and what is refused anyway', async () => {
      for (const [body, headers] of [
        [call('tix_close'), []],
        [call('wiki_'), []],
        [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, []],
        [call('close'), modern('open')],
        [call('close'), modern('tix_close')],
        [[call('close', 1), call('open', 1)], []],
        ['no message', []],
      ] as const)
        // eslint-disable-next-line no-await-in-loop
        assert.deepEqual((await pass(hasRules, body, headers)).asked, [], JSON.stringify([body, headers]));
    });

    test('names of a batch are asked for once', async () => {
      const passed = await pass(hasRules, [call('close', 1), call('tix_open', 2), call('close', 3), call('open', 4)]);
      assert.deepEqual(passed.asked, [['close', 'open']]);
      assert.deepEqual(sent(passed), [
        call('tix_close', 1),
        call('tix_open', 2),
        call('tix_close', 3),
        call('tix_open', 4),
      ]);
      assert.equal(passed.context.mcpMessage?.item?.name, 'tix_close');
    });
  });

test('rules: what they hide keeps its name, and is sent on like what does not exist', async () => {
  const passed = await pass(true, call('hidden'));
  assert.deepEqual(passed.asked, [['hidden']]);
  assert.deepEqual(sent(passed), call('hidden'));
  assert.equal(passed.context.mcpMessage?.item?.name, 'hidden');
});

test('rules: a name that cannot be told is answered, also in a batch; without them the federation does it', async () => {
  const { verdict, context } = await pass(true, call('both'));
  assert.ok(verdict.kind === 'respond' && verdict.status === 200);
  assert.deepEqual(JSON.parse(verdict.body), {
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32_602, message: 'Several have it.' },
  });
  assert.equal(context.reason, 'name_ambiguous');
  const batch = await pass(true, [call('both', 1), call('close', 2)]);
  assert.deepEqual(sent(batch), [call('tix_close', 2)]);
  assert.notEqual(batch.context.messages!.filterAnswer, undefined);
  const unjudged = await pass(false, [call('both', 1), call('close', 2)]);
  assert.deepEqual(sent(unjudged), [call('both', 1), call('tix_close', 2)]);
  assert.equal(unjudged.context.messages!.refused?.get('both')?.code, -32_602);
});
