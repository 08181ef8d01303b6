// A delta ADS stream with the reference client at its other end, and short ways to drive the two.
import assert from 'node:assert/strict';
import type { DeltaDiscoveryResponse } from '../../ir/gen/discovery_pb.ts';
import { DeltaStream } from '../delta-stream.ts';
import { resourceTypes } from '../resource-types.ts';
import { ReferenceClient } from './reference-client.ts';
import { makeSnapshot, type SmallConfiguration } from './small-snapshots.ts';

const identity = { nodeId: 'pod-1', gateway: 'default/web', version: '1.2.3' };

/** A stream with a client at its other end. */
export function openStream(
  small?: SmallConfiguration,
  client = new ReferenceClient(),
  maxResponseBytes?: number,
): { stream: DeltaStream; client: ReferenceClient } {
  client.connect();
  const stream = new DeltaStream({ identity, nonce: 'n', ...(maxResponseBytes && { maxResponseBytes }) });
  if (small !== undefined) stream.setTarget(makeSnapshot(small));
  return { stream, client };
}

type OpenedStream = ReturnType<typeof openStream>;

/** Subscribes to everything, in the order of the types. */
export function subscribeAll({ stream, client }: OpenedStream): void {
  for (const { typeUrl } of resourceTypes) assertTaken(stream.receive(client.subscribe(typeUrl, [])));
}

export function assertTaken(outcome: ReturnType<DeltaStream['receive']>): void {
  assert.equal(outcome.kind, 'taken', outcome.kind === 'refused' ? outcome.message : '');
}

/** Takes everything that is to be sent, as short text: `list +added -removed`. */
export function takeAll({ stream, client }: OpenedStream): string[] {
  const texts: string[] = [];
  for (let response = stream.takeResponse(); response !== undefined; response = stream.takeResponse()) {
    client.receive(response);
    texts.push(describeResponse(response));
  }
  return texts;
}

export function describeResponse({ typeUrl, resources, removedResources }: DeltaDiscoveryResponse): string {
  const list = resourceTypes.find((type) => type.typeUrl === typeUrl)?.list ?? typeUrl;
  return [list, ...resources.map(({ name }) => `+${name}`), ...removedResources.map((name) => `-${name}`)].join(' ');
}

/** Answers everything: with ACKs, except for what is rejected. */
export function answerAll({ stream, client }: OpenedStream, rejected: Readonly<Record<string, string>> = {}): void {
  while (client.unanswered.length > 0) {
    const rejections = client.unanswered[0]!.resources.flatMap(({ name }) =>
      rejected[name] === undefined ? [] : [{ name, reason: rejected[name] }],
    );
    assertTaken(stream.receive(client.answer(rejections.length === 0 ? undefined : rejections)));
  }
}

export function settleAll(opened: OpenedStream): void {
  takeAll(opened);
  answerAll(opened);
}

export function openSettled(small: SmallConfiguration): OpenedStream {
  const opened = openStream(small);
  subscribeAll(opened);
  settleAll(opened);
  return opened;
}
