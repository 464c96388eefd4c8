// How often details are requested, and what is kept when a request fails.

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { type DetailsState, loadDetails, REFRESH_MS } from './details-loader.ts';

type Answer = { status: number; body?: unknown } | Error;

/** Responses in this order; the last one is repeated. */
function start(...answers: Answer[]) {
  mock.timers.enable({ apis: ['setTimeout'] });
  const asked: string[] = [];
  const states: DetailsState[] = [];
  const loader = loadDetails({
    subject: { kind: 'claim', namespace: 'my ns', name: 'a&b' },
    fetch: async (path) => {
      asked.push(path);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer === undefined || answer instanceof Error) throw answer;
      return { status: answer.status, json: async () => answer.body };
    },
    onState: (state) => states.push(state),
  });
  const pass = async (ms: number): Promise<void> => {
    await settled();
    mock.timers.tick(ms);
    await settled();
  };
  return { loader, asked, pass, last: () => states.at(-1) };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const details = { name: 'a&b' };

test.afterEach(() => mock.timers.reset());

test('asks at once, with the names encoded', async () => {
  const { asked, pass, last } = start({ status: 200, body: details });
  await pass(0);
  assert.deepEqual(asked, ['/api/subject?kind=claim&namespace=my+ns&name=a%26b']);
  assert.deepEqual(last(), { details, problem: undefined, isLoading: false });
});

test('asks once more for all that changed meanwhile, and not sooner than the time between', async () => {
  const { loader, asked, pass } = start({ status: 200, body: details });
  for (let times = 0; times < 5; times += 1) loader.refresh();
  await pass(REFRESH_MS - 1);
  assert.equal(asked.length, 1);
  await pass(1);
  assert.equal(asked.length, 2);
  await pass(REFRESH_MS * 3);
  assert.equal(asked.length, 2, 'nothing changed any more');
});

test('asks no more once it is stopped', async () => {
  const { loader, asked, pass } = start({ status: 200, body: details });
  loader.refresh();
  loader.stop();
  await pass(REFRESH_MS);
  loader.refresh();
  await pass(REFRESH_MS);
  assert.equal(asked.length, 1);
});

const failures: { name: string; answer: Answer; problem: DetailsState['problem'] }[] = [
  { name: 'gone', answer: { status: 404, body: { error: 'gone' } }, problem: 'gone' },
  { name: 'refused', answer: { status: 401 }, problem: 'refused' },
  { name: 'forbidden', answer: { status: 403 }, problem: 'refused' },
  {
    name: 'a server that says why',
    answer: { status: 500, body: { error: 'why' } },
    problem: { says: 'why' },
  },
  {
    name: 'a server that does not',
    answer: { status: 502, body: '<html>' },
    problem: { says: 'the server answered 502' },
  },
  { name: 'no network', answer: new Error('Failed to fetch'), problem: { says: 'Failed to fetch' } },
];
for (const { name, answer, problem } of failures) {
  test(`keeps what it knew: ${name}`, async () => {
    const { loader, pass, last } = start({ status: 200, body: details }, answer, {
      status: 200,
      body: details,
    });
    loader.refresh();
    await pass(REFRESH_MS);
    assert.deepEqual(last(), { details, problem, isLoading: false });
    loader.refresh();
    await pass(REFRESH_MS);
    assert.equal(last()?.problem, undefined, 'and asks again when told to');
  });
}
