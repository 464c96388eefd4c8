// Every fuzz target by its name. The test command tries a fixed range of seeds of each (fuzz.test.ts); by hand, and for
// longer: `npm run fuzz -- NAME`.
import { celRules } from './cel-rules.ts';
import { frames } from './frames.ts';
import { headerBlocks } from './header-blocks.ts';
import { httpAnswers } from './http-answers.ts';
import { messageFraming } from './message-framing.ts';
import { patches } from './patches.ts';
import { protobuf } from './protobuf.ts';
import { selectors } from './selectors.ts';
import type { FuzzTarget } from './target.ts';

export const fuzzTargets: Readonly<Record<string, FuzzTarget>> = {
  frames,
  'header-blocks': headerBlocks,
  'message-framing': messageFraming,
  protobuf,
  'http-answers': httpAnswers,
  patches,
  selectors,
  'cel-rules': celRules,
};
