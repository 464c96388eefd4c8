// A chaos scenario as its file has it, read and checked before anything is started. Pure.

import type { KubeObject } from '../api/object.ts';
import { FaultError, parseFault } from '../faults/parse-fault.ts';
import { parseDuration } from '../runtime/flags/duration.ts';
import { nearestOf } from '../runtime/flags/parse-flags.ts';
import { type Condition, parseCondition } from './condition.ts';

export type ScenarioStep =
  /** Claims `data-1`, `data-2`, … and a pod `pod-1`, `pod-2`, … for each. */
  | { readonly do: 'volumes'; readonly count: number; readonly node?: string }
  | { readonly do: 'apply'; readonly objects: readonly KubeObject[] }
  /** `all`, `pod/web`, or `pod/web at once`, which waits for no node. */
  | { readonly do: 'delete'; readonly what: readonly string[] }
  | { readonly do: 'fault'; readonly faults: readonly string[] }
  /** All faults. */
  | { readonly do: 'lift' }
  /** It is started again. */
  | { readonly do: 'kill'; readonly component: string }
  /** It is not started again before `start`. */
  | { readonly do: 'stop'; readonly component: string }
  | { readonly do: 'start'; readonly component: string }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'expect'; readonly condition: Condition };

export interface Scenario {
  readonly name: string;
  /** What goes wrong, and what must come of it. */
  readonly about: string;
  /** What people suffer from, and where they tell it. */
  readonly pain?: string;
  readonly told: readonly string[];
  readonly nodes: number;
  /** Capabilities without which a driver cannot run it. */
  readonly needs: readonly string[];
  /** Of sidecars, as `berth up` takes them. */
  readonly flags: Readonly<Record<string, string>>;
  readonly steps: readonly ScenarioStep[];
}

/** The file cannot be run: the message says where and why. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

const FIELDS = ['name', 'about', 'pain', 'told', 'nodes', 'needs', 'flags', 'steps', 'expect'] as const;
const STEPS = [
  'volumes',
  'apply',
  'delete',
  'fault',
  'lift',
  'kill',
  'stop',
  'start',
  'wait',
  'expect',
] as const;
const MOST_NODES = 20;
const MOST_VOLUMES = 1_000;

type Fields = Readonly<Record<string, unknown>>;

/** `file` is for messages. */
export async function parseScenario(text: string, file: string): Promise<Scenario> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw new ScenarioError(`${file}: ${error.message}`);
  const refuse = (where: string, why: string): never => {
    throw new ScenarioError(`${file}: ${where === '' ? '' : `${where}: `}${why}`);
  };
  const value: unknown = document.toJS();
  const fields = isFields(value) ? value : refuse('', 'not a scenario: name, about and steps are missing');
  for (const key of Object.keys(fields)) checkWord(key, FIELDS, (why) => refuse('', why));
  const own = (key: string): unknown => (Object.hasOwn(fields, key) ? fields[key] : undefined);
  const { name, about, pain, nodes = 2 } = fields;
  if (typeof name !== 'string' || !/^[a-z0-9-]+$/.test(name)) refuse('name', 'must be of a-z, 0-9 and -');
  if (typeof about !== 'string' || about.trim() === '') refuse('about', 'must say what goes wrong');
  if (!Number.isInteger(nodes) || Number(nodes) < 1 || Number(nodes) > MOST_NODES)
    refuse('nodes', `must be 1 to ${MOST_NODES}`);
  const listOf = (key: string): readonly unknown[] => {
    const list = own(key) ?? [];
    return Array.isArray(list) ? list : refuse(key, 'must be a list');
  };
  const steps = [
    ...listOf('steps').map((step, index) => stepOf(step, (why) => refuse(`step ${index + 1}`, why))),
    ...listOf('expect').map((each, index) => ({
      do: 'expect' as const,
      condition: conditionOf(each, (why) => refuse(`expect ${index + 1}`, why)),
    })),
  ];
  if (!steps.some((step) => step.do === 'expect')) refuse('expect', 'nothing is expected: it could not fail');
  const flags = own('flags') ?? {};
  return {
    name: String(name),
    about: String(about).trim().replaceAll(/\s+/g, ' '),
    ...(typeof pain === 'string' && { pain }),
    told: listOf('told').map(String),
    nodes: Number(nodes),
    needs: listOf('needs').map(String),
    flags: isFields(flags)
      ? Object.fromEntries(Object.entries(flags).map(([key, each]) => [key, String(each)]))
      : refuse('flags', 'must be a mapping'),
    steps,
  };
}

