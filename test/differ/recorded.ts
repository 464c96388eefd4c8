// Answers of kube-apiserver to directed cases, recorded so that a test can replay the cases without it
// (test/apiserver/recorded-answers.test.ts). A digest stands for each normalised answer; a dash for one that the embedded
// server answered differently when they were recorded: docs/compatibility.md says why.

import { hash } from 'node:crypto';
import { type Case, directedCases } from './directed.ts';
import type { Answer } from './exchange.ts';
import { normalised } from './normalise.ts';
import { randomCase } from './random.ts';
import { subjects } from './subjects/index.ts';
import { METADATA, type Subject } from './subjects/subject.ts';

export interface Recorded {
  readonly source: string;
  /** By apiVersion and kind: the digests of `recordedCases` in their order, separated by spaces. */
  readonly answers: Readonly<Record<string, string>>;
  /** Of `recordedSequence` 1, 2, …: the digests of the answers to its steps, up to the first that differed. */
  readonly sequences: readonly string[];
}

/** Random sequences of requests about one object each, always the same ones. */
export const recordedSequence = (number: number): Case =>
  randomCase(subjects, { seed: 1, number, name: `r${number}` });

export const kindOf = ({ apiVersion, kind }: Subject): string => `${apiVersion} ${kind}`;

/** What is not about one kind is asked of every sixth kind: all kinds share that code. */
const ONE_OF = 6;
/** Each takes a second. */
const isWatch = ({ steps }: Case): boolean => steps.at(-1)?.path.includes('timeoutSeconds') ?? false;

/** All changes of the kind's own fields, and a share of the others. */
export function recordedCases(subject: Subject): Case[] {
  const first = subjects.indexOf(subject);
  const own = Object.keys(subject.values).filter((path) => !(path in METADATA));
  const isOwn = ({ id }: Case): boolean => own.some((path) => id.includes(` ${path} = `));
  let shared = first;
  return directedCases([subject]).filter(
    (each) => isOwn(each) || (!isWatch(each) && shared++ % ONE_OF === 0),
  );
}

/** Without the names of objects, which count the cases of a run. */
export function digestOf(answer: Answer): string {
  const text = JSON.stringify(normalised(answer)).replaceAll(/\b[cr]\d+\b/g, 'c');
  return hash('sha256', text).slice(0, 6);
}
