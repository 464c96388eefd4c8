// Decodes the Huffman code of HPACK (RFC 7541, appendix B). There is no encoder: what we write is short, or indexed after
// the first time. Pure.

/** The code length of each byte, and last of the end marker: A is 5 bits, Z is 30. Canonical, so lengths are enough. */
const codeLengths =
  'ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJBKABABABBBACCBBBABCBAABCCCCCKGJI' +
  'XPRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRSVVPORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ';
const END = 256;

/** Two slots a node, for a 0 and a 1: the next node, or, negative, the symbol that the code has led to. */
let tree: Int16Array | undefined;

function buildTree(): Int16Array {
  const symbols = Array.from(codeLengths, (letter, symbol) => ({
    symbol,
    bits: letter.charCodeAt(0) - 60,
  }));
  symbols.sort((a, b) => a.bits - b.bits || a.symbol - b.symbol);
  const nodes = new Int16Array(2 * 256);
  let count = 1;
  let code = 0;
  let length = 0;
  for (const { symbol, bits } of symbols) {
    code <<= bits - length;
    length = bits;
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const slot = 2 * node + ((code >>> bit) & 1);
      if (nodes[slot] === 0) nodes[slot] = count++;
      node = nodes[slot] as number;
    }
    nodes[2 * node + (code & 1)] = -1 - symbol;
    code++;
  }
  return nodes;
}

/** Undefined for bytes that are not in the code: the end marker, or padding that is not its beginning. */
export function decodeHuffman(bytes: Uint8Array): string | undefined {
  tree ??= buildTree();
  const text = Buffer.allocUnsafe(Math.ceil((bytes.length * 8) / 5));
  let length = 0;
  let node = 0;
  let padding = 0;
  let isPaddingOnes = true;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const one = (byte >>> bit) & 1;
      padding++;
      if (one === 0) isPaddingOnes = false;
      const next = tree[2 * node + one] as number;
      if (next >= 0) {
        node = next;
        continue;
      }
      const symbol = -1 - next;
      if (symbol === END) return undefined;
      text[length++] = symbol;
      node = 0;
      padding = 0;
      isPaddingOnes = true;
    }
  }
  if (padding > 7 || !isPaddingOnes) return undefined;
  return text.toString('latin1', 0, length);
}
