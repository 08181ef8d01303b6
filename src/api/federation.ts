// What a ProxyBackend says about a federation: several MCP servers that are one to its clients. Names and prefixes, what is served of each server, what happens while one is down.
import * as z from 'zod';
import { celRulesKey, type CelRule, someOf, withRules } from './cel-rules.ts';

const longestPrefix = 20;
const prefixPattern = /^[a-z][a-z0-9-]*$/;

const prefixSchema = z
  .string()
  .min(1)
  .max(longestPrefix)
  .regex(prefixPattern, 'must be lower-case letters, digits and "-", and begin with a letter');

const failureModeSchema = z.enum(['FailOpen', 'FailClosed']);

/** The names or URIs of one kind of item. The longest is that of an item that the gateway could be asked for. */
function selectionSchema(what: string, longest: number) {
  const entries = z.array(z.string().min(1).max(longest)).min(1).max(64).optional();
  return withRules(
    z.object({
      include: entries.describe(
        `Only these ${what} are served, where \`*\` stands for any characters; all when absent.`,
      ),
      exclude: entries.describe(`These ${what} are not served, also where \`include\` has them.`),
    }),
    [someOf(['include', 'exclude'])],
  );
}

/** The fields of a target that have a meaning in a federation only. */
export const federatedTargetFields = {
  prefix: prefixSchema
    .optional()
    .describe(
      'In a federation: what the names of the tools and prompts and the URIs of this server begin with for clients, as in tix_search and tix+file:///a. The name of the target when absent.',
    ),
  failureMode: failureModeSchema
    .optional()
    .describe("In a federation: what happens while this server is down; the backend's failureMode when absent."),
  tools: selectionSchema('tools', 256)
    .optional()
    .describe("In a federation: which tools are served, by the server's own names."),
  prompts: selectionSchema('prompts', 256)
    .optional()
    .describe("In a federation: which prompts are served, by the server's own names."),
  resources: selectionSchema('resources', 2048)
    .optional()
    .describe("In a federation: which resources and templates are served, by the server's own URIs."),
};

/** The fields of a backend that make it a federation or describe it. */
export const federationFields = {
  mode: z
    .enum(['Auto', 'Transparent', 'Federated'])
    .default('Auto')
    .describe(
      'Auto is Transparent with one target and Federated with several. Transparent passes messages on as they are; Federated makes one server of all targets.',
    ),
  names: z
    .object({
      prefix: z
        .enum(['Always', 'Never'])
        .default('Always')
        .describe(
          'Always: names and URIs carry the prefix of their target. Never: they are those of the servers, and what several servers claim is served by none of them.',
        ),
    })
    .optional()
    .describe('In a federation: what clients call the items of the servers.'),
  failureMode: failureModeSchema
    .optional()
    .describe(
      'While a target is down: FailOpen serves the others, and lists leave it out; FailClosed fails what needs all targets. When absent, FailOpen in a federation, FailClosed otherwise.',
    ),
  serverInfo: z
    .object({
      name: z
        .string()
        .min(1)
        .max(128)
        .optional()
        .describe('The name of the server; that of the ProxyBackend when absent.'),
      title: z.string().min(1).max(256).optional().describe('A name for people.'),
      version: z
        .string()
        .min(1)
        .max(64)
        .optional()
        .describe('The version of the server; that of the gateway when absent.'),
      instructions: z
        .string()
        .min(1)
        .max(16_384)
        .optional()
        .describe("How to use the server; those of the targets, each under its target's name, when absent."),
    })
    .optional()
    .describe('In a federation: what clients are told about the server that all targets are to them.'),
};

/** What decides whether targets are federated. */
interface Federates {
  readonly mode: 'Auto' | 'Transparent' | 'Federated';
  readonly targets: readonly { readonly name: string; readonly prefix?: string | undefined }[];
}

/** Whether the targets are one server to clients. Otherwise there is one target, and messages pass as they are. */
export function isFederation({ mode, targets }: Federates): boolean {
  return mode === 'Federated' || (mode === 'Auto' && targets.length > 1);
}

