// A policy message with JWT authentication -> what the request path uses.
import { type JwtAuthentication, type Policy } from '../../ir/gen/config_pb.ts';
import type { JwtAuthenticationConfig } from '../policies/jwt-authentication/jwt-authentication-config.ts';
import { PolicyError, type PolicySurroundings } from './compile-authentication.ts';

/** Compiles JWT authentication, or throws: then its target is closed. */
export function compileJwtAuthentication(
  _policy: Policy,
  _message: JwtAuthentication,
  _surroundings: PolicySurroundings,
): JwtAuthenticationConfig {
  throw new PolicyError('JWT authentication is not supported yet');
}
