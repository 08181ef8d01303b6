// The certificate of the xDS server: what is taken, what is refused and why, and how it is replaced while the server runs.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createAuthority, createCertificate, type TestCertificate } from '../../test/self-signed-certificate.ts';
import { silentLog } from '../base/log.ts';
import { Watchable } from '../base/watchable.ts';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { CertificateFolder } from './certificate-folder.ts';
import { checkCertificate } from './check-certificate.ts';
import { type KnownCopy, XdsCertificateWatch } from './xds-certificate.ts';

const serverName = 'proxy.proxy-system.svc';
const authority = createAuthority();
const good = createCertificate({ names: [serverName], issuer: authority });
const now = Date.now();
const day = 86_400_000;
const scratch = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-certificate-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

function check(overrides: { cert?: string | undefined; key?: string | undefined; ca?: string | undefined }): string {
  const files = { cert: good.cert, key: good.key, ca: authority.cert, ...overrides };
  const result = checkCertificate(
    { certificateChain: files.cert, privateKey: files.key, ca: files.ca },
    serverName,
    now,
  );
  return result.ok ? 'usable' : result.problem;
}

describe('checking', () => {
  test('a certificate that was signed by the authority, for our name', () => {
    assert.equal(check({}), 'usable');
    assert.equal(check({ cert: `${good.cert}\n${authority.cert}` }), 'usable');
    const rsa = createCertificate({ names: ['*.proxy-system.svc'], issuer: authority, keyType: 'rsa' });
    assert.equal(check({ cert: rsa.cert, key: rsa.key }), 'usable');
    const own = createCertificate({ names: [serverName] });
    assert.equal(check({ cert: own.cert, key: own.key, ca: `${authority.cert}${own.cert}` }), 'usable');
  });

  test('what is missing is named', () => {
    assert.equal(check({ ca: undefined }), 'ca.crt is missing');
    assert.equal(check({ cert: undefined, key: undefined }), 'tls.crt and tls.key are missing');
  });

  test('what is broken is named', () => {
    const other = createCertificate({ names: [serverName], issuer: authority });
    assert.equal(check({ cert: 'hello' }), 'tls.crt holds no readable PEM certificate');
    assert.equal(check({ cert: good.cert.slice(0, 200) }), 'tls.crt holds no readable PEM certificate');
    assert.equal(check({ ca: '' }), 'ca.crt holds no readable PEM certificate');
    assert.equal(check({ key: 'hello' }), 'tls.key holds no usable PEM private key');
    assert.equal(check({ key: other.key }), 'tls.key does not match tls.crt');
    assert.equal(check({ ca: createAuthority('Another').cert }), 'ca.crt did not sign tls.crt');
    // The same name is not the same authority.
    assert.equal(check({ ca: createAuthority().cert }), 'ca.crt did not sign tls.crt');
  });

  test('the time and the name', () => {
    const make = (options: Partial<Parameters<typeof createCertificate>[0]>): TestCertificate =>
      createCertificate({ names: [serverName], issuer: authority, ...options });
    const expired = make({ notBefore: new Date(now - 2 * day), notAfter: new Date(now - day) });
    assert.match(check({ cert: expired.cert, key: expired.key }), /^tls\.crt has expired: it was valid until 2/);
    const early = make({ notBefore: new Date(now + day) });
    assert.match(check({ cert: early.cert, key: early.key }), /^tls\.crt is not valid before/);
    const foreign = make({ names: ['elsewhere.example.com'] });
    assert.match(check({ cert: foreign.cert, key: foreign.key }), /^tls\.crt is not for proxy\.proxy-system\.svc/);
  });
});

