// Which prepared variant of the rule is in force, and the change to another one. Changes are applied one after the other.
import { describePolicy, type RuleVariant, ruleVariants } from './demo-rules.ts';

/** What the page shows about the rule. */
interface ShownRule {
  readonly variant: string;
  /** The ProxyPolicy in force. */
  readonly yaml: string;
  /** By user: why the user sees these tools. */
  readonly why: Readonly<Record<string, string>>;
  /** The other variants. */
  readonly choices: readonly { readonly variant: string; readonly button: string }[];
}

/** The rule of the running demo. */
export interface RuleSwitch {
  /** The rule in force, after all changes that were asked for. */
  read(): Promise<ShownRule>;
  /** Resolves once the gateway judges by this variant. */
  choose(variant: RuleVariant): Promise<ShownRule>;
}

/** A switch that stands at the first variant. `apply` gives the gateway another policy. */
export function createRuleSwitch(backend: string, apply: (policy: object) => Promise<void>): RuleSwitch {
  let inForce: RuleVariant = ruleVariants[0];
  let changing: Promise<void> = Promise.resolve();
  const show = (): ShownRule => ({
    variant: inForce.id,
    yaml: describePolicy(inForce, backend).yaml,
    why: inForce.why,
    // The way back stands last.
    choices: [...ruleVariants.slice(1), ruleVariants[0]]
      .filter(({ id }) => id !== inForce.id)
      .map(({ id, button }) => ({ variant: id, button })),
  });
  return {
    async read() {
      await changing;
      return show();
    },
    async choose(variant) {
      const change = changing.then(async () => {
        await apply(describePolicy(variant, backend).resource);
        inForce = variant;
      });
      // A change that failed must not keep later ones from being tried.
      changing = change.catch(() => {});
      await change;
      return show();
    },
  };
}
