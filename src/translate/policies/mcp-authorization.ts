// backend.mcp.authorization of a ProxyPolicy: rules over MCP messages, and the scopes that some of them need.
import { create } from '@bufbuild/protobuf';
import { McpAuthorizationSchema } from '../../ir/gen/config_pb.ts';
import { createRules } from './authorization.ts';
import { type PolicyTranslator, noReferences } from './policy-translator.ts';

/** backend.mcp.authorization. */
export const mcpAuthorizationTranslator: PolicyTranslator<'backend.mcp.authorization'> = {
  translate({ action, policy, scopes = [] }) {
    const message = create(McpAuthorizationSchema, {
      ...(policy === undefined ? {} : { rules: createRules({ action, policy }) }),
      scopes: scopes.map((entry) => ({
        methods: entry.methods ?? [],
        tools: entry.tools ?? [],
        scopes: entry.scopes,
      })),
    });
    return { valid: true, message, secrets: [], backends: [] };
  },
  listReferences: () => noReferences,
};
