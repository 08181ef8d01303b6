// One-line expectations for table-driven tests: `field.path: what is wrong`.
import { parse } from 'yaml';
import type { Origin } from '../origin.ts';
import { parseResource } from '../parse-resource.ts';
import { formatFieldPath } from '../problem.ts';

/** Every problem of a resource as `field.path: message`; empty for a good one. */
export function listProblems(raw: unknown, origin: Origin = 'file'): readonly string[] {
  const result = parseResource(raw, { origin });
  return result.ok ? [] : result.problems.map(({ path, message }) => `${formatFieldPath(path)}: ${message}`);
}

/** A resource from YAML with a placeholder `HERE` replaced by what a case is about. */
export function fillTemplate(template: string, yaml: string): unknown {
  return parse(template.replace('HERE', () => yaml));
}
