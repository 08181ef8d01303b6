// What translates InferencePools, as one thing that can be left out: it is loaded where the Inference Extension is on.
import { prepareInferencePoolStatuses } from './inference-pool-status.ts';
import { prepareInferencePools } from './inference-pools.ts';

export const inferenceTranslation = { prepareInferencePools, prepareInferencePoolStatuses };
