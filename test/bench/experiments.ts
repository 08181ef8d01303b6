// All experiments, and which of them are meant by the words of a command line.
import type { Experiment } from './experiment.ts';
import { changeExperiment } from './experiments/change.ts';
import { configurationExperiment } from './experiments/configuration.ts';
import { workerExperiment } from './experiments/workers.ts';
import { soakExperiment } from './experiments/soak.ts';
import { startExperiment } from './experiments/start.ts';
import { bodyExperiment } from './experiments/bodies.ts';
import { busyStreamExperiment } from './experiments/busy-streams.ts';
import { floodExperiment } from './experiments/flood.ts';
import { idleStreamExperiment } from './experiments/idle-streams.ts';
import { requestExperiment } from './experiments/requests.ts';

/** In the order in which they are run and reported. */
export const experiments: readonly Experiment[] = [
  requestExperiment,
  bodyExperiment,
  floodExperiment,
  busyStreamExperiment,
  idleStreamExperiment,
  startExperiment,
  configurationExperiment,
  workerExperiment,
  soakExperiment,
  changeExperiment,
];

/** An experiment, and which of its cases; undefined: all. */
export interface Selection {
  readonly experiment: Experiment;
  readonly cases?: readonly string[];
}

/** Nothing asked for is everything but what takes long. Returns what is wrong with the words otherwise. */
export function selectExperiments(words: readonly string[]): readonly Selection[] | string {
  if (words.length === 0) {
    return experiments.filter(({ isLong }) => isLong !== true).map((experiment) => ({ experiment }));
  }
  const unknown = words.find((word) => !experiments.some(({ name, cases }) => name === word || cases.includes(word)));
  if (unknown !== undefined) return `There is no experiment or case called ${unknown}.`;
  return experiments.flatMap((experiment): Selection[] => {
    if (words.includes(experiment.name)) return [{ experiment }];
    const cases = words.filter((word) => experiment.cases.includes(word));
    return cases.length > 0 ? [{ experiment, cases }] : [];
  });
}