/** Fills a folder as the kubelet does: a new folder, and a link that is replaced. */
async function fill(folder: string, files: Readonly<Record<string, string>>, generation: number): Promise<void> {
  const content = join(folder, `..generation-${generation}`);
  await mkdir(content, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(content, name), text);
  await symlink(`..generation-${generation}`, join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  for (const name of Object.keys(files)) await symlink(join('..data', name), join(folder, name)).catch(() => {});
}

function describeFiles({ cert, key }: TestCertificate): Readonly<Record<string, string>> {
  return { 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert };
}

async function startWatch(name: string, copy?: Watchable<KnownCopy>) {
  const folder = join(scratch, name);
  const clock = createManualClock(now);
  const errors: object[] = [];
  const log = { ...silentLog, error: (fields: object) => void errors.push(fields) };
  const watch = new XdsCertificateWatch({
    source: new CertificateFolder(folder),
    serverName,
    log,
    clock,
    ...(copy !== undefined && { copy }),
  });
  await watch.start();
  return { folder, clock, watch, errors };
}

describe('following', () => {
  test('a folder that appears later is taken when it does', async () => {
    const { folder, watch, errors } = await startWatch('later');
    assert.equal(watch.certificate.get(), undefined);
    assert.match(watch.problem.get()!, /tls\.crt and tls\.key and ca\.crt are missing/);
    await watch.look();
    assert.equal(errors.length, 1, 'said once');
    await fill(folder, describeFiles(good), 1);
    await watch.look();
    assert.equal(watch.certificate.get()?.certificateChain, good.cert);
    assert.equal(watch.ca.get(), authority.cert);
    assert.equal(watch.problem.get(), undefined);
    await watch.stop();
  });

  test('a rotation takes effect; a broken one leaves the certificate before in force, and is told', async () => {
    const { folder, watch } = await startWatch('rotation');
    await fill(folder, describeFiles(good), 1);
    await watch.look();
    const second = createCertificate({ names: [serverName], issuer: authority });
    await fill(folder, describeFiles(second), 2);
    await watch.look();
    assert.equal(watch.certificate.get()?.certificateChain, second.cert);
    await fill(folder, { ...describeFiles(second), 'tls.key': good.key }, 3);
    await watch.look();
    await watch.look();
    assert.match(watch.problem.get()!, /tls\.key does not match tls\.crt/);
    assert.equal(watch.certificate.get()?.certificateChain, second.cert);
    await rm(join(folder, '..data'));
    await watch.look();
    assert.match(watch.problem.get()!, /are missing/);
    await fill(folder, describeFiles(good), 4);
    await watch.look();
    assert.deepEqual([watch.problem.get(), watch.certificate.get()?.certificateChain], [undefined, good.cert]);
    await watch.stop();
  });

  test('a certificate that expires is not shown any more', async () => {
    const { folder, watch, clock } = await startWatch('expiry');
    const short = createCertificate({ names: [serverName], issuer: authority, notAfter: new Date(now + 60_000) });
    await fill(folder, describeFiles(short), 1);
    await watch.look();
    assert.ok(watch.certificate.get() !== undefined && watch.expiresAt! <= now + 60_000);
    await clock.advance(70_000);
    await watch.look();
    await watch.look();
    assert.match(watch.problem.get()!, /has expired/);
    assert.equal(watch.certificate.get(), undefined);
    assert.ok(watch.expiresAt! <= now + 60_000, 'when it expired is still told');
    assert.equal(watch.ca.get(), authority.cert, 'gateways go on trusting it');
    await watch.stop();
  });

  test('a copy serves a process that has nothing else; nothing is told before it was looked for', async () => {
    const copy = new Watchable<KnownCopy>({ isKnown: false, files: undefined });
    const { folder, watch, errors } = await startWatch('copy', copy);
    assert.deepEqual([watch.state.get().state, watch.canServe.get(), errors.length], ['none', false, 0]);
    const files = { certificateChain: good.cert, privateKey: good.key, ca: authority.cert };
    copy.set({ isKnown: true, files });
    await watch.look();
    assert.deepEqual([watch.state.get().state, watch.canServe.get(), errors.length], ['degraded', true, 1]);
    assert.equal(watch.certificate.get()?.certificateChain, good.cert);
    const next = createCertificate({ names: [serverName], issuer: authority });
    await fill(folder, describeFiles(next), 1);
    await watch.look();
    assert.deepEqual([watch.state.get().state, watch.certificate.get()?.certificateChain], ['good', next.cert]);
    await watch.stop();
    const none = await startWatch('no-copy', new Watchable<KnownCopy>({ isKnown: true, files: undefined }));
    assert.deepEqual([none.watch.state.get().state, none.errors.length], ['none', 1]);
    await none.watch.stop();
  });

  test('it looks by itself', async () => {
    const { folder, watch, clock } = await startWatch('by-itself');
    await fill(folder, describeFiles(good), 1);
    // The timer starts the look; reading files takes as long as it takes.
    for (let tries = 0; watch.certificate.get() === undefined && tries < 1_000; tries += 1) await clock.advance(2_000);
    assert.equal(watch.certificate.get()?.certificateChain, good.cert);
    await watch.stop();
  });
});
