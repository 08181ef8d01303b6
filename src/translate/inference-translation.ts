// The translation of InferencePools as one module, which is loaded only when the Inference Extension is on.
import { prepareInferencePoolStatuses } from './inference-pool-status.ts';
import { prepareInferencePools } from './inference-pools.ts';

export const inferenceTranslation = { prepareInferencePools, prepareInferencePoolStatuses };
