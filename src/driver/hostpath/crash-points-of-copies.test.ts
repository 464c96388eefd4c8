import { describe, it } from 'node:test';
import { crashAtEveryStep } from './testing/crash-points.ts';
import { needsRoot } from './testing/hostpath-fixture.ts';

describe('kill -9 before any step of hostpath', { skip: needsRoot }, () => {
  for (const name of ['copies of an image in use']) {
    it(`${name}: start-up and the same call again repair everything`, { timeout: 150_000 }, () =>
      crashAtEveryStep(name),
    );
  }
});
