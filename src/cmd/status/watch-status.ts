// `status --watch`: the report again whenever it says something else. In a terminal it is redrawn, elsewhere changed lines are printed.
import { silentLog } from '../../base/log.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { listChanges } from './change-lines.ts';
import type { ClusterView } from './cluster-view.ts';
import { formatStatus } from './format-status.ts';
import { openScreen, type Screen } from './screen.ts';
import type { StatusReport } from './status-report.ts';
import { watchCluster } from './watch-cluster.ts';

/** The terminal behind standard output; there is none where it is a file or a pipe. */
export interface StatusTerminal {
  readonly getSize: () => { readonly columns: number; readonly rows: number };
  readonly onResize: (listener: () => void) => () => void;
}

interface WatchStatusOptions {
  readonly client: KubernetesClient;
  readonly first: ClusterView;
  readonly buildReport: (view: ClusterView) => StatusReport;
  readonly stdout: (text: string) => void;
  readonly terminal: StatusTerminal | undefined;
  readonly color: boolean;
  readonly format: 'table' | 'json';
  readonly now: () => number;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const settleMs = 100;
/** A controller that is gone sends no event: its lease just runs out. */
const tickMs = 5_000;

/** Shows the report until the signal, and returns the last one. */
export async function watchStatus(options: WatchStatusOptions): Promise<StatusReport> {
  const { client, first, buildReport, terminal, signal } = options;
  let view = first;
  let report = buildReport(view);
  const shower =
    terminal !== undefined && options.format === 'table' ? showOnScreen(options, terminal) : showLines(options);
  shower.show(report, undefined);
  const refresh = (): void => {
    const before = report;
    report = buildReport(view);
    shower.show(report, before);
  };
  const watch = watchCluster({
    client,
    first,
    log: silentLog,
    settleMs,
    onView(next) {
      view = next;
      refresh();
    },
  });
  const tick = setInterval(refresh, tickMs);
  try {
    await waitForAbort(signal);
  } finally {
    clearInterval(tick);
    await watch.stop();
    shower.close(report);
  }
  return report;
}

interface Shower {
  /** `before` undefined: it is the first. */
  show(report: StatusReport, before: StatusReport | undefined): void;
  close(report: StatusReport): void;
}

function showOnScreen({ stdout, color }: WatchStatusOptions, terminal: StatusTerminal): Shower {
  const screen: Screen = openScreen({ write: stdout, getRows: () => terminal.getSize().rows });
  let last: StatusReport | undefined;
  const format = (report: StatusReport): string => formatStatus(report, { color, width: terminal.getSize().columns });
  const draw = (): void => {
    if (last !== undefined) screen.draw(format(last));
  };
  const forget = terminal.onResize(draw);
  return {
    show(report) {
      last = report;
      draw();
    },
    close(report) {
      forget();
      screen.close();
      // What was seen last stays readable, and can be scrolled.
      stdout(format(report));
    },
  };
}

function showLines({ stdout, color, format, now }: WatchStatusOptions): Shower {
  return {
    show(report, before) {
      if (format === 'json') {
        if (before === undefined || printStable(before) !== printStable(report)) stdout(`${JSON.stringify(report)}\n`);
      } else if (before === undefined) stdout(formatStatus(report, { color, width: undefined }));
      else for (const line of listChanges(before, report)) stdout(`${new Date(now()).toISOString()}  ${line}\n`);
    },
    close() {},
  };
}

/** Without what changes every few seconds and says nothing. */
function printStable(report: StatusReport): string {
  return JSON.stringify(report, (key, value: unknown) => (key === 'renewed' ? undefined : value));
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
