// The software bill of materials of an image: SPDX 2.3 as JSON. Pure.

import type { NpmPackage } from './application-files.ts';
import type { DebianPackage } from './debian-packages.ts';

interface Contents {
  readonly name: string;
  readonly version: string;
  readonly npm: readonly NpmPackage[];
  readonly debian: readonly DebianPackage[];
  readonly seconds: number;
}

interface SpdxPackage {
  SPDXID: string;
  name: string;
  versionInfo: string;
  licenseDeclared: string;
  licenseConcluded: string;
  copyrightText: string;
  downloadLocation: string;
  filesAnalyzed: boolean;
  externalRefs: { referenceCategory: string; referenceType: string; referenceLocator: string }[];
}

export function sbom({ name, version, npm, debian, seconds }: Contents): object {
  const own = spdxPackage('npm', { name: 'berth', version, license: 'Apache-2.0' });
  const parts = [
    ...npm.map((each) => spdxPackage('npm', each)),
    // Debian keeps licences as text: usr/share/doc/NAME/copyright.
    ...debian.map((each) => spdxPackage('deb', { ...each, license: 'NOASSERTION' })),
  ];
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name,
    documentNamespace: `https://spdx.org/spdxdocs/berth/${encodeURIComponent(name)}`,
    creationInfo: {
      created: new Date(seconds * 1000).toISOString().replace('.000', ''),
      creators: ['Tool: berth-image'],
    },
    packages: [own, ...parts],
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: own.SPDXID },
      ...parts.map(({ SPDXID }) => ({
        spdxElementId: own.SPDXID,
        relationshipType: 'DEPENDS_ON',
        relatedSpdxElement: SPDXID,
      })),
    ],
  };
}

function spdxPackage(type: 'npm' | 'deb', { name, version, license }: NpmPackage): SpdxPackage {
  const path = (type === 'deb' ? `debian/${name}` : name).replace('@', '%40');
  return {
    SPDXID: `SPDXRef-${type}-${`${name}-${version}`.replace(/[^A-Za-z0-9.-]/g, '-')}`,
    name,
    versionInfo: version,
    licenseDeclared: license,
    licenseConcluded: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    externalRefs: [
      {
        referenceCategory: 'PACKAGE-MANAGER',
        referenceType: 'purl',
        referenceLocator: `pkg:${type}/${path}@${encodeURIComponent(version)}`,
      },
    ],
  };
}
