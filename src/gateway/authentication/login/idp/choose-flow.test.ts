import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseFlow, type FlowInput } from './choose-flow.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import { findPreset, listPresetNames } from './presets.ts';
import { standardPreset } from '../../../config/provider-preset.ts';

const metadata: IdpMetadata = {
  issuer: 'https://idp.example.com',
  registration_endpoint: 'https://idp.example.com/register',
  token_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
};
const input: FlowInput = {
  flow: 'Auto',
  registration: 'Forward',
  registrationEndpoint: '',
  preset: standardPreset,
  metadata,
  emitsIssuer: false,
  addsToRequests: false,
};
const without = (name: string): IdpMetadata => {
  const { [name]: _left, ...others } = metadata;
  return others as IdpMetadata;
};

test('Facade when nothing speaks against it', () => {
  assert.equal(chooseFlow(input)?.flow, 'Facade');
  const own = {
    ...input,
    metadata: without('registration_endpoint'),
    registrationEndpoint: 'https://idp.example.com/dcr',
  };
  assert.equal(chooseFlow(own)?.flow, 'Facade');
});

test('Broker otherwise, with the reason', () => {
  const cases: readonly (readonly [Partial<FlowInput>, RegExp])[] = [
    [{ metadata: { ...metadata, authorization_response_iss_parameter_supported: true } }, /iss/],
    [{ emitsIssuer: true }, /iss/],
    [{ metadata: without('registration_endpoint') }, /registration endpoint/],
    [{ metadata: without('token_endpoint_auth_methods_supported') }, /client_secret_basic/],
    [{ metadata: { ...metadata, token_endpoint_auth_methods_supported: ['client_secret_post'] } }, /none/],
    [{ metadata: without('code_challenge_methods_supported') }, /S256/],
    [{ metadata: { ...metadata, code_challenge_methods_supported: ['plain'] } }, /S256/],
    [{ registration: 'Shared' }, /Shared/],
    [{ preset: { name: 'x', needsBroker: 'because of x' } }, /^because of x$/],
    [{ preset: { name: 'x', hasNoRegistration: true } }, /registration endpoint/],
    [{ addsToRequests: true }, /authorizationRequest/],
  ];
  for (const [change, reason] of cases) {
    const choice = chooseFlow({ ...input, ...change });
    assert.equal(choice?.flow, 'Broker', JSON.stringify(change));
    assert.match(choice.reason, reason);
  }
});

test('nothing is chosen before the metadata is known, unless it does not matter', () => {
  assert.equal(chooseFlow({ ...input, metadata: undefined }), undefined);
  assert.equal(chooseFlow({ ...input, metadata: undefined, registration: 'Shared' })?.flow, 'Broker');
  for (const flow of ['Facade', 'Broker', 'Direct'] as const) {
    const choice = chooseFlow({ ...input, flow, metadata: undefined });
    assert.deepEqual(choice, { flow, reason: `the policy asks for ${flow}` });
  }
});

test('presets without registration, or with another parameter for resource, need the broker', () => {
  for (const name of listPresetNames()) {
    const preset = findPreset(name)!;
    const needs = preset.hasNoRegistration === true || preset.resourceParameter === 'audience';
    assert.equal(chooseFlow({ ...input, preset })?.flow, needs ? 'Broker' : 'Facade', name);
  }
});
