// Label selectors, node selectors and topology selectors inside objects.

import { labelKeyProblems, labelValueProblems } from '../../api/names.ts';
import { type LooseMap, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import { at, type Checks, forbidden, invalid, notSupported, required } from './checks.ts';

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];

export function checkNodeSelector(checks: Checks, field: string, selector: LooseMap): void {
  const terms = mapsOf(selector.nodeSelectorTerms);
  checks.required(`${field}.nodeSelectorTerms`, terms, 'must have at least one node selector term');
  for (const [index, term] of terms.entries()) {
    checkNodeSelectorTerm(checks, at(`${field}.nodeSelectorTerms`, index), term);
  }
}

function checkNodeSelectorTerm(checks: Checks, field: string, term: LooseMap): void {
  for (const [index, requirement] of mapsOf(term.matchExpressions).entries()) {
    const path = at(`${field}.matchExpressions`, index);
    checkOperator(checks, path, requirement);
    checks.text(`${path}.key`, requirement.key ?? '', labelKeyProblems);
  }
  for (const [index, requirement] of mapsOf(term.matchFields).entries()) {
    const path = at(`${field}.matchFields`, index);
    if (requirement.operator !== 'In' && requirement.operator !== 'NotIn') {
      checks.add(notSupported(`${path}.operator`, requirement.operator, ['In', 'NotIn']));
    } else if (stringsOf(requirement.values).length !== 1) {
      checks.add(
        required(
          `${path}.values`,
          "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        ),
      );
    }
    if (requirement.key !== 'metadata.name') {
      checks.add(invalid(`${path}.key`, requirement.key, 'not a valid field selector key'));
    }
  }
}

function checkOperator(checks: Checks, path: string, { operator, values }: LooseMap): void {
  const count = stringsOf(values).length;
  if (operator === 'In' || operator === 'NotIn') {
    if (count === 0)
      checks.add(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (count > 0)
      checks.add(
        forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (count !== 1)
      checks.add(
        required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"),
      );
  } else {
    checks.add(invalid(`${path}.operator`, operator ?? '', `not a valid selector operator`));
  }
}

export function checkLabelSelector(checks: Checks, field: string, selector: LooseMap): void {
  for (const [key, value] of Object.entries(mapOf(selector.matchLabels) ?? {})) {
    checks.text(`${field}.matchLabels`, key, labelKeyProblems);
    checks.text(`${field}.matchLabels`, value, labelValueProblems);
  }
  for (const [index, { key, operator, values }] of mapsOf(selector.matchExpressions).entries()) {
    const path = at(`${field}.matchExpressions`, index);
    const count = stringsOf(values).length;
    if (!OPERATORS.slice(0, 4).includes(operator as string)) {
      checks.add(invalid(`${path}.operator`, operator ?? '', 'not a valid selector operator'));
    } else if ((operator === 'In' || operator === 'NotIn') && count === 0) {
      checks.add(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if ((operator === 'Exists' || operator === 'DoesNotExist') && count > 0) {
      checks.add(
        forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
    }
    checks.text(`${path}.key`, key ?? '', labelKeyProblems);
    for (const [position, value] of stringsOf(values).entries()) {
      checks.text(at(`${path}.values`, position), value, labelValueProblems);
    }
  }
}

/** `allowedTopologies` of storage classes: in a term each key appears once, and values are unique. */
export function checkTopologySelectorTerms(checks: Checks, field: string, terms: unknown): void {
  const seen = new Set<string>();
  for (const [index, term] of mapsOf(terms).entries()) {
    const path = at(field, index);
    const expressions = mapsOf(term.matchLabelExpressions);
    for (const [position, { key, values }] of expressions.entries()) {
      const expression = at(`${path}.matchLabelExpressions`, position);
      checks.text(`${expression}.key`, key ?? '', labelKeyProblems);
      if (checks.required(`${expression}.values`, values)) {
        checks.unique(`${expression}.values`, stringsOf(values));
      }
    }
    checks.unique(
      path,
      expressions.map((each) => each.key),
      (position) => `${at(`${path}.matchLabelExpressions`, position)}.key`,
    );
    const text = JSON.stringify(expressions.map(({ key, values }) => [key, stringsOf(values).sort()]).sort());
    if (seen.has(text))
      checks.add({ reason: 'FieldValueDuplicate', field: path, message: 'Duplicate value: ""' });
    seen.add(text);
  }
}
