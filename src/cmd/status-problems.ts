// What translation says is wrong with resources that are valid as such, as lines for the log.
import type { InvalidResource } from '../api/resources.ts';
import type { UnattachedPolicy } from '../translate/close-unprotected.ts';
import type { Translation } from '../translate/translate.ts';
import { isAboutUnattached } from './unattached-policies.ts';
import { listStatusFindings } from './status-findings.ts';

/** One line per finding. Those about `unattached` are left out: describeUnattached tells of them. Resources that do not even validate are left out: their problems are reported with file and line. */
export function formatStatusProblems(
  translation: Translation,
  invalid: readonly InvalidResource[],
  unattached: readonly UnattachedPolicy[] = [],
): string[] {
  const reported = new Set(invalid.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`));
  return listStatusFindings(translation)
    .filter(({ kind, namespace, name }) => !reported.has(`${kind} ${namespace}/${name}`))
    .filter((finding) => !isAboutUnattached(finding, unattached))
    .map(({ kind, namespace, name, part, condition, message }) => {
      const subject = [kind, namespace === '' ? name : `${namespace}/${name}`, part]
        .filter((text) => text !== '')
        .join(' ');
      return condition === undefined ? `${subject}: ${message}` : `${subject}: ${condition.reason}: ${message}`;
    });
}
