// Matches of HTTPRoute rules: path, method, headers and query parameters, all of which must hold.
import * as z from 'zod';
import { httpMethods } from './cors.ts';
import { headerNameSchema } from './header-name.ts';
import { uniqueNames } from './list-rules.ts';

const pathCharacters = /^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$/;

function findPathMistake(value: string): string | undefined {
  if (!value.startsWith('/')) return 'must begin with "/"';
  for (const part of ['//', '/./', '/../', '%2f', '%2F', '#'])
    if (value.includes(part)) return `must not contain "${part}"`;
  for (const end of ['/..', '/.']) if (value.endsWith(end)) return `must not end with "${end}"`;
  if (!pathCharacters.test(value)) return "must be a URL path: letters, digits, -/._~!$&'()*+,;=:@ and %XX only";
  return undefined;
}

const pathMatchSchema = z
  .object({
    type: z
      .enum(['Exact', 'PathPrefix', 'RegularExpression'])
      .default('PathPrefix')
      .describe('Exact, PathPrefix (by whole segments) or RegularExpression (RE2, the whole path).'),
    value: z.string().max(1024).default('/').describe('The path, the prefix or the expression.'),
  })
  .superRefine((path, context) => {
    if (path.type === 'RegularExpression') return;
    const mistake = findPathMistake(path.value);
    if (mistake !== undefined)
      context.addIssue({ code: 'custom', path: ['value'], message: `${mistake} with type ${path.type}` });
  });

const valueMatchType = z
  .enum(['Exact', 'RegularExpression'])
  .default('Exact')
  .describe('Exact, or RegularExpression (RE2, the whole value).');

/** One match of a rule. */
export const httpRouteMatchSchema = z.object({
  path: pathMatchSchema.default({ type: 'PathPrefix', value: '/' }).describe('The path; every path when absent.'),
  method: z.enum(httpMethods).optional().describe('The method; any when absent.'),
  headers: z
    .array(
      z.object({
        type: valueMatchType,
        name: headerNameSchema.describe('The header name; case does not matter.'),
        value: z.string().min(1).max(4096).describe('The value or expression.'),
      }),
    )
    .max(16)
    .superRefine(uniqueNames)
    .optional()
    .describe('Headers that must all match.'),
  queryParams: z
    .array(
      z.object({
        type: valueMatchType,
        name: headerNameSchema.describe('The parameter name; case matters.'),
        value: z.string().min(1).max(1024).describe('The value or expression.'),
      }),
    )
    .max(16)
    .superRefine(uniqueNames)
    .optional()
    .describe('Query parameters that must all match.'),
});

/** A parsed match. */
export type HttpRouteMatch = z.output<typeof httpRouteMatchSchema>;
