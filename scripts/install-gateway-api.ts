// Puts the Gateway API's CRDs, its conformance suite and the echo server of that suite into the user's cache folder, once per
// version. Run by `npm run test:cluster`; `node scripts/install-gateway-api.ts` does it alone.
import { installGoPrograms } from './install-go-programs.ts';
import { runInstaller } from './install-once.ts';

/** The version whose resources we implement. */
export const gatewayApiVersion = '1.6.1';

/** Makes sure that `crds/`, `echo-basic` and `conformance.test` are there, and returns the folder that holds them. */
export function installGatewayApi(report: (line: string) => void): Promise<string> {
  const conformance = 'sigs.k8s.io/gateway-api/conformance';
  return installGoPrograms(
    {
      name: 'gateway-api',
      version: gatewayApiVersion,
      duration: 'about two minutes',
      programs: [
        { output: 'echo-basic', package: `${conformance}/echo-basic` },
        { output: 'conformance.test', package: conformance, isTest: true },
      ],
      copies: [{ module: 'sigs.k8s.io/gateway-api', folder: 'config/crd/standard', output: 'crds' }],
    },
    report,
  );
}

if (import.meta.main) await runInstaller(`Gateway API ${gatewayApiVersion}`, installGatewayApi);
