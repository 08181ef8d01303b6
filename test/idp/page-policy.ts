// The policy that a page of docs/idp shows, as tests with a real identity provider use it.
import { parseAllDocuments } from 'yaml';
import { readBlocks } from './page-blocks.ts';

interface Policy {
  readonly kind?: string;
  readonly spec: { readonly backend: { readonly mcp: { readonly authentication: Readonly<Record<string, unknown>> } } };
}

/** `spec.backend.mcp.authentication` of the ProxyPolicy number `index` on the page, without the name of the resource, which is another one in each test. */
export function readPagePolicy(page: string, index = 0): Readonly<Record<string, unknown>> {
  const resources = readBlocks(page, 'yaml').flatMap((block) =>
    parseAllDocuments(block).map((document) => document.toJS() as Policy),
  );
  const policy = resources.filter(({ kind }) => kind === 'ProxyPolicy')[index];
  if (policy === undefined) throw new Error(`docs/${page} has no ProxyPolicy number ${index}`);
  const { resourceMetadata: _, ...authentication } = policy.spec.backend.mcp.authentication;
  return authentication;
}
