// What a gateway counts about its connection to the controller.
import type { Metrics } from '../base/metrics.ts';
import type { XdsClientObserver } from '../xds/client.ts';
import { resourceTypes } from '../xds/resource-types.ts';

/** Registers the metrics, and returns the hooks that feed them. */
export function createControllerLinkMetrics(metrics: Metrics): XdsClientObserver {
  let isConnected = false;
  metrics.gaugeOf('mcp_gateway_controller_connected', '1 while the controller answers.', () => Number(isConnected));
  const type = { values: resourceTypes.map(({ list }) => list) };
  const disconnects = metrics.counter('mcp_gateway_controller_disconnects_total', 'Lost or failed connections.', {});
  const resources = metrics.counter('mcp_gateway_xds_resources_total', 'Resources that came from the controller.', {
    type,
    change: { values: ['updated', 'removed'] },
  });
  const answers = metrics.counter('mcp_gateway_xds_answers_total', 'Answers to the controller.', {
    type,
    answer: { values: ['ack', 'nack'] },
  });
  const listOf = (typeUrl: string): string => resourceTypes.find((each) => each.typeUrl === typeUrl)?.list ?? 'other';
  return {
    connected() {
      isConnected = true;
    },
    disconnected() {
      isConnected = false;
      disconnects.add({});
    },
    received(typeUrl, updated, removed) {
      if (updated > 0) resources.add({ type: listOf(typeUrl), change: 'updated' }, updated);
      if (removed > 0) resources.add({ type: listOf(typeUrl), change: 'removed' }, removed);
    },
    acknowledged: (typeUrl) => answers.add({ type: listOf(typeUrl), answer: 'ack' }),
    rejected: (typeUrl) => answers.add({ type: listOf(typeUrl), answer: 'nack' }),
  };
}
