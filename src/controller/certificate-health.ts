// An unusable certificate makes the replica not ready and is reported as an Event of its pod.
import type { Health } from '../base/health.ts';
import type { EventRecorder } from '../kubernetes/events.ts';
import type { XdsCertificateWatch } from './xds-certificate.ts';

interface CertificateHealthOptions {
  readonly certificate: Pick<XdsCertificateWatch, 'problem'>;
  readonly health: Health;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly installationNamespace: string;
  readonly podName: string;
}

/** Updates the health check whenever the certificate changes. */
export function watchCertificateHealth(options: CertificateHealthOptions): void {
  const { certificate, health, events, installationNamespace, podName } = options;
  const check = health.addCheck('certificate', 'the certificate has not been read yet');
  const follow = (problem: string | undefined): void => {
    if (problem === undefined) return check.pass();
    check.fail(problem);
    events.record({
      subject: { apiVersion: 'v1', kind: 'Pod', namespace: installationNamespace, name: podName },
      type: 'Warning',
      reason: 'CertificateUnusable',
      action: 'LoadCertificate',
      note: `The certificate of the xDS server cannot be used: ${problem}`,
    });
  };
  follow(certificate.problem.get());
  certificate.problem.subscribe(follow);
}
