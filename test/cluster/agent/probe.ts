// Asks containers whether they are well, as their probes say.
import { once } from 'node:events';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { askHealth } from './ask-health.ts';
import type { Container, Probe, ProbeHandler } from './pod.ts';

/** Where the container is. */
export interface ProbeTarget {
  readonly container: Container;
  readonly address: string;
  readonly exec: (command: readonly string[]) => Promise<number>;
}

/** The outcome of one attempt. */
export type ProbeResult = { readonly isWell: true } | { readonly isWell: false; readonly reason: string };

/** How often someone is asked before the first good answer: nobody should wait a whole period for a program that is ready. */
const eagerInterval = 50;

/** Asks until the signal; tells when the judgement changes, and the reason of each failure that counts. */
export async function runProbe(
  probe: Probe,
  target: ProbeTarget,
  onJudgement: (isWell: boolean, reason: string) => void,
  signal: AbortSignal,
  kind: 'startup' | 'readiness' | 'liveness',
): Promise<void> {
  const period = (probe.periodSeconds ?? 10) * 1000;
  const { failureThreshold = 3, successThreshold = 1 } = probe;
  let isWell = kind === 'liveness';
  let wasWell = isWell;
  let [successes, failures] = [0, 0];
  await pause((probe.initialDelaySeconds ?? 0) * 1000, signal);
  let nextFailureCounts = Date.now();
  while (!signal.aborted) {
    const askedAt = Date.now();
    const result = await ask(probe, target, (probe.timeoutSeconds ?? 1) * 1000);
    if (signal.aborted) return;
    if (result.isWell) {
      successes += 1;
      failures = 0;
      if (!isWell && successes >= successThreshold) onJudgement((isWell = wasWell = true), '');
    } else {
      successes = 0;
      if (Date.now() >= nextFailureCounts) {
        failures += 1;
        nextFailureCounts = askedAt + period;
      }
      if (failures >= failureThreshold) {
        isWell = false;
        onJudgement(false, result.reason);
      }
    }
    // A period is from question to question, as with the kubelet: whoever took all of it to fail is asked again at once.
    const isRegular = wasWell || kind === 'liveness';
    await pause(isRegular ? Math.max(0, askedAt + period - Date.now()) : Math.min(eagerInterval, period), signal);
  }
}

/** One attempt. */
export async function ask(handler: ProbeHandler, target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  try {
    if (handler.httpGet !== undefined) return await askHttp(handler.httpGet, target, timeoutMs);
    if (handler.tcpSocket !== undefined) {
      const { port, host = target.address } = handler.tcpSocket;
      const socket = connect({ host, port: findPort(port, target.container), timeout: timeoutMs });
      socket.on('timeout', () => socket.destroy(new Error('timed out')));
      await once(socket, 'connect');
      socket.destroy();
      return { isWell: true };
    }
    if (handler.grpc !== undefined) {
      const { port, service = '' } = handler.grpc;
      const status = await askHealth({ address: target.address, port, service, timeoutMs });
      return status === 'SERVING' ? { isWell: true } : { isWell: false, reason: `the server said ${status}` };
    }
    const code = await target.exec(handler.exec?.command ?? []);
    return code === 0 ? { isWell: true } : { isWell: false, reason: `the command ended with ${code}` };
  } catch (error) {
    return { isWell: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

async function askHttp(
  { path = '/', port, host, scheme = 'HTTP', httpHeaders = [] }: NonNullable<ProbeHandler['httpGet']>,
  target: ProbeTarget,
  timeoutMs: number,
): Promise<ProbeResult> {
  const send = scheme === 'HTTPS' ? requestHttps : requestHttp;
  const request = send({
    host: host ?? target.address,
    port: findPort(port, target.container),
    path,
    agent: false,
    // A probe does not ask whose certificate it is, as with the kubelet.
    rejectUnauthorized: false,
    headers: Object.fromEntries([
      ['user-agent', 'kube-probe/test'],
      ...httpHeaders.map(({ name, value }) => [name, value]),
    ]),
    signal: AbortSignal.timeout(timeoutMs),
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let body = '';
  response.setEncoding('utf8').on('data', (text: string) => (body += text.slice(0, 300)));
  await once(response, 'end');
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 400) return { isWell: true };
  return { isWell: false, reason: `HTTP probe failed with statuscode: ${status} ${body.slice(0, 300)}`.trim() };
}

/** A port by number or by the container's name for it. */
function findPort(port: number | string, container: Container): number {
  if (typeof port === 'number') return port;
  const named = container.ports?.find(({ name }) => name === port)?.containerPort;
  if (named === undefined) throw new Error(`the container has no port ${port}`);
  return named;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
