// What a gateway does about its own staleness (src/xds/staleness.ts): it is not ready, it may close, and the log, the metrics and the admin page say why.
import { type Clock, systemClock } from '../base/clock.ts';
import { formatDuration } from '../base/format-duration.ts';
import { readUptime } from '../base/uptime.ts';
import { defaultConnectionTimes } from '../xds/client-connection.ts';
import type { XdsClientTimes } from '../xds/client.ts';
import { StalenessWatch } from '../xds/staleness.ts';
import type { GatewayCommandSettings } from './gateway-command-flags.ts';
import type { GatewayProcess } from './start-gateway.ts';

type StaleSettings = Pick<GatewayCommandSettings, 'maxStaleness' | 'onStale'>;
type StaleProcess = Pick<GatewayProcess, 'log' | 'registry' | 'health' | 'showProblems'> & {
  readonly gateway: Pick<GatewayProcess['gateway'], 'setStale'>;
};

/** The clocks of the machine, unless a test has its own. */
interface Clocks {
  readonly clock: Clock;
  readonly readUptime: () => number;
}

/** Begins to watch. `silentMs`: how long there was no contact before this process started; Infinity: not known. */
export function watchStaleness(
  { log, registry, health, showProblems, gateway }: StaleProcess,
  { maxStaleness, onStale }: StaleSettings,
  silentMs: number,
  clocks: Clocks = { clock: systemClock, readUptime },
): Pick<StalenessWatch, 'heard' | 'stop'> {
  const closes = onStale === 'close';
  const check = maxStaleness === undefined ? undefined : health.addCheck('controller', '');
  check?.pass();
  const watch = new StalenessWatch({
    ...clocks,
    maxMs: maxStaleness,
    silentMs,
    onChange(isStale) {
      if (!isStale) {
        gateway.setStale(undefined);
        showProblems([]);
        check?.pass();
        log.info({}, 'this gateway is in contact with a controller, up to date, and no longer stale');
        return;
      }
      const reason = describeStaleness(watch.silentMs, maxStaleness!, clocks.clock.now());
      gateway.setStale({ detail: reason, closes });
      const effect = closes ? 'it is not ready and answers every request with 503' : 'it is not ready';
      showProblems([`This gateway is stale, so ${effect}: ${reason}.`]);
      check?.fail(reason);
      log.warn({ max_staleness: formatDuration(maxStaleness!) }, `this gateway is stale, so ${effect}: ${reason}`);
    },
  });
  const startedAt = clocks.readUptime();
  registry.gaugeOf(
    'mcp_gateway_controller_silence_seconds',
    'Time since this gateway was last up to date and in contact with a controller; since its start, if that is not known.',
    () => Math.min(watch.silentMs, silentMs === Infinity ? clocks.readUptime() - startedAt : Infinity) / 1_000,
  );
  registry.gaugeOf('mcp_gateway_stale', '1 while that time is longer than maxStaleness.', () => Number(watch.isStale));
  watch.start();
  return watch;
}

/** For the readiness page, the admin page and the log. */
function describeStaleness(silentMs: number, maxMs: number, nowMs: number): string {
  const longest = `${formatDuration(maxMs)} (maxStaleness)`;
  if (silentMs === Infinity)
    return `it is not known when there was last contact with a controller, which may be longer ago than ${longest}`;
  const since = new Date(nowMs - silentMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return `no contact with a controller since ${since}, longer than ${longest}`;
}

/** Pings and looks that are frequent enough: a controller that answers must never be silent for half of the time. */
export function chooseTimes({ maxStaleness }: StaleSettings): Partial<XdsClientTimes> {
  if (maxStaleness === undefined) return {};
  const { pingIntervalMs, pingTimeoutMs } = defaultConnectionTimes;
  return {
    pingIntervalMs: Math.min(pingIntervalMs, maxStaleness / 4),
    pingTimeoutMs: Math.min(pingTimeoutMs, maxStaleness / 2),
    lookMs: Math.min(500, maxStaleness / 10),
  };
}
