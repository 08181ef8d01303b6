// `mcp-gateway schema [KIND]`: prints a JSON Schema, for editors and for checks outside of the gateway.
import { buildJsonSchema, buildKindJsonSchema } from '../api/json-schema.ts';
import { kindNames } from '../api/kinds.ts';
import { findNearestName, listAlternatives } from '../base/nearest-name.ts';

/** Where a command writes. */
export interface SchemaCommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

const usage = `Usage: mcp-gateway schema [KIND]

Prints the JSON Schema (draft-07) of every kind that the gateway reads, or of one KIND:
${kindNames.join(', ')}.

In an editor with yaml-language-server, put this line on top of a file:
  # yaml-language-server: $schema=./mcp-gateway.schema.json
`;

/** Runs the command and returns its exit code. */
export function runSchemaCommand(args: readonly string[], io: SchemaCommandIo): number {
  if (args.includes('--help') || args.includes('-h')) {
    io.stdout(usage);
    return 0;
  }
  const [name, ...more] = args;
  const unexpected = name?.startsWith('-') === true ? name : more[0];
  if (unexpected !== undefined) {
    io.stderr(`mcp-gateway schema: unexpected argument ${unexpected}; see mcp-gateway schema --help\n`);
    return 2;
  }
  if (name === undefined) {
    io.stdout(`${JSON.stringify(buildJsonSchema(), null, 2)}\n`);
    return 0;
  }
  const kind = kindNames.find((known) => known.toLowerCase() === name.toLowerCase());
  if (kind === undefined) {
    const nearest = findNearestName(name, kindNames);
    const advice = nearest === undefined ? `known are ${listAlternatives(kindNames)}` : `did you mean ${nearest}?`;
    io.stderr(`mcp-gateway schema: no kind ${name}; ${advice}\n`);
    return 2;
  }
  io.stdout(`${JSON.stringify(buildKindJsonSchema(kind), null, 2)}\n`);
  return 0;
}
