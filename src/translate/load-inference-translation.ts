// Loads the translation of InferencePools when the Inference Extension is on.
type InferenceTranslationModule = typeof import('./inference-translation.ts');

/** What translates InferencePools. */
export type InferenceTranslation = InferenceTranslationModule['inferenceTranslation'];

/** Undefined: the Inference Extension is off, and nothing of it is loaded. */
export async function loadInferenceTranslation(isOn: boolean): Promise<InferenceTranslation | undefined> {
  return isOn ? (await import('./inference-translation.ts')).inferenceTranslation : undefined;
}
