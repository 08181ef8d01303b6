// What servers answer for an item that they do not have: a caller who may not use an item learns no more than that.
import { isModernVersion } from './protocol-version.ts';
import type { Item } from './read-item.ts';
import { rpcCodes, type RpcError } from './rpc-error.ts';

/** The error of the protocol version. Completions name prompts and templates, and have invalid parameters when those are unknown. */
export function describeUnknownItem({ kind, name }: Item, method: string, protocolVersion: string): RpcError {
  switch (kind) {
    case 'tool':
      return { code: rpcCodes.invalidParams, message: `Unknown tool: ${name}` };
    case 'prompt':
      return { code: rpcCodes.invalidParams, message: `Unknown prompt: ${name}` };
    case 'resource': {
      const isParameter = method === 'completion/complete' || isModernVersion(protocolVersion);
      const code = isParameter ? rpcCodes.invalidParams : rpcCodes.resourceNotFound;
      return { code, message: 'Resource not found', data: { uri: name } };
    }
  }
}
