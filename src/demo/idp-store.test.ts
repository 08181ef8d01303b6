import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createIdpStore } from './idp-store.ts';

describe("the store of the demo's identity provider", () => {
  test('keeps kinds apart and finds by id, uid and user code', async () => {
    const open = createIdpStore();
    const session = open('Session');
    await session.upsert('a', { uid: 'u', userCode: 'c' });
    assert.deepEqual(await session.find('a'), { uid: 'u', userCode: 'c' });
    assert.deepEqual(await session.findByUid('u'), { uid: 'u', userCode: 'c' });
    assert.deepEqual(await session.findByUserCode('c'), { uid: 'u', userCode: 'c' });
    assert.equal(await open('Grant').find('a'), undefined);
    assert.deepEqual(await open('Session').find('a'), { uid: 'u', userCode: 'c' }, 'adapters of one kind share');
  });

  test('forgets what has expired', async () => {
    let now = 1_000_000;
    const codes = createIdpStore(() => now)('AuthorizationCode');
    await codes.upsert('short', {}, 60);
    await codes.upsert('long', {}, 3_600);
    now += 60_000;
    assert.equal(await codes.find('short'), undefined);
    assert.deepEqual(await codes.find('long'), {});
  });

  test('marks what was used, without changing what was handed out', async () => {
    const codes = createIdpStore(() => 5_000)('AuthorizationCode');
    await codes.upsert('code', { grantId: 'g' }, 60);
    const before = await codes.find('code');
    await codes.consume('code');
    await codes.consume('unknown');
    assert.deepEqual(before, { grantId: 'g' });
    assert.deepEqual(await codes.find('code'), { grantId: 'g', consumed: 5 });
  });

  test('revokes by grant, destroys by id', async () => {
    const tokens = createIdpStore()('RefreshToken');
    await tokens.upsert('1', { grantId: 'g' });
    await tokens.upsert('2', { grantId: 'g' });
    await tokens.upsert('3', { grantId: 'h' });
    await tokens.upsert('4', {});
    await tokens.revokeByGrantId('g');
    await tokens.destroy('4');
    const left = await Promise.all(['1', '2', '3', '4'].map((id) => tokens.find(id)));
    assert.deepEqual(left, [undefined, undefined, { grantId: 'h' }, undefined]);
  });
});
