// Generates schema/mcp-gatehouse.schema.json, for editors, from the schemas in src/api. With --check, fails when it is out of date.
import { buildJsonSchema } from '../src/api/json-schema.ts';
import { writeOrCheck } from './write-generated.ts';

/** The generated files, by path. */
export function renderJsonSchema(): Readonly<Record<string, string>> {
  return { 'schema/mcp-gatehouse.schema.json': `${JSON.stringify(buildJsonSchema(), null, 2)}\n` };
}

if (import.meta.main) await writeOrCheck(renderJsonSchema(), 'scripts/generate-json-schema.ts');
