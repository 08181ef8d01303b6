// URLs that carry keys and tokens: https, or http where it cannot leave the machine or the cluster (RFC 3986, RFC 6749 section 3.1).
import * as z from 'zod';
import type { CelRule } from './cel-rules.ts';

/** An absolute http or https URL without user information, spaces or fragment. */
export const httpUrlSchema = z
  .string()
  .min(1)
  .max(2048)
  .regex(
    /^https?:\/\/[^\s/?#@\\]+(\/[^\s#\\]*)?$/,
    'must be an absolute URL such as https://idp.example.com/realms/mcp',
  );

const securePattern =
  '^https://|^http://(localhost|[a-z0-9-]+[.]localhost|127([.][0-9]{1,3}){3}|\\[::1\\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?[.]svc([.]cluster[.]local)?)(:[0-9]+)?(/|$)';
const secureExpression = new RegExp(securePattern);

/** Whether a URL is https, or http to loopback or into the cluster. */
export function isSecureUrl(url: string): boolean {
  return secureExpression.test(url);
}

const insecureRefusal =
  'must be https; http is allowed for loopback and *.svc.cluster.local, and elsewhere with allowInsecureHttp';

/** A field with a URL must be secure, unless `allowInsecureHttp` beside it says otherwise. */
export function secureUrl<F extends string>(
  field: F,
): CelRule<{ readonly [field in F]?: string | undefined } & { readonly allowInsecureHttp: boolean }> {
  return {
    cel: `!has(self.${field}) || self.allowInsecureHttp || self.${field}.matches(r'${securePattern}')`,
    message: insecureRefusal,
    path: [field],
    holds: (value) => value[field] === undefined || value.allowInsecureHttp || isSecureUrl(value[field]),
  };
}

/** The same for a URL in a mapping; `allowInsecureHttp` stands beside the mapping. */
export function secureMember<F extends string, M extends string>(
  field: F,
  member: M,
): CelRule<
  { readonly [field in F]?: { readonly [member in M]?: string | undefined } | undefined } & {
    readonly allowInsecureHttp: boolean;
  }
> {
  return {
    cel: `!has(self.${field}) || !has(self.${field}.${member}) || self.allowInsecureHttp || self.${field}.${member}.matches(r'${securePattern}')`,
    message: insecureRefusal,
    path: [field, member],
    holds: (value) => {
      const url = value[field]?.[member];
      return url === undefined || value.allowInsecureHttp || isSecureUrl(url);
    },
  };
}

/** Lets a person accept the risk of http. */
export const allowInsecureHttpSchema = z
  .boolean()
  .default(false)
  .describe(
    'Accept http URLs outside of loopback and cluster. Others on the network can then read and replace tokens and keys.',
  );
