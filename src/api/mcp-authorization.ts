// Authorization of MCP messages: expressions over methods and tools, and scopes that single tools need.
import * as z from 'zod';
import { authorizationActionSchema, authorizationPolicySchema } from './authorization.ts';
import { someOf, withRules } from './cel-rules.ts';
import { findNearestName } from '../base/nearest-name.ts';
import { withFileRule } from './file-rules.ts';
import { isMapping } from './mapping.ts';
import { mcpMethods } from './mcp-methods.ts';
import type { Problem } from './problem.ts';

const scopeSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'must be a scope: printable characters without spaces, quotes and backslashes');

/** A list of OAuth scopes (RFC 6749, section 3.3). */
export const scopesSchema = z.array(scopeSchema).max(64);

const scopeRuleSchema = withFileRule(
  withRules(
    z.object({
      methods: z
        .array(
          z
            .string()
            .min(1)
            .max(128)
            .regex(/^[!-~]+$/, 'must be a method such as tools/call: printable ASCII without spaces'),
        )
        .min(1)
        .max(32)
        .optional()
        .describe('MCP methods, such as tools/call, exactly; any when absent.'),
      tools: z
        .array(z.string().min(1).max(256))
        .min(1)
        .max(64)
        .optional()
        .describe(
          'Tool names, where `*` stands for any characters: the entry applies to calls of these tools. When absent, it applies to every message.',
        ),
      scopes: scopesSchema.min(1).describe('The scopes that such a message needs, all of them.'),
    }),
    [
      {
        cel: "!has(self.tools) || !has(self.methods) || self.methods.all(m, m == 'tools/call')",
        message: 'must be absent or only tools/call when `tools` is set; write another entry for other methods',
        path: ['methods'],
        holds: ({ tools, methods = [] }) => tools === undefined || methods.every((method) => method === 'tools/call'),
      },
    ],
  ),
  'scope-rule',
  findMisspelledMethods,
);

/** A misspelled method would leave the intended one without its scopes. */
function findMisspelledMethods(entry: unknown): readonly Problem[] {
  const methods = isMapping(entry) ? entry['methods'] : undefined;
  if (!Array.isArray(methods)) return [];
  return methods.flatMap((method: unknown, index) => {
    if (typeof method !== 'string' || mcpMethods.includes(method)) return [];
    const nearest = findNearestName(method, mcpMethods);
    if (nearest === undefined) return [];
    return [{ path: ['methods', index], code: 'invalid', message: `is not a method of MCP; did you mean ${nearest}?` }];
  });
}

/** Rules over MCP messages. */
export const mcpAuthorizationSchema = withRules(
  z.object({
    action: authorizationActionSchema,
    policy: authorizationPolicySchema('mcp')
      .optional()
      .describe('When the action applies; expressions can also use `mcp.method` and `mcp.tool.name`.'),
    scopes: z
      .array(scopeRuleSchema)
      .min(1)
      .max(64)
      .optional()
      .describe(
        'Scopes that some messages need. If the token lacks one, the answer is 403 and names all scopes that are needed.',
      ),
  }),
  [
    someOf(['policy', 'scopes']),
    {
      cel: "has(self.policy) || self.action == 'Allow'",
      message: 'has no effect without `policy`; remove it, scopes are always required',
      path: ['action'],
      holds: ({ policy, action }) => policy !== undefined || action === 'Allow',
    },
  ],
);
