// `mcp-gatehouse schema [KIND]`: prints a JSON Schema, for editors and for checks outside of the gateway.
import { buildJsonSchema, buildKindJsonSchema } from '../api/json-schema.ts';
import { kindNames } from '../api/kinds.ts';
import { findNearestName, listAlternatives } from '../base/nearest-name.ts';
import { defineCommand, refuse } from './command.ts';

export const schemaCommand = defineCommand({
  name: 'schema',
  usage: '[KIND]',
  summary: `Prints the JSON Schema (draft-07) of every kind that the gateway reads, or of one KIND: ${kindNames.join(', ')}.

In an editor with yaml-language-server, put this line on top of a file:
  # yaml-language-server: $schema=./mcp-gatehouse.schema.json`,
  flags: { kind: { type: 'string', placeholder: 'KIND', help: 'Only this kind; may be given without the flag' } },
  positionals: 'kind',
  examples: ['mcp-gatehouse schema > mcp-gatehouse.schema.json', 'mcp-gatehouse schema ProxyPolicy'],
  run({ kind: name }, io) {
    const kind = kindNames.find((known) => known.toLowerCase() === name?.toLowerCase());
    if (name !== undefined && kind === undefined) {
      const nearest = findNearestName(name, kindNames);
      const advice = nearest === undefined ? `known are ${listAlternatives(kindNames)}` : `did you mean ${nearest}?`;
      return refuse(`no kind ${name}; ${advice}`);
    }
    io.stdout(`${JSON.stringify(kind === undefined ? buildJsonSchema() : buildKindJsonSchema(kind), null, 2)}\n`);
    return 0;
  },
});
