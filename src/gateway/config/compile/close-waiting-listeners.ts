// Listeners that wait for certificates, and have none that was kept: closed.
import type { Configuration } from '../../../ir/configuration.ts';
import { type Listener, ListenerProtocol } from '../../../ir/gen/config_pb.ts';

/**
 * Takes awaited certificates that are not there from their listeners. A listener without any has no routes, and stays only where its port is open for others: a
 * wider listener must not take over its hostname. The same object, if no listener waits.
 */
export function closeWaitingListeners(configuration: Configuration): Configuration {
  if (!configuration.listeners.some(({ awaitedCertificates }) => awaitedCertificates.length > 0)) return configuration;
  const secrets = new Set(configuration.secrets.map(({ key }) => key));
  const closed = new Set<string>();
  const listeners = configuration.listeners.map((listener): Listener => {
    const { key, certificates, awaitedCertificates } = listener;
    const usable = certificates.filter((secret) => !awaitedCertificates.includes(secret) || secrets.has(secret));
    if (awaitedCertificates.length > 0 && usable.length === 0) closed.add(key);
    return usable.length === certificates.length ? listener : { ...listener, certificates: usable };
  });
  const isOpen = ({ protocol, certificates }: Listener): boolean =>
    protocol === ListenerProtocol.HTTPS && certificates.length > 0;
  const openPorts = new Set(listeners.filter(isOpen).map(({ port }) => port));
  return {
    ...configuration,
    listeners: listeners.filter(({ key, port }) => !closed.has(key) || openPorts.has(port)),
    routes: configuration.routes.flatMap((route) => {
      const parents = route.parents.filter(({ listener }) => !closed.has(listener));
      if (parents.length === route.parents.length) return [route];
      return parents.length === 0 ? [] : [{ ...route, parents }];
    }),
  };
}
