// Puts the CRDs of the Gateway API's Inference Extension, its conformance suite and the small endpoint picker of that suite into
// the user's cache folder, once per version. `node scripts/install-inference-extension.ts` does it alone; with `--endpoint-picker`,
// it does so for the full endpoint picker, too, which takes longer and is not part of the suite.
import { installGoPrograms } from './install-go-programs.ts';
import { runInstaller } from './install-once.ts';

/** The version whose InferencePool we implement. */
export const inferenceExtensionVersion = '1.6.0';

/** The last version that has the full endpoint picker; those after it have only the small one. */
export const endpointPickerVersion = '1.5.0';

const module = 'sigs.k8s.io/gateway-api-inference-extension';

/** Makes sure that `crds/`, `lwepp` (the small endpoint picker) and `conformance.test` are there, and returns the folder that holds them. */
export function installInferenceExtension(report: (line: string) => void): Promise<string> {
  return installGoPrograms(
    {
      name: 'inference-extension',
      version: inferenceExtensionVersion,
      duration: 'about three minutes',
      programs: [
        { output: 'lwepp', package: `${module}/cmd/lwepp` },
        { output: 'conformance.test', package: `${module}/conformance`, isTest: true },
      ],
      copies: [{ module, folder: 'config/crd/bases', output: 'crds' }],
    },
    report,
  );
}

/** Makes sure that `epp`, the full endpoint picker, and `crds/`, those of its version, are there, and returns the folder that holds them. */
export function installEndpointPicker(report: (line: string) => void): Promise<string> {
  return installGoPrograms(
    {
      name: 'endpoint-picker',
      version: endpointPickerVersion,
      duration: 'about five minutes',
      programs: [{ output: 'epp', package: `${module}/cmd/epp` }],
      copies: [{ module, folder: 'config/crd/bases', output: 'crds' }],
    },
    report,
  );
}

if (import.meta.main) {
  await runInstaller(`Inference Extension ${inferenceExtensionVersion}`, installInferenceExtension);
  if (process.argv.includes('--endpoint-picker')) {
    await runInstaller(`Endpoint picker ${endpointPickerVersion}`, installEndpointPicker);
  }
}
