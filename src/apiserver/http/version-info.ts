// The response of `/version`: the Kubernetes version that clients may expect, and Berth's own.

export function versionInfo(): object {
  return {
    major: '1',
    minor: '32',
    gitVersion: 'v1.32.0-berth',
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: `node ${process.version}`,
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
