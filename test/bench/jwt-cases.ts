// What JWT authentication and rules cost on top of a plain route.
import type { BenchCase } from './bench-case.ts';
import { createResources, jwtPolicy, messageRules, requestRules, toolCall } from './bench-resources.ts';

/** The first is what the others are compared with. */
export const jwtCases: readonly BenchCase[] = [
  {
    name: 'plain',
    description: 'passes everything on, the token too',
    resources: (ports) => createResources([], ports),
    request: toolCall,
  },
  {
    name: 'jwt',
    description: 'validates an RS256 token that it has seen before, and does not pass it on',
    resources: (ports) => createResources([jwtPolicy], ports),
    request: toolCall,
  },
  {
    name: 'jwt-rules',
    description: 'does that, and asks two CEL rules about claims and request',
    resources: (ports) => createResources([jwtPolicy, ...requestRules], ports),
    request: toolCall,
    limit: 1.15,
  },
  {
    name: 'mcp-rules',
    description: 'validates the token, reads the message and asks a CEL rule about group and tool',
    resources: (ports) => createResources([jwtPolicy, messageRules], ports),
    request: toolCall,
    limit: 1.6,
  },
];