type Refuse = (why: string) => never;

function stepOf(value: unknown, refuse: Refuse): ScenarioStep {
  const [key, ...more] = isFields(value) ? Object.keys(value) : [];
  if (key === undefined || more.length > 0) return refuse(`must have exactly one of ${STEPS.join(', ')}`);
  checkWord(key, STEPS, refuse);
  const given = (value as Fields)[key];
  switch (key as (typeof STEPS)[number]) {
    case 'volumes':
      return volumesOf(given, refuse);
    case 'apply':
      return { do: 'apply', objects: [given].flat().map((object) => objectOf(object, refuse)) };
    case 'delete':
      return { do: 'delete', what: [given].flat().map((each) => targetOf(each, refuse)) };
    case 'fault':
      return { do: 'fault', faults: [given].flat().map((each) => faultOf(each, refuse)) };
    case 'lift':
      return given === 'all' ? { do: 'lift' } : refuse('lift must be all');
    case 'kill':
    case 'stop':
    case 'start': {
      if (typeof given !== 'string' || given === '') return refuse(`${key} needs the name of a component`);
      return { do: key as 'kill' | 'stop' | 'start', component: given };
    }
    case 'wait': {
      const ms = typeof given === 'string' ? parseDuration(given) : undefined;
      return ms !== undefined && ms > 0 ? { do: 'wait', ms } : refuse('wait needs a time, as 2s');
    }
    case 'expect':
      return { do: 'expect', condition: conditionOf(given, refuse) };
  }
}

function volumesOf(given: unknown, refuse: Refuse): ScenarioStep {
  const { count = undefined, node = undefined } = isFields(given) ? given : { count: given };
  if (!Number.isInteger(count) || Number(count) < 1 || Number(count) > MOST_VOLUMES)
    return refuse(`volumes must be a number up to ${MOST_VOLUMES}, or { count: 3, node: node-1 }`);
  return { do: 'volumes', count: Number(count), ...(typeof node === 'string' && { node }) };
}

function objectOf(value: unknown, refuse: Refuse): KubeObject {
  const object = value as Partial<KubeObject> | null;
  if (typeof object?.kind !== 'string' || typeof object.apiVersion !== 'string')
    return refuse('apply needs Kubernetes objects with apiVersion and kind');
  if (typeof object.metadata?.name !== 'string') return refuse(`${object.kind} has no metadata.name`);
  return object as KubeObject;
}

function targetOf(value: unknown, refuse: Refuse): string {
  if (value === 'all' || (typeof value === 'string' && /^[a-z]+\/[^/\s]+( at once)?$/i.test(value)))
    return value;
  return refuse('delete must be all, pod/web or pod/web at once');
}

function faultOf(value: unknown, refuse: Refuse): string {
  try {
    parseFault(String(value));
    return String(value);
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    return refuse(error.message);
  }
}

function conditionOf(value: unknown, refuse: Refuse): Condition {
  const condition = typeof value === 'string' ? parseCondition(value) : 'must be text';
  return typeof condition === 'string' ? refuse(condition) : condition;
}

function checkWord(word: string, known: readonly string[], refuse: Refuse): void {
  if (known.includes(word)) return;
  const nearest = nearestOf(word, known);
  refuse(
    `unknown ${word}; ${nearest === undefined ? `there is ${known.join(', ')}` : `did you mean ${nearest}?`}`,
  );
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
