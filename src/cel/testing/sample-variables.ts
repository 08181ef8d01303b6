// What the tests of expressions see: a token with claims of every kind, and a request.
import { ambiguous, type ExpressionVariables } from '../expression.ts';

/** Claims as they come out of a token: JSON, with members that a prototype has too. */
export const sampleClaims = JSON.parse(`{
  "iss": "https://idp.example.com/realms/mcp",
  "sub": "u-1",
  "aud": ["https://mcp.example.com/mcp", "account"],
  "exp": 1893456000,
  "email": "ann@example.com",
  "email_verified": true,
  "groups": ["support", "sales", "eu/berlin"],
  "scope": "openid tickets tickets:write",
  "realm_access": {"roles": ["admin", "user"]},
  "https://example.com/roles": ["editor"],
  "level": 3,
  "score": 4.5,
  "huge": 12345678901234567890,
  "negative": -7,
  "nothing": null,
  "empty": "",
  "none": [],
  "tenant": "acme",
  "flags": {"beta": true, "legacy": false},
  "people": [{"name": "Ann", "age": 41}, {"name": "Bob", "age": 29}],
  "mixed": [1, "two", true, null, 2.5],
  "name": "Zoë 😀",
  "__proto__": {"admin": true},
  "toString": "mine"
}`) as Readonly<Record<string, unknown>>;

/** 2026-03-02, a Monday, 09:30:15.250 UTC. */
export const sampleTime = Date.UTC(2026, 2, 2, 9, 30, 15, 250);

/** The variables of a tool call; change what a test is about. */
export function createVariables(changes: Partial<ExpressionVariables> = {}): ExpressionVariables {
  return {
    jwt: sampleClaims,
    request: {
      method: 'POST',
      path: '/acme/mcp',
      host: 'mcp.example.com',
      scheme: 'https',
      headers: { 'content-type': 'application/json', 'x-team': 'blue' },
      query: { page: '2', twice: ambiguous },
      time: sampleTime,
    },
    source: { address: '10.1.2.3' },
    mcp: {
      method: 'tools/call',
      protocolVersion: '2025-11-25',
      tool: { name: 'ticket_close', arguments: { id: 7, amount: 99.5, tags: ['a', 'b'], dryRun: false } },
      sessionId: 's-1',
    },
    ...changes,
  };
}
