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

interface Term {
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

  constructor(options: LeaderDutiesOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#term !== undefined;
  }

  /** What became of deploying, by Gateway. */
  get deployed(): ReadonlyMap<string, DeployResult> {
    return this.#term?.deployer.results.get() ?? nothingDeployed;
  }

  /** Called after every round that went well. What was said last is done when a term starts. */
  setWork(work: LeaderWork): void {
    this.#work = work;
    this.#options.classKeeper.look(work.resources);
    if (this.#term !== undefined) hand(work, this.#term);
  }

  start(): void {
    if (this.#term !== undefined) return;
    const { writer, classKeeper, startDeployer, startSealKeyKeeper, onDeployed, onDeployProblem } = this.#options;
    const deployer = startDeployer();
    const unsubscribe = deployer.results.subscribe((results, before) => {
      for (const [name, { problem }] of results)
        if (problem !== undefined && before.get(name)?.problem !== problem) onDeployProblem();
      onDeployed();
    });
    this.#term = { deployer, sealKeyKeeper: startSealKeyKeeper(), unsubscribe };
    classKeeper.start();
    writer.start();
    if (this.#work !== undefined) hand(this.#work, this.#term);
  }

  /** Resolves when nothing is written any more. */
  async stop(): Promise<void> {
    const term = this.#term;
    this.#term = undefined;
    term?.unsubscribe();
    const { writer, classKeeper } = this.#options;
    await Promise.all([writer.stop(), classKeeper.stop(), term?.deployer.stop(), term?.sealKeyKeeper.stop()]);
  }
}

function hand({ deploy, sealKeyOwners }: LeaderWork, { deployer, sealKeyKeeper }: Term): void {
  sealKeyKeeper.reconcile(sealKeyOwners);
  if (deploy !== undefined) deployer.reconcile(deploy);
}
