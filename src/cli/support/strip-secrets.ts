// Removes from objects and texts what may be a secret. Values that anybody may choose (parameters of classes, attributes of
// volumes, environment variables, annotations of others) are removed unless their name is known to be harmless; so is what a name or
// a form gives away, such as `password=…` or a private key. A value that was found under a secret's name is removed wherever
// else it occurs. Pure.

import type { KubeObject } from '../../api/object.ts';

export const STRIPPED = '[stripped]';

/** Shorter values occur by chance. */
const SHORTEST_LEARNED = 4;

const SECRET_NAME =
  /passw|passphrase|pwd|secret|token|credential|(?:api|access|private|admin|user|account|encryption)[-_.]?key|authorization/i;
/** Names of what refers to a secret: `secretName`, `csi.storage.k8s.io/node-stage-secret-namespace`, `tokenAudiences`. */
const REFERENCE_NAME = /(?:names?|namespaces?|refs?|paths?|audiences?|class|types?)$/i;
const looksSecret = (name: string): boolean => SECRET_NAME.test(name) && !REFERENCE_NAME.test(name);

/** Maps whose keys and values are the driver's or the administrator's own. */
const OPEN_MAPS: ReadonlySet<string> = new Set([
  'parameters',
  'volumeAttributes',
  'volumeContext',
  'attachmentMetadata',
  'mutableParameters',
]);
/** Keys of parameters and annotations whose values are Kubernetes' or Berth's own. */
const KNOWN_KEY = /^(?:[\w-]+\.)*(?:kubernetes\.io|k8s\.io|csi\.berth)\//;
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const KNOWN_VARIABLES: ReadonlySet<string> = new Set(
  'CSI_ENDPOINT NODE_ID NODE_NAME KUBE_NODE_NAME POD_NAME POD_NAMESPACE NAMESPACE ADDRESS'.split(' '),
);

export class SecretStripper {
  readonly #learned = new Set<string>();
  readonly #keepsParameters: boolean;

  /** `keepsParameters`: parameters and attributes stay, unless their name is a secret's. */
  constructor({ keepsParameters = false } = {}) {
    this.#keepsParameters = keepsParameters;
  }

  /** A copy without secrets, and without what only the API server needs. */
  object(object: KubeObject): unknown {
    const { managedFields: _, annotations, ...metadata } = object.metadata;
    const own = Object.entries(annotations ?? {}).filter(([name]) => name !== LAST_APPLIED);
    this.#learnFromJson(annotations?.[LAST_APPLIED]);
    const kept = own.map(([name, value]) => [
      name,
      KNOWN_KEY.test(name) && !looksSecret(name) ? this.#patterns(value) : this.#hide(name, value),
    ]);
    const rest = this.#walk({ ...object, metadata }) as { metadata: object };
    return {
      ...rest,
      metadata: { ...rest.metadata, ...(annotations && { annotations: Object.fromEntries(kept) }) },
    };
  }

  /** A text without what looks like a secret. Values that are learned later are removed by `finish`. */
  text(text: string): string {
    return this.#patterns(text);
  }

  /** Removes every value that was found under a secret's name. */
  finish(text: string): string {
    let result = text;
    const longestFirst = [...this.#learned].toSorted((a, b) => b.length - a.length);
    for (const value of longestFirst) {
      result = result.replaceAll(value, STRIPPED);
      // As it is written within JSON, and as Secrets hold it.
      result = result.replaceAll(JSON.stringify(value).slice(1, -1), STRIPPED);
      result = result.replaceAll(Buffer.from(value).toString('base64'), STRIPPED);
    }
    return result;
  }

  #walk(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return looksSecret(name) ? this.#hide(name, value) : this.#patterns(value);
    if (Array.isArray(value)) {
      if (name === 'env') return value.map((each) => this.#variable(each));
      if (name === 'args' || name === 'command') return this.arguments(value);
      return value.map((each) => this.#walk(each));
    }
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    if (OPEN_MAPS.has(name)) {
      return Object.fromEntries(entries.map(([key, each]) => [key, this.#parameter(key, String(each))]));
    }
    return Object.fromEntries(entries.map(([key, each]) => [key, this.#walk(each, key)]));
  }

  #parameter(name: string, value: string): string {
    const isKept = (this.#keepsParameters || KNOWN_KEY.test(name)) && !looksSecret(name);
    return isKept ? this.#patterns(value) : this.#hide(name, value);
  }

  #variable(variable: { name?: string; value?: string }): unknown {
    const { name = '', value } = variable;
    if (value === undefined) return this.#walk(variable);
    return {
      ...variable,
      value: KNOWN_VARIABLES.has(name) ? this.#patterns(value) : this.#hide(name, value),
    };
  }

  /** Arguments of a program: `--password=x`, `--password x`, `--class-parameters=a=x`, `--exec='program --password x'`. */
  arguments<T>(given: readonly T[]): (T | string)[] {
    let flag = '';
    return given.map((argument) => {
      if (typeof argument !== 'string') return argument;
      const [, name = '', value] = /^-+([\w.-]+)(?:=(.*))?$/s.exec(argument) ?? [];
      if (name === '') {
        const hidden = this.#argument(flag, argument);
        flag = '';
        return hidden;
      }
      flag = value === undefined ? name : '';
      if (value === undefined) return argument;
      return `${argument.slice(0, argument.length - value.length)}${this.#argument(name, value)}`;
    });
  }

  #argument(flag: string, value: string): string {
    if (looksSecret(flag)) return this.#hide(flag, value);
    if (/parameters$/.test(flag)) {
      return value.replaceAll(
        /([^=,]+)=([^,]*)/g,
        (_, name, each) => `${name}=${this.#parameter(name, each)}`,
      );
    }
    const isCommandLine = /\s/.test(value);
    return this.#patterns(isCommandLine ? this.arguments(value.split(' ')).join(' ') : value);
  }

  #hide(name: string, value: string): string {
    if (looksSecret(name) && value.length >= SHORTEST_LEARNED) this.#learned.add(value);
    return value === '' ? '' : STRIPPED;
  }

  #learnFromJson(text: string | undefined): void {
    if (text === undefined) return;
    try {
      this.#walk(JSON.parse(text));
    } catch {
      // It is dropped anyway.
    }
  }

  #patterns(text: string): string {
    return text
      .replaceAll(/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?-----END \1-----/g, STRIPPED)
      .replaceAll(/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, STRIPPED)
      .replaceAll(/(\bbearer\s+)[\w.~+/=-]{8,}/gi, `$1${STRIPPED}`)
      .replaceAll(/(\b[\w+.-]+:\/\/[^\s:@/"']+):[^\s@/"']+@/g, `$1:${STRIPPED}@`)
      .replaceAll(ASSIGNMENT, (whole, name: string, between: string, value: string) =>
        looksSecret(name) ? `${name}${between}${this.#hide(name, value)}` : whole,
      );
  }
}

/** `password=x`, `password: x`, `"password":"x"`; of other names only with an equals sign or quotes, since texts have colons. */
const ASSIGNMENT =
  /([\w./-]*(?:passw|passphrase|pwd)[\w.-]*|[\w./-]*(?:secret|token|credential|key)[\w.-]*(?=["']?\s*=|["']\s*:))(["']?\s*[=:]\s*["']?)([^\s"',;}&]+)/gi;
