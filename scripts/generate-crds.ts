// Generates the CustomResourceDefinitions in charts/proxy-crds from the schemas in src/api. With --check, fails when they are out of date.
import { stringify } from 'yaml';
import { kinds } from '../src/api/kinds.ts';
import { buildCustomResourceDefinition, ownKinds } from '../src/api/structural-schema.ts';
import { writeOrCheck } from './write-generated.ts';

/** The generated files, by path. */
export function renderCrds(): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const kind of ownKinds) {
    const yaml = stringify(buildCustomResourceDefinition(kind), { lineWidth: 0, aliasDuplicateObjects: false });
    // Helm reads the files as templates.
    if (yaml.includes('{{')) throw new Error(`the CRD of ${kind} contains "{{", which Helm would take for a template`);
    files[`charts/proxy-crds/templates/${kinds[kind].group}_${kinds[kind].plural}.yaml`] =
      `# Generated from src/api by scripts/generate-crds.ts. Do not edit.\n${yaml}`;
  }
  return files;
}

if (import.meta.main) await writeOrCheck(renderCrds(), 'scripts/generate-crds.ts');
