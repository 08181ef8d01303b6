// `mode` of JWT and MCP authentication.
import { AuthenticationMode } from '../../ir/gen/config_pb.ts';

const modes = {
  Strict: AuthenticationMode.STRICT,
  Optional: AuthenticationMode.OPTIONAL,
  Permissive: AuthenticationMode.PERMISSIVE,
};

/** The message's name for a mode. */
export function convertMode(mode: keyof typeof modes): AuthenticationMode {
  return modes[mode];
}
