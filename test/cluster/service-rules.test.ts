// Rules, names and DNS answers of Services, without a cluster.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatAnswer, parseQuestion } from './agent/dns-server.ts';
import { expandReferences } from './agent/environment.ts';
import { type EndpointSlice, formatHostsFile, listServiceNames, type Service } from './agent/service-names.ts';
import { formatBlackHoles, formatServiceRules } from './agent/service-rules.ts';
import { AddressPool, assignAddresses, formatAddress, parseAddress, slotCount } from './cluster-addresses.ts';
import { findImage } from './image-table.ts';

const addresses = assignAddresses(0);
const service: Service = {
  metadata: { name: 'echo', namespace: 'default' },
  spec: { clusterIP: '10.96.0.9', ports: [{ name: 'http', port: 80 }] },
  status: { loadBalancer: { ingress: [{ ip: '10.244.15.1' }] } },
};
const createSlice = (endpoints: EndpointSlice['endpoints']): EndpointSlice => ({
  metadata: { name: 'echo-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'echo' } },
  addressType: 'IPv4',
  endpoints,
  ports: [{ name: 'http', port: 8080 }],
});
const formatRules = (endpoints: EndpointSlice['endpoints']): string =>
  formatServiceRules([service], new Map([['default/echo', [createSlice(endpoints)]]]), addresses);

describe('rules', () => {
  test('lead from every address of a Service to its ready endpoints', () => {
    const rules = formatRules([
      { addresses: ['10.244.0.20'], conditions: { ready: true } },
      { addresses: ['10.244.0.21'], conditions: { ready: false, serving: true, terminating: true } },
      { addresses: ['10.244.0.22'] },
    ]);
    assert.match(rules, /10\.96\.0\.9 \. tcp \. 80 : goto port-0, 10\.244\.15\.1 \. tcp \. 80 : goto port-0/);
    assert.match(rules, /dnat to 10\.244\.0\.20:8080/);
    assert.match(rules, /dnat to 10\.244\.0\.22:8080/);
    assert.doesNotMatch(rules, /10\.244\.0\.21/);
    assert.match(rules, /numgen inc mod 2 /);
  });

  test('lead to endpoints that end but still serve when there are no others', () => {
    assert.match(
      formatRules([{ addresses: ['10.244.0.21'], conditions: { ready: false, serving: true } }]),
      /10\.244\.0\.21:8080/,
    );
  });

  test('lead nowhere without endpoints', () => {
    for (const endpoints of [null, [], [{ addresses: ['10.244.0.21'], conditions: { ready: false } }]]) {
      assert.doesNotMatch(formatRules(endpoints), /dnat|goto/);
    }
  });

  test('of a black hole lose both ways', () => {
    const rules = formatBlackHoles([{ from: '10.244.0.20', to: '10.244.0.21', port: 9978 }]);
    assert.match(rules, /ip saddr 10\.244\.0\.20 ip daddr 10\.244\.0\.21 tcp dport 9978 drop;/);
    assert.match(rules, /ip saddr 10\.244\.0\.21 ip daddr 10\.244\.0\.20 tcp sport 9978 drop;/);
  });
});

describe('names', () => {
  const headless: Service = { metadata: { name: 'db', namespace: 'other' }, spec: { clusterIP: 'None' } };
  const slice = createSlice([{ addresses: ['10.244.0.20'], hostname: 'db-0' }, { addresses: ['10.244.0.21'] }]);
  const names = listServiceNames(
    [service, headless],
    new Map([['other/db', [slice]]]),
    new Map([['idp.example.com', '10.244.0.2']]),
  );

  test('are those of Services, their pods, and the test', () => {
    assert.deepEqual(Object.fromEntries(names), {
      'echo.default.svc.cluster.local': ['10.96.0.9'],
      'db.other.svc.cluster.local': ['10.244.0.20', '10.244.0.21'],
      'db-0.db.other.svc.cluster.local': ['10.244.0.20'],
      'idp.example.com': ['10.244.0.2'],
    });
  });

  test('are short in their own namespace only', () => {
    const hosts = formatHostsFile({ hostname: 'a', address: '10.244.0.30', namespace: 'default' }, [], names);
    assert.match(hosts, /^10\.96\.0\.9\techo\.default\.svc\.cluster\.local echo\.default\.svc echo\.default echo$/m);
    assert.match(hosts, /^10\.244\.0\.20\tdb\.other\.svc\.cluster\.local db\.other\.svc db\.other$/m);
    assert.match(hosts, /^10\.244\.0\.30\ta$/m);
  });

  test('are answered by DNS', () => {
    const name = Buffer.from('\x02db\x05other\x03svc\x07cluster\x05local\0', 'latin1');
    const header = Buffer.from('123401000001000000000000', 'hex');
    const ask = (type: number): Buffer => Buffer.concat([header, name, Buffer.from([0, type, 0, 1])]);
    const question = parseQuestion(ask(1));
    assert.equal(question?.name, 'db.other.svc.cluster.local');
    const answer = formatAnswer(question, names.get(question.name));
    assert.equal(answer.readUInt16BE(0), 0x1234);
    assert.equal(answer.readUInt16BE(2), 0x8580);
    assert.equal(answer.readUInt16BE(6), 2);
    assert.deepEqual([...answer.subarray(-4)], [10, 244, 0, 21]);
    // No addresses of that kind, and no such name.
    assert.equal(formatAnswer(parseQuestion(ask(28))!, ['10.0.0.1']).readUInt16BE(6), 0);
    assert.equal(formatAnswer(question, undefined).readUInt16BE(2) & 15, 3);
    for (const broken of [Buffer.alloc(0), ask(1).subarray(0, 20), Buffer.alloc(40, 0xff)]) {
      assert.equal(parseQuestion(broken), undefined);
    }
  });
});

test('slots do not overlap', () => {
  const all = Array.from({ length: slotCount }, (_, slot) => assignAddresses(slot));
  assert.equal(new Set(all.map(({ podRange }) => podRange)).size, slotCount);
  for (const [index, { node, lastLoadBalancer }] of all.entries()) {
    const next = all[index + 1];
    assert.ok(parseAddress(node) < parseAddress(lastLoadBalancer));
    assert.ok(next === undefined || parseAddress(lastLoadBalancer) < parseAddress(next.node));
  }
  assert.equal(formatAddress(parseAddress('10.244.255.254')), '10.244.255.254');
});

test('a pool gives each address once', () => {
  const pool = new AddressPool('10.0.0.1', '10.0.0.3');
  assert.equal(pool.take('10.0.0.2'), '10.0.0.2');
  assert.equal(pool.take('10.0.0.2'), undefined);
  assert.deepEqual([pool.take(), pool.take(), pool.take()], ['10.0.0.1', '10.0.0.3', undefined]);
  pool.release('10.0.0.3');
  pool.release('192.0.2.1');
  assert.deepEqual([pool.take(), pool.take()], ['10.0.0.3', undefined]);
});

test('an image is found by the last part of its repository', () => {
  const table = { echo: { entrypoint: ['/echo'] } };
  for (const reference of [
    'echo',
    'echo:1',
    'example.com:5000/a/echo',
    'example.com/echo:v1@sha256:00',
    'a/echo@sha256:00',
  ]) {
    assert.equal(findImage(table, reference), table.echo, reference);
  }
  assert.equal(findImage(table, 'example.com/echo2:1'), undefined);
});

test('references between variables', () => {
  const variables = { A: 'a', B: '$(A)' };
  assert.equal(expandReferences('$(A) $(B) $$(A) $(C) $A $$', variables), 'a $(A) $(A) $(C) $A $');
});
