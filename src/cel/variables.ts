// The variables of expressions: their fields, types, and how they are read. Structs are closed: a field that is not here is a mistake in the rule.
import { type CelType, dynType, mapOf, stringType, timestampType } from './cel-type.ts';
import { ambiguous, type ExpressionScope, type ExpressionVariables, type McpVariables } from './expression.ts';
import { JsonMap } from './json-values.ts';
import { Failure, type Result, Timestamp } from './values.ts';

export type Declaration = StructDeclaration | AttributeDeclaration;

/** Has fields, and is no value by itself. */
export interface StructDeclaration {
  readonly kind: 'struct';
  readonly fields: ReadonlyMap<string, Declaration>;
  /** What has() says about it. */
  readonly isPresent: IsPresent;
}

/** Can be read. */
interface AttributeDeclaration {
  readonly kind: 'attribute';
  readonly type: CelType;
  readonly read: (variables: ExpressionVariables) => Result;
  readonly isPresent: IsPresent;
}

type IsPresent = (variables: ExpressionVariables) => boolean | Failure;
type Read = (variables: ExpressionVariables) => Result;

const always = (): boolean => true;
const claims = mapOf(stringType, dynType);
const strings = mapOf(stringType, stringType);

const noMessage = new Failure('there is no MCP message');
const noTool = new Failure('mcp.tool is absent: the message uses no tool');
const noResource = new Failure('mcp.resource is absent: the message uses no resource');
const noPrompt = new Failure('mcp.prompt is absent: the message uses no prompt');
const noTarget = new Failure('mcp.target is absent: the message uses nothing of a target of a federation');
const noArgumentsYet = new Failure('mcp.tool.arguments are not known before the tool is called');
const noMembers = new JsonMap({});

const request = struct({
  method: attribute(stringType, (variables) => variables.request.method),
  path: attribute(stringType, (variables) => variables.request.path),
  host: attribute(stringType, (variables) => variables.request.host),
  scheme: attribute(stringType, (variables) => variables.request.scheme),
  headers: attribute(strings, (variables) => new JsonMap(variables.request.headers)),
  query: attribute(strings, (variables) => new JsonMap(variables.request.query)),
  time: attribute(timestampType, (variables) => new Timestamp(BigInt(Math.trunc(variables.request.time)) * 1_000_000n)),
});

const mcp = struct(
  {
    method: ofMessage((message) => message.method),
    protocolVersion: ofMessage((message) => message.protocolVersion),
    sessionId: ofMessage((message) => message.sessionId),
    tool: struct(
      {
        name: ofMessage(({ tool }) => (tool === undefined ? noTool : tool.name)),
        arguments: attribute(claims, readArguments, ({ mcp: message }) => {
          const given = message?.tool?.arguments;
          return given === ambiguous ? noArgumentsYet : given !== undefined;
        }),
      },
      (variables) => variables.mcp?.tool !== undefined,
    ),
    resource: struct(
      { uri: ofMessage(({ resource }) => (resource === undefined ? noResource : resource.uri)) },
      (variables) => variables.mcp?.resource !== undefined,
    ),
    prompt: struct(
      { name: ofMessage(({ prompt }) => (prompt === undefined ? noPrompt : prompt.name)) },
      (variables) => variables.mcp?.prompt !== undefined,
    ),
    target: struct(
      {
        name: ofMessage(({ target }) => target?.name ?? noTarget),
        tool: ofTarget('tool', noTool),
        prompt: ofTarget('prompt', noPrompt),
        uri: ofTarget('uri', noResource),
      },
      (variables) => variables.mcp?.target !== undefined,
    ),
  },
  (variables) => variables.mcp !== undefined,
);

const ofClaims: ReadonlyMap<string, Declaration> = new Map<string, Declaration>([
  ['jwt', attribute(claims, (variables) => new JsonMap(variables.jwt))],
]);

const ofRequests: ReadonlyMap<string, Declaration> = new Map<string, Declaration>([
  ...ofClaims,
  ['request', request],
  ['source', struct({ address: attribute(stringType, (variables) => variables.source.address) })],
]);

const byScope: Readonly<Record<ExpressionScope, ReadonlyMap<string, Declaration>>> = {
  claims: ofClaims,
  request: ofRequests,
  mcp: new Map([...ofRequests, ['mcp', mcp]]),
};

/** The variables by name. */
export function listVariables(scope: ExpressionScope): ReadonlyMap<string, Declaration> {
  return byScope[scope];
}

function struct(fields: Readonly<Record<string, Declaration>>, isPresent: IsPresent = always): StructDeclaration {
  return { kind: 'struct', fields: new Map(Object.entries(fields)), isPresent };
}

function attribute(type: CelType, read: Read, isPresent: IsPresent = always): Declaration {
  return { kind: 'attribute', type, read, isPresent };
}

function ofMessage(read: (message: McpVariables) => string | Failure): Declaration {
  return attribute(stringType, ({ mcp: message }) => (message === undefined ? noMessage : read(message)));
}

/** The server's own name of the item. */
function ofTarget(member: 'tool' | 'prompt' | 'uri', noItem: Failure): Declaration {
  const read: Read = ({ mcp: message }) => {
    if (message === undefined) return noMessage;
    return message.target === undefined ? noTarget : (message.target[member] ?? noItem);
  };
  return attribute(stringType, read, ({ mcp: message }) => message?.target?.[member] !== undefined);
}

function readArguments({ mcp: message }: ExpressionVariables): Result {
  if (message?.tool === undefined) return noTool;
  const { arguments: given } = message.tool;
  if (given === ambiguous) return noArgumentsYet;
  // Without arguments a tool gets none.
  return given === undefined ? noMembers : new JsonMap(given);
}
