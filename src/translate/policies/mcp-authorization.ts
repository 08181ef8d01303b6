// backend.mcp.authorization of a ProxyPolicy: rules over MCP messages, and the scopes that some of them need.
import { create } from '@bufbuild/protobuf';
import { McpAuthorizationSchema } from '../../ir/gen/config_pb.ts';
import { createRules } from './authorization.ts';
import type { PolicyField } from './policy-field.ts';

/** backend.mcp.authorization. */
export const mcpAuthorizationField: PolicyField = {
  name: 'mcp-authorization',
  path: 'backend.mcp.authorization',
  isGuard: true,
  isSet: ({ spec }) => spec.backend?.mcp.authorization !== undefined,
  translate({ spec }) {
    const authorization = spec.backend?.mcp.authorization;
    if (authorization === undefined) return undefined;
    const { action, policy, scopes = [] } = authorization;
    const value = create(McpAuthorizationSchema, {
      ...(policy === undefined ? {} : { rules: createRules({ action, policy }) }),
      scopes: scopes.map((entry) => ({
        methods: entry.methods ?? [],
        tools: entry.tools ?? [],
        scopes: entry.scopes,
      })),
    });
    return { valid: true, spec: { case: 'mcpAuthorization', value }, secrets: [], backends: [] };
  },
};