/** The prefix of a target, its own or its name. */
export function findPrefix({ name, prefix }: Federates['targets'][number]): string {
  return prefix ?? name;
}

const federates = "(self.mode == 'Federated' || (self.mode == 'Auto' && size(self.targets) > 1))";
const noEffect = 'has no effect with one transparent target; set mode: Federated, or remove it';
const prefixOf = (target: string): string => `(has(${target}.prefix) ? ${target}.prefix : ${target}.name)`;

type Checked = Federates & {
  readonly failureMode?: string | undefined;
  readonly names?: object | undefined;
  readonly serverInfo?: object | undefined;
};

/** Rules that span mode, targets and settings of a federation. */
export const federationRules: readonly CelRule<Checked>[] = [
  {
    cel: "self.mode != 'Transparent' || size(self.targets) == 1",
    message: 'must be Auto or Federated with several targets',
    path: ['mode'],
    holds: ({ mode, targets }) => mode !== 'Transparent' || targets.length === 1,
  },
  {
    cel: `!has(self.failureMode) || self.failureMode == 'FailClosed' || ${federates}`,
    message:
      'must be FailClosed with one transparent target: there is no other to serve; set mode: Federated, or remove it',
    path: ['failureMode'],
    holds: (mcp) => mcp.failureMode !== 'FailOpen' || isFederation(mcp),
  },
  ...(['names', 'serverInfo'] as const).map((field) => ({
    cel: `!has(self.${field}) || ${federates}`,
    message: noEffect,
    path: [field],
    holds: (mcp: Checked) => mcp[field] === undefined || isFederation(mcp),
  })),
];

/** The rules over single targets: checked with the place of the target, which a rule of a CRD cannot name. */
export function checkTargets(mcp: Federates, context: z.RefinementCtx): void {
  const isFederated = isFederation(mcp);
  const seen = new Map<string, number>();
  for (const [index, target] of mcp.targets.entries()) {
    const report = (field: string, message: string, code = 'invalid'): void =>
      context.addIssue({ code: 'custom', path: ['targets', index, field], message, params: { code } });
    if (!isFederated) {
      // A transparent backend with several targets has its own problem.
      if (mcp.targets.length > 1) return;
      for (const field of Object.keys(federatedTargetFields))
        if ((target as Readonly<Record<string, unknown>>)[field] !== undefined) report(field, noEffect);
      continue;
    }
    const prefix = findPrefix(target);
    if (target.prefix === undefined && !(prefixPattern.test(prefix) && prefix.length <= longestPrefix)) {
      report('prefix', describeUnfitName(target.name), 'required');
      continue;
    }
    const earlier = seen.get(prefix);
    if (earlier === undefined) seen.set(prefix, index);
    // Equal names have their own problem.
    else if (mcp.targets[earlier]?.name !== target.name)
      report('prefix', `must be unique; entry ${earlier} has the same prefix ${prefix}`);
  }
}

function describeUnfitName(name: string): string {
  return `required: the name ${name} is no prefix, which has at most ${longestPrefix} lower-case letters, digits and "-", and begins with a letter`;
}

/** The same rules for the API server. */
export const targetRules = {
  [celRulesKey]: [
    ...Object.keys(federatedTargetFields).map((field) => ({
      rule: `${federates} || size(self.targets) != 1 || !has(self.targets[0].${field})`,
      message: `${field} ${noEffect}`,
      fieldPath: '.targets',
    })),
    {
      rule: `!${federates} || self.targets.all(t, has(t.prefix) || t.name.matches('^[a-z][a-z0-9-]{0,${longestPrefix - 1}}$'))`,
      message: `a target needs a prefix when its name is no prefix, which has at most ${longestPrefix} lower-case letters, digits and "-", and begins with a letter`,
      fieldPath: '.targets',
    },
    {
      rule: `!${federates} || self.targets.all(a, self.targets.exists_one(b, ${prefixOf('a')} == ${prefixOf('b')}))`,
      message: 'the prefixes of targets must be unique; the prefix is the name when absent',
      fieldPath: '.targets',
    },
  ],
};
