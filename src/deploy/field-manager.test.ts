// Who owns which field: what we created becomes what we applied, and others are left alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { fieldManager, isScaledByOthers, takeOverCreation } from './field-manager.ts';

function live(...managedFields: readonly object[]): KubernetesObject {
  return { metadata: { name: 'a', managedFields } };
}

const created = {
  manager: fieldManager,
  operation: 'Update',
  apiVersion: 'apps/v1',
  fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:a': {} } },
};
const applied = {
  manager: fieldManager,
  operation: 'Apply',
  apiVersion: 'apps/v1',
  fieldsV1: { 'f:spec': { 'f:b': {} } },
};
const kubectl = { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:metadata': {} } };

test('what we created counts as applied', () => {
  assert.deepEqual(takeOverCreation(live(kubectl, created)), [kubectl, { ...created, operation: 'Apply' }]);
  assert.deepEqual(takeOverCreation(live(created, kubectl, applied)), [
    kubectl,
    { ...created, operation: 'Apply', fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:a': {}, 'f:b': {} } } },
  ]);
});

test('there is nothing to take over of others, of subresources, or twice', () => {
  assert.equal(takeOverCreation(live()), undefined);
  assert.equal(takeOverCreation({ metadata: { name: 'a' } }), undefined);
  assert.equal(takeOverCreation(live(kubectl, applied)), undefined);
  assert.equal(takeOverCreation(live({ ...created, subresource: 'status' })), undefined);
});

test('who scales', () => {
  assert.equal(isScaledByOthers(live(created, kubectl)), false);
  const scaler = {
    manager: 'kube-controller-manager',
    operation: 'Update',
    subresource: 'scale',
    fieldsV1: created.fieldsV1,
  };
  assert.equal(isScaledByOthers(live(created, scaler)), true);
});
