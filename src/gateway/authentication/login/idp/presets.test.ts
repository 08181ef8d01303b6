import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { mcpAuthenticationSchema } from '../../../../api/mcp-authentication.ts';
import { findPreset, listPresetNames } from './presets.ts';
import { standardPreset } from '../../../config/provider-preset.ts';

test('every provider of the schema has a preset, and every preset a provider', () => {
  const schema = z.toJSONSchema(mcpAuthenticationSchema, { unrepresentable: 'any', io: 'input' }) as unknown as {
    properties: { provider: { enum: string[] } };
  };
  assert.deepEqual([...listPresetNames()].toSorted(), schema.properties.provider.enum.toSorted());
});

test('no name is the standard, an unknown name is nothing', () => {
  assert.equal(findPreset(''), standardPreset);
  assert.equal(findPreset('keycloak'), undefined);
  assert.equal(findPreset('constructor'), undefined);
});

test('who cannot register clients needs the broker, and every preset has something to say', () => {
  for (const name of listPresetNames()) {
    const preset = findPreset(name)!;
    assert.equal(preset.name, name);
    assert.ok((preset.remarks ?? []).length > 0, name);
    if (preset.hasNoRegistration === true) assert.notEqual(preset.needsBroker, undefined, name);
  }
});
