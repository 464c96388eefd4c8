// The report of `berth chaos run`: text for people, JSON for programs, Markdown for an issue of the driver's project. Says
// which objects there were, never what was in them. Pure.

import { formatDuration } from '../runtime/flags/duration.ts';
import type { ScenarioResult, StepResult } from './scenario-result.ts';

export const chaosFormats = ['text', 'json', 'markdown'] as const;
export type ChaosFormat = (typeof chaosFormats)[number];

export interface ChaosReport {
  readonly berth: string;
  readonly results: readonly ScenarioResult[];
}

export function formatReport(report: ChaosReport, format: ChaosFormat): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(report, undefined, 2)}\n`;
    case 'markdown':
      return markdownOf(report);
    case 'text':
      return `${report.results.map(textOf).join('\n')}\n${summary(report)}\n`;
  }
}

function textOf(result: ScenarioResult): string {
  const { name, about, driver, state, why, steps, troubles } = result;
  return [
    `${name} on ${driver.name} ${driver.version}: ${state}${why === undefined ? '' : ` (${why})`}`,
    `  ${about}`,
    ...steps.flatMap((step) => [
      `  ${markOf(step)} ${took(step.ms).padStart(8)}  ${step.what}`,
      ...step.missing.map((each) => `               ${each}`),
    ]),
    ...result.faults.map(({ fault, struck }) => `  fault "${fault}" struck ${times(struck)}`),
    ...(troubles.length > 0 ? ['  berth why:', ...troubles.map((each) => `    ${each}`)] : []),
    ...(result.timeline.length > 0
      ? ['  calls to the driver:', ...result.timeline.map((line) => `  ${line}`)]
      : []),
    '',
  ].join('\n');
}

function markdownOf(report: ChaosReport): string {
  return `${[
    `# berth chaos: ${summary(report)}`,
    '',
    `berth ${report.berth}`,
    '',
    ...report.results.flatMap((result) => sectionOf(result)),
  ].join('\n')}\n`;
}

function sectionOf(result: ScenarioResult): string[] {
  const { name, about, pain, told, driver, state, why, steps, faults, calls, troubles, timeline } = result;
  return [
    `## ${name}: ${state}`,
    '',
    `${about}${pain === undefined ? '' : ` (${pain}: ${told.join(', ')})`}`,
    '',
    `Driver: ${driver.name} ${driver.version}. Reproduce: \`berth chaos run ${result.source}\` with \`--driver\` or \`--exec\` for your driver.`,
    ...(why === undefined ? [] : ['', `Skipped: ${why}`]),
    ...(steps.length === 0
      ? []
      : [
          '',
          '| | took | step |',
          '|---|---|---|',
          ...steps.map(
            (step) =>
              `| ${markOf(step)} | ${took(step.ms)} | ${[step.what, ...step.missing].map(cell).join('<br>')} |`,
          ),
        ]),
    ...(faults.length === 0
      ? []
      : ['', ...faults.map(({ fault, struck }) => `- fault \`${fault}\` struck ${times(struck)}`)]),
    ...(calls.length === 0
      ? []
      : [
          '',
          '| call | times | failed |',
          '|---|---|---|',
          ...calls.map(({ method, count, failures }) => {
            const failed = Object.entries(failures).map(([code, often]) => `${code} ${often}`);
            return `| ${method} | ${count} | ${failed.join(', ')} |`;
          }),
        ]),
    ...(troubles.length === 0
      ? []
      : ['', 'What is wrong:', '', ...troubles.map((each) => `- ${cell(each)}`)]),
    ...(timeline.length === 0
      ? []
      : [
          '',
          '<details><summary>Calls to the driver</summary>',
          '',
          '```',
          ...timeline,
          '```',
          '',
          '</details>',
        ]),
    '',
  ];
}

function summary({ results }: ChaosReport): string {
  const count = (state: ScenarioResult['state']): number =>
    results.filter((result) => result.state === state).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`;
}

const markOf = ({ missing, isExpectation }: StepResult): string =>
  missing.length > 0 ? 'FAIL' : isExpectation ? 'ok  ' : '    ';
const took = (ms: number): string => formatDuration(Math.round(ms));
const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
/** A cell of a table ends at a bar or a line's end. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
