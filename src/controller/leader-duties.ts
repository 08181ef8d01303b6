// What only the leader does: it deploys, makes seal keys, owns the GatewayClass and writes statuses. All of it starts when this replica leads and ends
// at once when it does not.
import type { Resources } from '../api/resources.ts';
import type { Deployer, DeployInput, DeployResult } from '../deploy/deployer.ts';
import type { SealKeyKeeper } from '../deploy/seal-key-keeper.ts';
import type { SealKeyOwner } from '../deploy/seal-key-secret.ts';
import type { GatewayClassKeeper } from './own-gateway-class.ts';
import type { StatusWriter } from './write-statuses.ts';

export interface LeaderDutiesOptions {
  readonly writer: Pick<StatusWriter, 'start' | 'stop'>;
  readonly classKeeper: Pick<GatewayClassKeeper, 'look' | 'start' | 'stop'>;
  /** One for each term. */
  readonly startDeployer: () => Deployer;
  readonly startSealKeyKeeper: () => SealKeyKeeper;
  /** Two terms of the same number are one with a break: nobody else has led in between. */
  readonly readTermNumber: () => number | undefined;
  /** Something was deployed, or could not be. */
  readonly onDeployed: () => void;
  readonly onDeployProblem: () => void;
}

/** What is to be there. */
export interface LeaderWork {
  readonly resources: Resources;
  /** Undefined: it is not known yet what gateways need to reach us, and nothing is deployed. */
  readonly deploy: DeployInput | undefined;
  readonly sealKeyOwners: readonly SealKeyOwner[];
}

/** What was so when a term ended. */
interface EndedTerm {
  readonly number: number | undefined;
  readonly deployed: ReadonlyMap<string, DeployResult>;
  /** Of the Gateways that were to be deployed, by name. */
  readonly forms: ReadonlyMap<string, string>;
}

interface Term {
  readonly number: number | undefined;
  readonly deployer: Deployer;
  readonly sealKeyKeeper: SealKeyKeeper;
  readonly unsubscribe: () => void;
}

const nothingDeployed: ReadonlyMap<string, DeployResult> = new Map();

/** The duties of the leader. */
export class LeaderDuties {
  readonly #options: LeaderDutiesOptions;
  #work: LeaderWork | undefined;
  #term: Term | undefined;
  #deployed: ReadonlyMap<string, DeployResult> = nothingDeployed;
  #ended: EndedTerm | undefined;
  /** The term that goes on in this one: what was so is believed until it is known how it is. */
  #resumed: EndedTerm | undefined;

  constructor(options: LeaderDutiesOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#term !== undefined;
  }

  /**
   * What became of deploying, by Gateway. After a break in which nobody else led, what was so before counts until the Gateway had its turn, unless it is
   * another one by now: an API server that has just come back may take its time, and statuses need not wait for that.
   */
  get deployed(): ReadonlyMap<string, DeployResult> {
    return this.#deployed;
  }

  /** Called after every round that went well. What was said last is done when a term starts. */
  setWork(work: LeaderWork): void {
    this.#work = work;
    this.#options.classKeeper.look(work.resources);
    if (this.#term === undefined) return;
    hand(work, this.#term);
    this.#noteDeployed(this.#term.deployer);
  }

  start(): void {
    if (this.#term !== undefined) return;
    const { writer, classKeeper, startDeployer, startSealKeyKeeper, onDeployed, onDeployProblem } = this.#options;
    const deployer = startDeployer();
    const number = this.#options.readTermNumber();
    this.#resumed = number === undefined || number !== this.#ended?.number ? undefined : this.#ended;
    const unsubscribe = deployer.results.subscribe((results, before) => {
      this.#noteDeployed(deployer);
      for (const [name, { problem }] of results)
        if (problem !== undefined && before.get(name)?.problem !== problem) onDeployProblem();
      onDeployed();
    });
    this.#term = { number, deployer, sealKeyKeeper: startSealKeyKeeper(), unsubscribe };
    classKeeper.start();
    writer.start();
    if (this.#work !== undefined) hand(this.#work, this.#term);
    this.#noteDeployed(deployer);
  }

  /** Resolves when nothing is written any more. */
  async stop(): Promise<void> {
    const term = this.#term;
    this.#term = undefined;
    term?.unsubscribe();
    if (term !== undefined)
      this.#ended = { number: term.number, deployed: this.#deployed, forms: listForms(this.#work) };
    this.#deployed = nothingDeployed;
    const { writer, classKeeper } = this.#options;
    await Promise.all([writer.stop(), classKeeper.stop(), term?.deployer.stop(), term?.sealKeyKeeper.stop()]);
  }

  #noteDeployed(deployer: Deployer): void {
    const results = deployer.results.get();
    if (this.#resumed === undefined) {
      this.#deployed = results;
      return;
    }
    const { deployed, forms } = this.#resumed;
    const believed = [...listForms(this.#work)].flatMap(([name, form]) => {
      const before = deployed.get(name);
      return before === undefined || results.has(name) || form !== forms.get(name) ? [] : [[name, before] as const];
    });
    if (believed.length === 0) this.#resumed = undefined;
    this.#deployed = new Map([...believed, ...results]);
  }
}

/** Which Gateway a name means, in which of its forms. */
function listForms(work: LeaderWork | undefined): ReadonlyMap<string, string> {
  return new Map(
    work?.deploy?.plans.map(({ name, gateway }) => {
      const { uid, generation } = gateway.metadata;
      return [name, JSON.stringify([uid, generation])];
    }),
  );
}

function hand({ deploy, sealKeyOwners }: LeaderWork, { deployer, sealKeyKeeper }: Term): void {
  sealKeyKeeper.reconcile(sealKeyOwners);
  if (deploy !== undefined) deployer.reconcile(deploy);
}
