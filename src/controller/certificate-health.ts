// What the xDS certificate means for readiness: without any, the replica is not ready; with the last good one in place of a Secret that cannot be used it is
// ready, and says that it is degraded. Events say so too: beside the pod that cannot serve, and beside the Secret.
import type { Health } from '../base/health.ts';
import type { EventRecorder } from '../kubernetes/events.ts';
import { certificateSecretName } from './certificate-secret.ts';
import type { XdsCertificateWatch } from './xds-certificate.ts';

interface CertificateHealthOptions {
  readonly certificate: Pick<XdsCertificateWatch, 'problem' | 'state'>;
  readonly health: Health;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly installationNamespace: string;
  readonly podName: string;
}

/** Updates the health check whenever the certificate changes. */
export function watchCertificateHealth(options: CertificateHealthOptions): void {
  const { certificate, health, events, installationNamespace, podName } = options;
  const check = health.addCheck('certificate', 'the certificate has not been read yet');
  const event = { type: 'Warning', action: 'LoadCertificate' } as const;
  const inNamespace = { apiVersion: 'v1', namespace: installationNamespace };
  const follow = (): void => {
    const state = certificate.state.get();
    const text = certificate.problem.get();
    if (state.state === 'good' || text === undefined) return check.pass();
    if (state.state === 'degraded') {
      check.pass(text);
      events.record({
        ...event,
        subject: { ...inNamespace, kind: 'Secret', name: certificateSecretName },
        reason: 'CertificateDegraded',
        note: `The certificate of the xDS server is ${text}`,
      });
      return;
    }
    check.fail(text);
    if (state.isPending) return;
    events.record({
      ...event,
      subject: { ...inNamespace, kind: 'Pod', name: podName },
      reason: 'CertificateUnusable',
      note: `The certificate of the xDS server cannot be used: ${text}`,
    });
  };
  follow();
  certificate.state.subscribe(follow);
}
