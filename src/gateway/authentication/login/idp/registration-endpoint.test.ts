import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import { entra } from './entra.ts';
import { findRegistrationEndpoint } from './registration-endpoint.ts';
import { createResource, type ResourceOptions } from '../../testing/auth-fixture.ts';
import { idpMetadata } from '../../testing/broker-fixture.ts';

const find = (options: ResourceOptions = {}): string | undefined =>
  findRegistrationEndpoint(createResource(options).config, idpMetadata)?.toString();

test('what the policy says, else what the metadata says, else nothing', () => {
  assert.equal(find(), 'https://idp.example.com/register');
  assert.equal(
    find({ message: { registration: { endpoint: 'https://idp.example.com/dcr' } } }),
    'https://idp.example.com/dcr',
  );
  assert.equal(find({ message: { registration: { mode: RegistrationMode.SHARED } } }), 'shared');
  assert.equal(find({ config: { preset: entra } }), undefined);
  assert.equal(findRegistrationEndpoint(createResource().config, { issuer: 'x' }), undefined);
});
