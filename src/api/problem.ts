// What is wrong with a resource: where, what, and what would be right. Becomes a line for a person (files) or a condition (Kubernetes).

export type ProblemCode =
  | 'unknown_field' // no such field; the message names the nearest valid one
  | 'required' // a field is missing
  | 'invalid' // a value that can never be right
  | 'not_supported_yet'; // a known field or value whose behaviour is not built yet

export interface Problem {
  /** Field path from the resource's root: ['spec', 'rules', 0, 'matches']. Empty: the resource as a whole. */
  readonly path: readonly (string | number)[];
  readonly code: ProblemCode;
  /** What is wrong and what would be right, without the path. */
  readonly message: string;
}

/** spec.rules[0].matches; keys that are no identifiers are quoted: metadata.labels["app.kubernetes.io/name"]. */
export function formatFieldPath(path: readonly (string | number)[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}
