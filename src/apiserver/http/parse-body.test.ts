import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { bodyParser, MAX_DEPTH } from './parse-body.ts';
import { createYamlConverter } from './yaml/yaml-converter.ts';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
const yaml = createYamlConverter(realClock, MAX_DEPTH);

const parse = async (contentType: string, text: string): Promise<unknown> => {
  const accepted = [JSON_TYPE, YAML_TYPE];
  const parser = await bodyParser(Buffer.from(text), {
    contentType,
    accepted,
    yaml,
    client: 'c',
    maxBytes: 1000,
  });
  return parser().value;
};

const parsed: [string, string, string, unknown][] = [
  ['JSON', JSON_TYPE, '{"a":1}', { a: 1 }],
  ['JSON with a charset', `${JSON_TYPE}; charset=utf-8`, '[1]', [1]],
  ['YAML', YAML_TYPE, 'a: 1\n', { a: 1 }],
  ['JSON sent as YAML', YAML_TYPE, ' {"a":1}', { a: 1 }],
];
for (const [name, contentType, text, value] of parsed)
  test(`${name} is read`, async () => assert.deepEqual(await parse(contentType, text), value));

const refused: [string, string, string, number, RegExp][] = [
  ['YAML sent as JSON', JSON_TYPE, 'a: 1\n', 400, /couldn't parse the body as JSON/],
  ['another media type', 'text/plain', '{}', 415, /accepted media types include: application\/json/],
];
for (const [name, contentType, text, code, message] of refused)
  test(`${name} is refused`, () =>
    assert.rejects(
      parse(contentType, text),
      (error) => error instanceof KubeError && error.code === code && message.test(error.message),
    ));
