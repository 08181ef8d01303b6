import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, equals } from '@bufbuild/protobuf';
import { type Configuration, emptyConfiguration } from '../../ir/configuration.ts';
import { BackendSchema, ListenerSchema, type Route, RouteSchema } from '../../ir/gen/config_pb.ts';
import {
  ConfigurationReceiver,
  ConfigurationSender,
  ConfigurationText,
  MessageNumbers,
} from './configuration-relay.ts';

const numbers = new MessageNumbers();
const say = (configuration: Configuration): ConfigurationText => new ConfigurationText(configuration, numbers);
const route = (key: string): Route => create(RouteSchema, { key, httpRoute: 'n/a' });

test('arrives as it was', () => {
  const configuration: Configuration = {
    ...emptyConfiguration,
    listeners: [create(ListenerSchema, { key: 'l', port: 80 })],
    routes: [route('a'), route('b')],
    backends: [
      create(BackendSchema, { key: 'c', kind: { case: 'http', value: { endpoints: [{ host: 'h', port: 1 }] } } }),
    ],
  };
  const read = new ConfigurationReceiver().read(structuredClone(new ConfigurationSender().prepare(say(configuration))));
  assert.ok(equals(ListenerSchema, read.listeners[0]!, configuration.listeners[0]!));
  assert.ok(equals(BackendSchema, read.backends[0]!, configuration.backends[0]!));
  assert.deepEqual(
    read.routes.map(({ key }) => key),
    ['a', 'b'],
  );
  assert.deepEqual([read.policies, read.secrets], [[], []]);
});

test('what did not change is not sent again, and stays the same object', () => {
  const [sender, receiver] = [new ConfigurationSender(), new ConfigurationReceiver()];
  const [a, b, c] = [route('a'), route('b'), route('c')];
  const first = receiver.read(sender.prepare(say({ ...emptyConfiguration, routes: [a, b] })));
  const sent = sender.prepare(say({ ...emptyConfiguration, routes: [c, a] }));
  assert.equal(sent.messages.size, 1);
  const second = receiver.read(sent);
  assert.equal(second.routes[1], first.routes[0]);
  assert.equal(second.routes[0]!.key, 'c');
});

test('what was gone in between is sent anew, since nobody has kept it', () => {
  const [sender, receiver] = [new ConfigurationSender(), new ConfigurationReceiver()];
  const a = route('a');
  receiver.read(sender.prepare(say({ ...emptyConfiguration, routes: [a] })));
  receiver.read(sender.prepare(say(emptyConfiguration)));
  const sent = sender.prepare(say({ ...emptyConfiguration, routes: [a] }));
  assert.equal(sent.messages.size, 1);
  assert.equal(receiver.read(sent).routes[0]!.key, 'a');
});

test('a message becomes bytes once for all receivers', () => {
  const text = say({ ...emptyConfiguration, routes: [route('a')] });
  const [one] = new ConfigurationSender().prepare(text).messages.values();
  const [other] = new ConfigurationSender().prepare(text).messages.values();
  assert.equal(one, other);
});
