import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { HeaderMutationSchema } from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { listCandidates, readDestination } from './destination.ts';

const field = (key: string, text: string) =>
  create(HeaderMutationSchema, { setHeaders: [{ header: { key, rawValue: Buffer.from(text) } }] });

test('the header field, in any spelling and either form of its value, then the metadata', () => {
  assert.equal(readDestination(field('X-Gateway-Destination-Endpoint', '10.0.0.1:80'), undefined), '10.0.0.1:80');
  const old = create(HeaderMutationSchema, {
    setHeaders: [{ header: { key: 'x-gateway-destination-endpoint', value: '10.0.0.2:80' } }],
  });
  assert.equal(readDestination(old, undefined), '10.0.0.2:80');
  const metadata = { 'envoy.lb': { 'x-gateway-destination-endpoint': '10.0.0.3:80' } };
  assert.equal(readDestination(undefined, metadata), '10.0.0.3:80');
  assert.equal(readDestination(field('x-other', 'x'), metadata), '10.0.0.3:80');
  assert.equal(readDestination(old, metadata), '10.0.0.2:80');
});

test('metadata that is something else says nothing', () => {
  for (const metadata of [
    undefined,
    {},
    { 'envoy.lb': null },
    { 'envoy.lb': 'text' },
    { 'envoy.lb': ['x-gateway-destination-endpoint'] },
    { 'envoy.lb': { 'x-gateway-destination-endpoint': 7 } },
    { other: { 'x-gateway-destination-endpoint': '10.0.0.1:80' } },
  ])
    assert.equal(readDestination(undefined, metadata), undefined);
});

test('candidates in order, each once, and not without end', () => {
  assert.deepEqual(listCandidates(' 10.0.0.1:80,10.0.0.2:80 ,, 10.0.0.1:80,'), ['10.0.0.1:80', '10.0.0.2:80']);
  assert.deepEqual(listCandidates(' , '), []);
  const many = Array.from({ length: 1_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}:80`).join(',');
  assert.equal(listCandidates(many).length, 64);
});
