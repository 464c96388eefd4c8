// Rendezvous hashing: each member gets a score for a key, and the highest score owns it. A member that comes or goes
// moves only the keys that it wins or had. Pure. Every member must compute the same owner, so a change of this file needs
// another HASH_VERSION: members with different versions never work at the same time.

export const HASH_VERSION = 1;

/** The member that owns the key; undefined without members. */
export function ownerOf(key: string, members: readonly string[]): string | undefined {
  const keyHash = textHash(key);
  let owner: string | undefined;
  let best = -1;
  for (const member of members) {
    const score = scoreOf(keyHash, textHash(member));
    // Equal scores: the name decides, so that the order of the list does not matter.
    if (score > best || (score === best && owner !== undefined && member < owner)) {
      owner = member;
      best = score;
    }
  }
  return owner;
}

function scoreOf(keyHash: number, memberHash: number): number {
  return mixed(mixed(keyHash ^ memberHash) + memberHash);
}

/** FNV-1a over UTF-16 code units. */
function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mixed(hash);
}

/** The finalizer of MurmurHash3: every bit of the input changes every bit of the result with the same probability. */
function mixed(given: number): number {
  let hash = given | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
