// The rule of the demo: who sees which tools of the two servers. There are a few prepared variants, and the page can choose one of them.
import { parse } from 'yaml';

/** One expression of the policy, and what it means. */
interface DemoRule {
  readonly expression: string;
  /** A sentence for the comment above it. */
  readonly meaning: string;
}

/** A prepared variant of the policy. */
export interface RuleVariant {
  readonly id: string;
  /** The text of the button that chooses it. */
  readonly button: string;
  readonly rules: readonly DemoRule[];
  /** By user: which rule gives this user the tools of the list. */
  readonly why: Readonly<Record<string, string>>;
}

/** The ProxyPolicy in force: its text, and what the text says. */
interface DemoPolicy {
  /** As in a file. The resource is parsed from this very text. */
  readonly yaml: string;
  readonly resource: object;
}

const everything: DemoRule = {
  expression: '"support-leads" in jwt.groups',
  meaning: 'Support leads may use everything.',
};
const harmless: DemoRule = {
  expression: 'mcp.target.name == "office" || mcp.tool.name == "support_ticket_list"',
  meaning: 'Everybody may use the office server, and list tickets.',
};
const aliceWhy = 'Rule 1 allows everything, because the groups in her token include support-leads.';

/** All variants. The demo starts with the first one. */
export const ruleVariants: readonly [RuleVariant, ...RuleVariant[]] = [
  {
    id: 'leads-only',
    button: 'Take it back',
    rules: [everything, harmless],
    why: {
      alice: aliceWhy,
      bob: 'Rule 2 allows the office tools and the list of tickets. Rule 1 does not match, because he is not in support-leads.',
    },
  },
  {
    id: 'bob-closes',
    button: 'Let Bob close tickets',
    rules: [
      everything,
      harmless,
      { expression: 'jwt.sub == "bob" && mcp.tool.name == "support_ticket_close"', meaning: 'Bob may close tickets.' },
    ],
    why: {
      alice: aliceWhy,
      bob: 'Rule 2 allows the office tools and the list of tickets, and rule 3 allows him support_ticket_close.',
    },
  },
  {
    id: 'sales-tickets',
    button: 'Give sales all ticket tools',
    rules: [
      everything,
      harmless,
      {
        expression: '"sales" in jwt.groups && mcp.target.name == "support" && mcp.target.tool.startsWith("ticket_")',
        meaning: 'The sales team may use every tool for tickets.',
      },
    ],
    why: {
      alice: aliceWhy,
      bob: 'Rule 2 allows the office tools and the list of tickets, and rule 3 allows every ticket tool, because he is in sales.',
    },
  },
];

/** The variant with this id. Undefined: there is none. */
export function findRuleVariant(id: unknown): RuleVariant | undefined {
  return ruleVariants.find((variant) => variant.id === id);
}

/** The policy of a variant, for the ProxyBackend of this name. */
export function describePolicy({ rules }: RuleVariant, backend: string): DemoPolicy {
  const expressions = rules.map(
    ({ expression, meaning }, index) => `          # ${index + 1}. ${meaning}\n          - '${expression}'\n`,
  );
  const yaml = `apiVersion: gateway.proxy/v1alpha1
kind: ProxyPolicy
metadata:
  name: ${backend}-tools
spec:
  targetRefs:
  - {group: gateway.proxy, kind: ProxyBackend, name: ${backend}}
  backend:
    mcp:
      authorization:
        action: Allow
        policy:
          matchExpressions:
${expressions.join('')}`;
  return { yaml, resource: parse(yaml) as object };
}
