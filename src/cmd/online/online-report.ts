// What `check --online` found out about an identity provider of a policy, as data.
import type { FlowChoice } from '../../gateway/config/idp-connection.ts';

/** How a finding is meant: a tick, a remark, a cross. */
export type Mark = 'good' | 'remark' | 'bad';

/** One thing that was looked at. */
interface OnlineFinding {
  /** "metadata", "keys"... */
  readonly check: string;
  readonly mark: Mark;
  readonly text: string;
  /** What to change; every cross has one. */
  readonly advice: string | null;
}

/** What clients of a kind will do. */
export interface ClientForecast {
  readonly family: string;
  readonly mark: Mark;
  readonly text: string;
}

/** Everything about one identity provider of one policy. */
export interface OnlineReport {
  /** namespace/name. */
  readonly policy: string;
  /** The name of the JWT provider; null for MCP authentication, which has one identity provider. */
  readonly provider: string | null;
  readonly issuer: string;
  /** Nothing has a cross. */
  readonly ok: boolean;
  readonly findings: readonly OnlineFinding[];
  readonly flow: FlowChoice | null;
  readonly clients: readonly ClientForecast[];
}

/** Everything about one address of one MCP server. */
export interface ServerReport {
  /** As in a route: "ProxyBackend default/tickets". */
  readonly backend: string;
  /** Its name in a federation; null elsewhere. */
  readonly target: string | null;
  readonly url: string;
  /** Nothing has a cross. */
  readonly ok: boolean;
  readonly findings: readonly OnlineFinding[];
  /** What it says about itself; null: it did not come to that, or it says nothing. */
  readonly server: { readonly name: string; readonly version: string } | null;
  /** The version of MCP that was agreed on. */
  readonly protocolVersion: string | null;
  /** How many tools it lists; null: they were not asked for, or could not be listed. */
  readonly tools: number | null;
}

/** Collects findings. */
export class Findings {
  readonly list: OnlineFinding[] = [];

  good(check: string, text: string): void {
    this.list.push({ check, mark: 'good', text, advice: null });
  }

  remark(check: string, text: string, advice?: string): void {
    this.list.push({ check, mark: 'remark', text, advice: advice ?? null });
  }

  bad(check: string, text: string, advice: string): void {
    this.list.push({ check, mark: 'bad', text, advice });
  }
}
