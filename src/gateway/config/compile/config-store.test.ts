import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clone, create } from '@bufbuild/protobuf';
import { silentLog } from '../../../base/log.ts';
import type { Configuration } from '../../../ir/configuration.ts';
import {
  BackendSchema,
  ListenerProtocol,
  ListenerSchema,
  PathMatchType,
  RouteSchema,
} from '../../../ir/gen/config_pb.ts';
import { ConfigStore } from './config-store.ts';

const listener = create(ListenerSchema, {
  key: 'n/g/l',
  gateway: 'n/g',
  name: 'l',
  port: 80,
  protocol: ListenerProtocol.HTTP,
});
const backend = (key: string, port: number) =>
  create(BackendSchema, { key, kind: { case: 'http', value: { endpoints: [{ host: '127.0.0.1', port }] } } });
const route = (name: string, pattern: string) =>
  create(RouteSchema, {
    key: `n/${name}/0`,
    httpRoute: `n/${name}`,
    parents: [{ listener: 'n/g/l' }],
    matches: [{ path: { type: PathMatchType.REGULAR_EXPRESSION, value: pattern } }],
    backends: [{ backend: 'Service/n/a/80', weight: 1 }],
  });
const configuration: Configuration = {
  listeners: [listener],
  routes: [route('a', '/a'), route('b', '/b')],
  backends: [backend('Service/n/a/80', 1), backend('Service/n/b/80', 2)],
  policies: [],
  secrets: [],
};

test('starts empty, and the empty configuration is no change', () => {
  const store = new ConfigStore(silentLog);
  assert.equal(store.current.version, 0);
  assert.equal(store.current.ports.size, 0);
  assert.deepEqual(store.apply({ listeners: [], routes: [], backends: [], policies: [], secrets: [] }), {
    version: 0,
    changed: false,
    problems: [],
  });
});

test('swaps as a whole and tells everyone', () => {
  const store = new ConfigStore(silentLog);
  const seen: [number, number, boolean][] = [];
  const stop = store.subscribe((current, previous) =>
    seen.push([current.version, previous.version, store.current === current]),
  );
  assert.deepEqual(store.apply(configuration), { version: 1, changed: true, problems: [] });
  assert.equal(store.configuration, configuration);
  stop();
  store.apply({ ...configuration, routes: [] });
  assert.deepEqual(seen, [[1, 0, true]]);
  assert.equal(store.current.version, 2);
});

test('an equal configuration changes nothing, in whatever order it comes', () => {
  const store = new ConfigStore(silentLog);
  store.apply(configuration);
  const before = store.current;
  const copy: Configuration = {
    ...configuration,
    routes: configuration.routes.map((message) => clone(RouteSchema, message)).toReversed(),
    backends: configuration.backends.toReversed(),
  };
  store.subscribe(() => assert.fail('told about a change that is none'));
  assert.deepEqual(store.apply(copy), { version: 1, changed: false, problems: [] });
  assert.equal(store.current, before);
});

test('keeps the problems of the configuration in force', () => {
  const store = new ConfigStore(silentLog);
  const bad = { ...configuration, routes: [route('a', '(')] };
  const first = store.apply(bad);
  assert.deepEqual(
    first.problems.map(({ key }) => key),
    ['n/a/0'],
  );
  assert.deepEqual(store.apply(bad), { ...first, changed: false });
  assert.deepEqual(store.problems, first.problems);
  assert.deepEqual(store.apply(configuration).problems, []);
});

test('unchanged backends stay the same objects', () => {
  const store = new ConfigStore(silentLog);
  store.apply(configuration);
  const before = store.current;
  store.apply({ ...configuration, backends: [backend('Service/n/a/80', 1), backend('Service/n/b/80', 3)] });
  assert.equal(store.current.backends.get('Service/n/a/80'), before.backends.get('Service/n/a/80'));
  assert.notEqual(store.current.backends.get('Service/n/b/80'), before.backends.get('Service/n/b/80'));
});

test('one subscriber in trouble does not stop the others', () => {
  const errors: object[] = [];
  const store = new ConfigStore({ ...silentLog, error: (fields) => errors.push(fields) });
  let told = 0;
  store.subscribe(() => {
    throw new Error('port taken');
  });
  store.subscribe(() => (told += 1));
  assert.equal(store.apply(configuration).changed, true);
  assert.equal(told, 1);
  assert.equal(errors.length, 1);
});
