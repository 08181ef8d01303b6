// The error that servers answer for an unknown item: callers get it for hidden items too, so that it reveals nothing.
import { isModernVersion } from '../read/protocol-version.ts';
import type { Item } from '../read/read-item.ts';
import { type RpcError } from './rpc-error.ts';
import { rpcCodes } from '../read/message.ts';

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
