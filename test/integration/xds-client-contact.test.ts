// When the xDS client counts its controller as heard: while the configuration is up to date and bytes come, and never otherwise.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { waitFor } from '../kit/wait-for.ts';
import { startBlackHole } from './xds-client-black-hole.ts';
import {
  backend, digestOf, type FakeStream, resource, secret, startClient, startFakeController, type TestedClient,
} from './xds-client-fixture.ts'; // prettier-ignore

async function start(t: TestContext, apply?: () => Promise<{ readonly problems: readonly [] }>) {
  const controller = await startFakeController();
  const hole = await startBlackHole(controller.port);
  const heard = { times: 0 };
  const tested: TestedClient = startClient(hole.url, {
    ...(apply === undefined ? {} : { apply }),
    onHeard: () => (heard.times += 1),
    times: { pingIntervalMs: 20, pingTimeoutMs: 60_000, lookMs: 5 },
  });
  t.after(async () => {
    await tested.client.close();
    await hole.close();
    await controller.close();
  });
  const nextStream = async (index: number): Promise<FakeStream> => {
    await waitFor(`stream ${index}`, () => Object.keys(controller.streams[index]?.firsts ?? {}).length === 5);
    return controller.streams[index]!;
  };
  const hearMore = async (): Promise<void> => {
    const { times } = heard;
    await waitFor('it is heard again', () => heard.times > times + 2);
  };
  return { ...tested, controller, hole, heard, nextStream, hearMore };
}

const whole = digestOf(['backends', 'b', 'v1'], ['secrets', 's', 'v1']);
const sendBackend = (stream: FakeStream): string =>
  stream.send('backends', whole, [resource('backends', 'v1', backend('b'))]);
const sendSecret = (stream: FakeStream): string =>
  stream.send('secrets', whole, [resource('secrets', 'v1', secret('s', 'x'))]);

test('from the first whole update on, by answers to pings, until nothing comes any more', async (t) => {
  const { heard, nextStream, hearMore, hole, events } = await start(t);
  const stream = await nextStream(0);
  sendBackend(stream);
  await waitFor(() => events.includes('received Backend 1 0'));
  assert.equal(heard.times, 0, 'half of an update is not in force');
  sendSecret(stream);
  await hearMore();

  hole.swallow();
  // What was on its way may still arrive.
  let before = -1;
  await waitFor('it is silent', async () => {
    if (before === heard.times) return true;
    before = heard.times;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return false;
  });
  assert.ok(!events.some((event) => event.startsWith('disconnected')), 'the connection is still open');
  const { times } = heard;

  // The next connection counts once it has brought everything.
  hole.letThrough();
  hole.cut();
  const next = await nextStream(1);
  assert.equal(heard.times, times);
  next.send('secrets', whole, []);
  await hearMore();
});

test('not while what came could not be put in force', async (t) => {
  let isBroken = true;
  const { heard, nextStream, hearMore, lines } = await start(t, () =>
    isBroken ? Promise.reject(new Error('as told')) : Promise.resolve({ problems: [] }),
  );
  const stream = await nextStream(0);
  sendBackend(stream);
  const refused = sendSecret(stream);
  await waitFor('it is refused', () => stream.answerTo(refused) !== undefined);
  assert.ok(lines.some((line) => line.includes('could not be put in force')));
  assert.equal(heard.times, 0);
  isBroken = false;
  stream.send('secrets', whole, []);
  await hearMore();
});
