// In a cluster every Gateway has pods of its own, so that two may have the same port: a request is explained against one of them.
import { findNearestName } from '../../base/nearest-name.ts';
import { closeWaitingListeners } from '../../gateway/config/compile/close-waiting-listeners.ts';
import { compile } from '../../gateway/config/compile/compile.ts';
import { type Configuration, emptyConfiguration } from '../../ir/configuration.ts';
import { sliceConfiguration } from '../../translate/slice-configuration.ts';
import { choosePort } from './choose-port.ts';
import type { RequestLine } from './request-line.ts';

type ChosenGateway =
  | { readonly ok: true; readonly gateway: string; readonly configuration: Configuration }
  | { readonly ok: false; readonly problem: string };

interface GatewayQuestion {
  readonly line: RequestLine;
  /** --listener */
  readonly listener: string | undefined;
  /** --gateway: name, or namespace/name. */
  readonly gateway: string | undefined;
}

/** Chooses by --gateway, or by the listener of the URL. */
export function chooseGateway(configuration: Configuration, question: GatewayQuestion): ChosenGateway {
  const slices = sliceConfiguration(closeWaitingListeners(configuration));
  const names = [...slices.keys()].toSorted();
  if (names.length === 0)
    return {
      ok: false,
      problem: 'no Gateway of this controller has a listener that is served; mcp-gatehouse status -A says why',
    };
  const wanted = question.gateway;
  const named = wanted === undefined ? names : names.filter((name) => name === wanted || name.endsWith(`/${wanted}`));
  if (named.length === 0) {
    const near = findNearestName(wanted ?? '', names);
    const hint = near === undefined ? `there is ${names.join(', ')}` : `did you mean ${near}?`;
    return { ok: false, problem: `--gateway ${wanted}: no Gateway of this name is served; ${hint}` };
  }
  const reached = named.filter((name) => isReached(slices.get(name)!, question));
  // With none the choice of the port says what there is; of several Gateways one has to be named first.
  const left = reached.length > 0 ? reached : named;
  const [first] = left;
  if (first === undefined || left.length > 1) {
    const which = reached.length > 0 ? 'several Gateways could be meant' : 'no Gateway listens for this URL; there are';
    return { ok: false, problem: `${which}: ${left.join(', ')}; name one with --gateway` };
  }
  return { ok: true, gateway: first, configuration: slices.get(first)! };
}

/** Whether the Gateway has a listener for the request, as its own pods see it. */
function isReached({ listeners, secrets }: Configuration, { line, listener }: GatewayQuestion): boolean {
  const { runtime } = compile({ ...emptyConfiguration, listeners, secrets });
  return choosePort(runtime, line, listener).ok;
}
