// Authorization of MCP messages: expressions over methods and tools, and scopes that single tools need.
import { z } from 'zod';
import { authorizationActionSchema, authorizationPolicySchema } from './authorization.ts';
import { someOf, withRules } from './cel-rules.ts';

const scopeSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'must be a scope: printable characters without spaces, quotes and backslashes');

/** A list of OAuth scopes (RFC 6749, section 3.3). */
export const scopesSchema = z.array(scopeSchema).max(64);

/** Rules over MCP messages. */
export const mcpAuthorizationSchema = withRules(
  z.object({
    action: authorizationActionSchema,
    policy: authorizationPolicySchema
      .optional()
      .describe('When the action applies; `mcp.method` and `mcp.tool.name` are there too.'),
    scopes: z
      .array(
        z.object({
          methods: z
            .array(z.string().min(1).max(128))
            .min(1)
            .max(32)
            .optional()
            .describe('MCP methods, such as tools/call; any when absent.'),
          tools: z
            .array(z.string().min(1).max(256))
            .min(1)
            .max(64)
            .optional()
            .describe('Tool names; `*` stands for any characters. Any when absent.'),
          scopes: scopesSchema.min(1).describe('The scopes that such a call needs.'),
        }),
      )
      .min(1)
      .max(64)
      .optional()
      .describe('Scopes that single calls need; without them the answer is 403 and names them.'),
  }),
  [someOf(['policy', 'scopes'])],
);
