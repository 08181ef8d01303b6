// Label and field selectors, as query parameters of a list or a watch spell them.
import type { KubernetesObject } from '../../../src/kubernetes/client.ts';
import { StatusError } from './status-error.ts';

type Predicate = (object: KubernetesObject) => boolean;

/** Whether an object is among those that were asked for. */
export function parseSelectors(labelSelector: string | null, fieldSelector: string | null): Predicate {
  const predicates = [
    ...splitTerms(labelSelector).map((term) => parseLabelTerm(term)),
    ...splitTerms(fieldSelector).map((term) => parseFieldTerm(term)),
  ];
  return (object) => predicates.every((predicate) => predicate(object));
}

/** Commas inside the parentheses of `in (a,b)` do not separate. */
function splitTerms(text: string | null): string[] {
  if (text === null || text.trim() === '') return [];
  return text.split(/,(?![^(]*\))/).map((term) => term.trim());
}

function parseLabelTerm(term: string): Predicate {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
  if (set !== null) {
    const values = new Set(set[3]!.split(',').map((value) => value.trim()));
    return (object) => {
      const value = object.metadata.labels?.[set[1]!];
      const listed = value !== undefined && values.has(value);
      return set[2] === 'in' ? listed : !listed;
    };
  }
  const equality = /^([^=!]+?)\s*(==?|!=)\s*(.*)$/.exec(term);
  if (equality !== null) {
    const [, key, operator, value] = equality;
    return (object) => (object.metadata.labels?.[key!] === value) === (operator !== '!=');
  }
  if (term.startsWith('!')) return (object) => object.metadata.labels?.[term.slice(1).trim()] === undefined;
  return (object) => object.metadata.labels?.[term] !== undefined;
}

const selectableFields: Readonly<Record<string, (object: KubernetesObject) => unknown>> = {
  'metadata.name': (object) => object.metadata.name,
  'metadata.namespace': (object) => object.metadata.namespace,
  type: (object) => object['type'] ?? 'Opaque',
  'status.phase': (object) => (object['status'] as { phase?: unknown } | undefined)?.phase,
  'spec.nodeName': (object) => (object['spec'] as { nodeName?: unknown } | undefined)?.nodeName,
};

function parseFieldTerm(term: string): Predicate {
  const [, field = '', operator, value] = /^([^=!]+)(==?|!=)(.*)$/.exec(term) ?? [];
  const read = selectableFields[field];
  if (read === undefined) throw new StatusError(400, 'BadRequest', `field label not supported: ${field}`);
  return (object) => ((read(object) ?? '') === value) === (operator !== '!=');
}
