// What anonymous clients invent must not become a metric: neither a series for each path, nor a line of their own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN_TOKEN, attackedServer } from './attacked-server.ts';

const INVENTED = 60;

test('[DOOR-3] labels come from what is served, however many groups and resources clients invent', async (t) => {
  const { call } = await attackedServer(t);
  const scrape = async () => (await call('GET', '/metrics', { token: ADMIN_TOKEN })).text;
  const attack = async (round: string) => {
    for (let count = 0; count < INVENTED; count++) {
      const name = `${round}${count}`;
      await call('GET', `/apis/group-${name}/v1/things`);
      await call('GET', `/api/v1/namespaces/default/kind-${name}/x`);
      await call('GET', `/api/v1/namespaces/default/pods/x/sub-${name}`);
      await call('GET', `/apis/g/v1/%22%7D%201%0Ainvented_${name}%7Ba=%22`);
    }
  };
  await attack('first');
  await scrape();
  const before = await scrape();
  await attack('second');
  const after = await scrape();
  assert.doesNotMatch(after, /invented|group-|kind-|sub-/);
  assert.equal(after.split('\n').length, before.split('\n').length, 'new paths made new lines');
  for (const line of after.split('\n')) assert.match(line, /^$|^# |^[a-z_]+(\{[^}]*\})? [0-9.e+-]+$/);
});
