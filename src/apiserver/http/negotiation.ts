// Content negotiation: the first representation in `Accept` that we support. JSON always; Table and metadata-only views
// of it; YAML on request. Protobuf responses are not supported: clients then fall back to JSON.

import { notAcceptable } from '../verbs/status.ts';

export interface MediaChoice {
  readonly format: 'json' | 'yaml';
  /** `as` of the media type, when we support it. */
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
  /** The version of `as`. */
  readonly asVersion?: string;
}

const JSON_CHOICE: MediaChoice = { format: 'json' };
const SUPPORTED = ['application/json', 'application/yaml'];

const VIEWS = new Map<string, readonly string[]>([
  ['Table', ['v1', 'v1beta1']],
  ['PartialObjectMetadata', ['v1', 'v1beta1']],
  ['PartialObjectMetadataList', ['v1', 'v1beta1']],
  ['APIGroupDiscoveryList', ['v2', 'v2beta1']],
]);

export function negotiate(accept: string | undefined): MediaChoice {
  if (accept === undefined || accept === '' || accept === 'application/json' || accept === '*/*') {
    return JSON_CHOICE;
  }
  for (const range of byQuality(accept)) {
    const choice = choiceFor(range);
    if (choice !== undefined) return choice;
  }
  throw notAcceptable(SUPPORTED);
}

interface MediaRange {
  type: string;
  parameters: Map<string, string>;
}

function byQuality(accept: string): MediaRange[] {
  const ranges = accept.split(',').map((text) => {
    const [type = '', ...pairs] = text.split(';').map((part) => part.trim());
    const parameters = new Map(
      pairs.map((pair) => {
        const [name = '', value = ''] = pair.split('=');
        return [name.toLowerCase(), value.replace(/^"|"$/g, '')] as const;
      }),
    );
    const quality = Number(parameters.get('q') ?? 1);
    return { range: { type: type.toLowerCase(), parameters }, quality };
  });
  const usable = ranges.filter(({ quality }) => quality > 0);
  return usable.sort((a, b) => b.quality - a.quality).map(({ range }) => range);
}

function choiceFor({ type, parameters }: MediaRange): MediaChoice | undefined {
  const as = parameters.get('as');
  if (type === 'application/json' || type === '*/*' || type === 'application/*') {
    if (as === undefined) return JSON_CHOICE;
    const asVersion = parameters.get('v') ?? 'v1';
    if (!VIEWS.get(as)?.includes(asVersion)) return undefined;
    return { format: 'json', as: as as NonNullable<MediaChoice['as']>, asVersion };
  }
  if ((type === 'application/yaml' || type === 'text/yaml') && as === undefined) return { format: 'yaml' };
  return undefined;
}
