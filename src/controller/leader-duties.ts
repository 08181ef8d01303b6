// The duties of the leader: it deploys, creates seal keys, keeps signing keys, owns the GatewayClass and writes statuses. They start when this replica becomes the leader and
// stop at once when it no longer is.
import type { Resources } from '../api/resources.ts';
import type { Deployer, DeployInput, DeployResult } from '../deploy/deployer.ts';
import type { KeyKeeper } from '../deploy/key-keeper.ts';
import type { KeyOwner } from '../deploy/key-owner.ts';
import type { AcknowledgedKeys } from '../deploy/plan-signing-keys.ts';
import type { SigningKeyKeeper } from '../deploy/signing-key-keeper.ts';
import type { LeftNamespaces } from './left-namespaces.ts';
import type { GatewayClassKeeper } from './own-gateway-class.ts';
import type { StatusWriter } from './write-statuses.ts';

interface LeaderDutiesOptions {
  readonly writer: Pick<StatusWriter, 'start' | 'stop'>;
  readonly classKeeper: Pick<GatewayClassKeeper, 'look' | 'start' | 'stop'>;
  readonly leftNamespaces: Pick<LeftNamespaces, 'start' | 'stop'>;
  /** One for each term. */
  readonly startDeployer: () => Deployer;
  readonly startSealKeyKeeper: () => KeyKeeper;
  readonly startSigningKeyKeeper: () => SigningKeyKeeper;
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
  readonly sealKeyOwners: readonly KeyOwner[];
  readonly signingKeyOwners: readonly KeyOwner[];
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
  readonly sealKeyKeeper: KeyKeeper;
  readonly signingKeyKeeper: SigningKeyKeeper;
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

  /** The signing keys that all gateways of a Gateway have, by Gateway: called after every look at the gateways. A new term knows of none. */
  setAcknowledged(keys: ReadonlyMap<string, AcknowledgedKeys>): void {
    this.#term?.signingKeyKeeper.setAcknowledged(keys);
  }

  start(): void {
    if (this.#term !== undefined) return;
    const { writer, classKeeper, leftNamespaces, startDeployer, onDeployed, onDeployProblem } = this.#options;
    const deployer = startDeployer();
    const number = this.#options.readTermNumber();
    this.#resumed = number === undefined || number !== this.#ended?.number ? undefined : this.#ended;
    const unsubscribe = deployer.results.subscribe((results, before) => {
      this.#noteDeployed(deployer);
      for (const [name, { problem }] of results)
        if (problem !== undefined && before.get(name)?.problem !== problem) onDeployProblem();
      onDeployed();
    });
    const sealKeyKeeper = this.#options.startSealKeyKeeper();
    const signingKeyKeeper = this.#options.startSigningKeyKeeper();
    this.#term = { number, deployer, sealKeyKeeper, signingKeyKeeper, unsubscribe };
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
      term?.signingKeyKeeper.stop(),
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

function handOver(
  { deploy, sealKeyOwners, signingKeyOwners }: LeaderWork,
  { deployer, sealKeyKeeper, signingKeyKeeper }: Term,
): void {
  sealKeyKeeper.reconcile(sealKeyOwners);
  signingKeyKeeper.reconcile(signingKeyOwners);
  if (deploy !== undefined) deployer.reconcile(deploy);
}
