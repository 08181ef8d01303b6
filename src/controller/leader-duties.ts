// The duties of the leader: it deploys, creates seal keys, owns the GatewayClass and writes statuses. They start when this replica becomes the leader and
// stop at once when it no longer is.
import type { Resources } from '../api/resources.ts';
import type { Deployer, DeployInput, DeployResult } from '../deploy/deployer.ts';
import type { SealKeyKeeper } from '../deploy/seal-key-keeper.ts';
import type { SealKeyOwner } from '../deploy/seal-key-secret.ts';
import type { LeftNamespaces } from './left-namespaces.ts';
import type { GatewayClassKeeper } from './own-gateway-class.ts';
import type { StatusWriter } from './write-statuses.ts';

interface LeaderDutiesOptions {
  readonly writer: Pick<StatusWriter, 'start' | 'stop'>;
  readonly classKeeper: Pick<GatewayClassKeeper, 'look' | 'start' | 'stop'>;
  readonly leftNamespaces: Pick<LeftNamespaces, 'start' | 'stop'>;
  /** One for each term. */
  readonly startDeployer: () => Deployer;
  readonly startSealKeyKeeper: () => SealKeyKeeper;
  /** Two terms with the same number are one term with a break: no other replica has led in between. */
  readonly readTermNumber: () => number | undefined;
  /** Called when the result of a deployment changed. */
  readonly onDeployed: () => void;
  readonly onDeployProblem: () => void;
}

/** The desired state. */
export interface LeaderWork {
  readonly resources: Resources;
  /** Undefined: the deploy settings are not known yet, and nothing is deployed. */
  readonly deploy: DeployInput | undefined;
  readonly sealKeyOwners: readonly SealKeyOwner[];
}

/** The state at the end of a term. */
interface EndedTerm {
  readonly number: number | undefined;
  readonly deployed: ReadonlyMap<string, DeployResult>;
  /** Of the Gateways that were planned, by name. */
  readonly generations: ReadonlyMap<string, string>;
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
  /** The earlier term that this one continues: its results hold until the deployer has new ones. */
  #resumed: EndedTerm | undefined;

  constructor(options: LeaderDutiesOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#term !== undefined;
  }

  /**
   * The results of deploying, by Gateway. After a break in which no other replica led, the earlier result holds until the Gateway is deployed again, unless
   * the Gateway has changed: an API server that has just come back may be slow, and statuses need not wait for it.
   */
  get deployed(): ReadonlyMap<string, DeployResult> {
    return this.#deployed;
  }

  /** Called after every successful round. A term that starts later begins with the latest work. */
  setWork(work: LeaderWork): void {
    this.#work = work;
    this.#options.classKeeper.look(work.resources);
    if (this.#term === undefined) return;
    handOver(work, this.#term);
    this.#noteDeployed(this.#term.deployer);
  }

  start(): void {
    if (this.#term !== undefined) return;
    const { writer, classKeeper, leftNamespaces, startDeployer, startSealKeyKeeper, onDeployed, onDeployProblem } =
      this.#options;
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
    leftNamespaces.start();
    if (this.#work !== undefined) handOver(this.#work, this.#term);
    this.#noteDeployed(deployer);
  }

  /** Resolves when nothing is written any more. */
  async stop(): Promise<void> {
    const term = this.#term;
    this.#term = undefined;
    term?.unsubscribe();
    if (term !== undefined)
      this.#ended = { number: term.number, deployed: this.#deployed, generations: listGenerations(this.#work) };
    this.#deployed = nothingDeployed;
    const { writer, classKeeper, leftNamespaces } = this.#options;
    await Promise.all([
      leftNamespaces.stop(),
      writer.stop(),
      classKeeper.stop(),
      term?.deployer.stop(),
      term?.sealKeyKeeper.stop(),
    ]);
  }

  #noteDeployed(deployer: Deployer): void {
    const results = deployer.results.get();
    if (this.#resumed === undefined) {
      this.#deployed = results;
      return;
    }
    const { deployed, generations } = this.#resumed;
    const carriedOver = [...listGenerations(this.#work)].flatMap(([name, generation]) => {
      const before = deployed.get(name);
      return before === undefined || results.has(name) || generation !== generations.get(name)
        ? []
        : [[name, before] as const];
    });
    if (carriedOver.length === 0) this.#resumed = undefined;
    this.#deployed = new Map([...carriedOver, ...results]);
  }
}

/** The uid and generation of each planned Gateway, by name. */
function listGenerations(work: LeaderWork | undefined): ReadonlyMap<string, string> {
  return new Map(
    work?.deploy?.plans.map(({ name, gateway }) => {
      const { uid, generation } = gateway.metadata;
      return [name, JSON.stringify([uid, generation])];
    }),
  );
}

function handOver({ deploy, sealKeyOwners }: LeaderWork, { deployer, sealKeyKeeper }: Term): void {
  sealKeyKeeper.reconcile(sealKeyOwners);
  if (deploy !== undefined) deployer.reconcile(deploy);
}
