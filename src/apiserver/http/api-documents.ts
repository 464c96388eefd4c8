// Maps paths to documents about the API: discovery, legacy and aggregated, and OpenAPI. The documents are built by
// discovery/ and openapi/, which are loaded on first use.

import type { CachedDocument } from './documents.ts';
import type { OtherExchange } from './handle-other.ts';
import { negotiate } from './negotiation.ts';

export interface FoundDocument extends CachedDocument {
  readonly contentType: string;
}

const JSON_TYPE = 'application/json';
/** kubectl asks only for these; the second spelling is that of older versions. */
const OPENAPI_V2_PROTOBUF = [
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
];

export async function findDocument(exchange: OtherExchange): Promise<FoundDocument | undefined> {
  const segments = exchange.info.path.split('/').filter((segment) => segment !== '');
  if (segments[0] === 'openapi') return openapiDocument(exchange, segments);
  if (segments[0] !== 'api' && segments[0] !== 'apis') return undefined;
  return discoveryDocument(exchange, segments);
}

async function discoveryDocument(
  { documents, machine, message }: OtherExchange,
  segments: readonly string[],
): Promise<FoundDocument | undefined> {
  const { registry } = machine;
  const [root, first, second, ...rest] = segments;
  if (rest.length > 0 || (root === 'api' && second !== undefined)) return undefined;
  const discovery = await import('../discovery/discovery.ts');
  const media = negotiate(message.headers.accept);
  if (first === undefined && media.as === 'APIGroupDiscoveryList') {
    const version = media.asVersion === 'v2beta1' ? 'v2beta1' : 'v2';
    const which = root === 'api' ? 'core' : 'groups';
    return withType(
      await documents.get(`${root} ${version}`, () =>
        discovery.aggregatedDiscovery(registry, which, version),
      ),
      `${JSON_TYPE};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    );
  }
  const build = (): object | undefined => {
    if (root === 'api') {
      const address = message.headers.host ?? '';
      return first === undefined
        ? discovery.coreVersions(address)
        : discovery.resourceList(registry, '', first);
    }
    if (first === undefined) return discovery.groupList(registry);
    if (second === undefined) return discovery.groupDocument(registry, first);
    return discovery.resourceList(registry, first, second);
  };
  return withType(await documents.get(segments.join('/'), build), JSON_TYPE);
}

async function openapiDocument(
  { documents, machine, message }: OtherExchange,
  segments: readonly string[],
): Promise<FoundDocument | undefined> {
  const { registry } = machine;
  const openapi = await import('../openapi/openapi.ts');
  const [, edition, root, ...rest] = segments;
  const wantsProtobuf = OPENAPI_V2_PROTOBUF.some((type) => message.headers.accept?.includes(type));
  if (edition === 'v2' && root === undefined && wantsProtobuf) {
    const { encodeOpenApiV2 } = await import('../openapi/encode-protobuf.ts');
    const document = await documents.get('openapi/v2 protobuf', () =>
      encodeOpenApiV2(openapi.openapiV2(registry)),
    );
    // The other spelling is not a valid content type.
    return withType(document, OPENAPI_V2_PROTOBUF[0] as string);
  }
  const build = (): object | undefined => {
    if (edition === 'v2') return root === undefined ? openapi.openapiV2(registry) : undefined;
    if (edition !== 'v3') return undefined;
    if (root === undefined) return openapi.openapiV3Index(registry);
    if (root === 'api' && rest.length === 1) return openapi.openapiV3(registry, '', rest[0] as string);
    if (root === 'apis' && rest.length === 2) {
      return openapi.openapiV3(registry, rest[0] as string, rest[1] as string);
    }
    return undefined;
  };
  return withType(await documents.get(segments.join('/'), build), JSON_TYPE);
}

function withType(document: CachedDocument | undefined, contentType: string): FoundDocument | undefined {
  return document && { ...document, contentType };
}
