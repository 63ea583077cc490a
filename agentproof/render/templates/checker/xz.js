// One stream of xz (https://tukaani.org/xz/xz-file-format.txt): check CRC32, LZMA2 the only filter, a
// dictionary of at most 32 MiB, nothing behind it. What is written serves as the dictionary.

const XZ_MAX_DICTIONARY = 32 * 2 ** 20;

const CRC_TABLE = (() => {
  const table = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    table[byte] = value;
  }
  return table;
})();

function crc32(bytes) {
  let value = -1;
  for (const byte of bytes) value = CRC_TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ -1) >>> 0;
}

/** What the stream holds, at most `limit` bytes of it. Throws a Refusal. */
function unpackXz(packed, limit) {
  const input = new XzInput(packed);
  const flags = input.header();
  const output = new XzOutput(limit);
  const records = [];
  while (input.peek() !== 0) {
    const from = input.at;
    const stated = input.blockHeader();
    const start = output.length;
    const compressed = input.at;
    output.beginBlock(stated.dictionary);
    unpackLzma2(input, output);
    const unpadded = input.at - from + 4;
    if (stated.packed !== null && stated.packed !== input.at - compressed) throw xzDamaged("the size of a block");
    const length = output.length - start;
    if (stated.unpacked !== null && stated.unpacked !== length) throw xzDamaged("the size of a block");
    input.padding(from);
    if (input.uint32() !== crc32(output.bytes.subarray(start, output.length))) throw xzDamaged("its check");
    records.push([unpadded, length]);
  }
  input.index(records);
  input.footer(flags);
  return output.bytes.slice(0, output.length);
}

function xzDamaged(what) {
  return new Refusal("malformed", `xz cannot be read (${what})`);
}

class XzInput {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  peek() {
    if (this.at >= this.bytes.length) throw new Refusal("truncated", "the xz stream does not come to its end");
    return this.bytes[this.at];
  }

  byte() {
    const value = this.peek();
    this.at++;
    return value;
  }

  take(count) {
    if (this.at + count > this.bytes.length) {
      throw new Refusal("truncated", "the xz stream does not come to its end");
    }
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  uint32() {
    const [a, b, c, d] = this.take(4);
    return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
  }

  /** A number of seven bits a byte, the lowest first. */
  integer() {
    let value = 0;
    for (let place = 0; place < 7; place++) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** (7 * place);
      if (byte < 0x80) {
        if (byte === 0 && place > 0) break;
        return value;
      }
    }
    throw xzDamaged("a number");
  }

  header() {
    const magic = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];
    if (magic.some((byte) => this.byte() !== byte)) throw xzDamaged("it is no xz");
    const flags = this.take(2);
    if (flags[0] !== 0 || flags[1] !== 1) throw xzDamaged("its check is not CRC32");
    if (this.uint32() !== crc32(flags)) throw xzDamaged("its header");
    return flags;
  }

  blockHeader() {
    const from = this.at;
    const size = (this.byte() + 1) * 4;
    const flags = this.byte();
    if ((flags & 0x3f) !== 0) throw xzDamaged("another filter than LZMA2");
    const packed = flags & 0x40 ? this.integer() : null;
    const unpacked = flags & 0x80 ? this.integer() : null;
    if (this.byte() !== 0x21 || this.byte() !== 1) throw xzDamaged("another filter than LZMA2");
    const bits = this.byte();
    const dictionary = bits > 40 ? Infinity : (2 | (bits & 1)) * 2 ** ((bits >> 1) + 11);
    if (dictionary > XZ_MAX_DICTIONARY) throw xzDamaged("its dictionary is over 32 MiB");
    while (this.at < from + size - 4) if (this.byte() !== 0) throw xzDamaged("the header of a block");
    if (this.at !== from + size - 4) throw xzDamaged("the header of a block");
    const held = crc32(this.bytes.subarray(from, this.at));
    if (this.uint32() !== held) throw xzDamaged("the header of a block");
    return { packed, unpacked, dictionary };
  }

  padding(from) {
    while ((this.at - from) % 4) if (this.byte() !== 0) throw xzDamaged("padding");
  }

  index(records) {
    this.indexAt = this.at;
    this.byte();
    if (this.integer() !== records.length) throw xzDamaged("its index");
    for (const record of records) {
      for (const size of record) if (this.integer() !== size) throw xzDamaged("its index");
    }
    this.padding(this.indexAt);
    const held = crc32(this.bytes.subarray(this.indexAt, this.at));
    if (this.uint32() !== held) throw xzDamaged("its index");
  }

  footer(flags) {
    const size = this.at - this.indexAt;
    const check = this.uint32();
    const held = crc32(this.bytes.subarray(this.at, this.at + 6));
    const back = (this.uint32() + 1) * 4;
    const again = this.take(2);
    const sign = this.take(2);
    if (check !== held || back !== size || again[0] !== flags[0] || again[1] !== flags[1]) {
      throw xzDamaged("its end");
    }
    if (sign[0] !== 0x59 || sign[1] !== 0x5a) throw xzDamaged("its end");
    const behind = this.bytes.length - this.at;
    if (behind) throw new Refusal("not_canonical", `${behind} bytes behind the xz stream`);
  }
}

class XzOutput {
  constructor(limit) {
    this.limit = limit;
    this.bytes = new Uint8Array(Math.min(limit, 2 ** 20));
    this.length = 0;
  }

  beginBlock(dictionary) {
    this.dictionary = dictionary;
    this.start = null;
  }

  resetDictionary() {
    this.start = this.length;
  }

  /** Room for so many bytes more. */
  reserve(count) {
    const needed = this.length + count;
    if (needed > this.limit) throw new Refusal("too_large", `it holds more than ${this.limit} bytes`);
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.min(this.limit, Math.max(needed, 2 * this.bytes.length)));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  copy(distance, count) {
    if (distance > this.length - this.start || distance > this.dictionary) throw xzDamaged("a distance");
    for (let left = count; left > 0; left--) {
      this.bytes[this.length] = this.bytes[this.length - distance];
      this.length++;
    }
  }
}

function unpackLzma2(input, output) {
  let lzma = null;
  for (;;) {
    const control = input.byte();
    if (control === 0) return;
    if (control === 1 || control >= 0xe0) {
      output.resetDictionary();
      lzma = control === 1 ? null : lzma;
    } else if (output.start === null) {
      throw xzDamaged("it begins without a dictionary");
    }
    if (control < 0x80) {
      if (control > 2) throw xzDamaged("a chunk");
      const size = input.byte() * 256 + input.byte() + 1;
      output.reserve(size);
      output.bytes.set(input.take(size), output.length);
      output.length += size;
      continue;
    }
    const unpacked = (control & 0x1f) * 65536 + input.byte() * 256 + input.byte() + 1;
    const packed = input.byte() * 256 + input.byte() + 1;
    const reset = (control >> 5) & 3;
    if (reset >= 2) lzma = new Lzma(input.byte());
    else if (lzma === null) throw xzDamaged("a chunk without its properties");
    else if (reset === 1) lzma.reset();
    output.reserve(unpacked);
    lzma.unpack(input.take(packed), output, unpacked);
  }
}

// LZMA: https://www.7-zip.org/sdk.html, lzma-specification.txt.
class Lzma {
  constructor(properties) {
    if (properties >= 9 * 5 * 5) throw xzDamaged("its properties");
    this.lc = properties % 9;
    this.lp = Math.floor(properties / 9) % 5;
    this.pb = Math.floor(properties / 45);
    if (this.lc + this.lp > 4) throw xzDamaged("its properties");
    this.reset();
  }

  reset() {
    const even = (count) => new Uint16Array(count).fill(1024);
    this.state = 0;
    this.reps = [0, 0, 0, 0];
    this.literals = even(0x300 << (this.lc + this.lp));
    this.isMatch = even(12 * 16);
    this.isRep = even(12);
    this.isRepG0 = even(12);
    this.isRepG1 = even(12);
    this.isRepG2 = even(12);
    this.isRep0Long = even(12 * 16);
    this.slots = [even(64), even(64), even(64), even(64)];
    this.special = even(1 + 128 - 14);
    this.align = even(16);
    this.matchLength = { choices: even(2), low: even(16 * 8), middle: even(16 * 8), high: even(256) };
    this.repLength = { choices: even(2), low: even(16 * 8), middle: even(16 * 8), high: even(256) };
  }

  unpack(chunk, output, count) {
    if (chunk.length < 5 || chunk[0] !== 0) throw xzDamaged("a chunk");
    this.chunk = chunk;
    this.at = 5;
    this.range = 0xffffffff;
    this.code = ((chunk[1] << 24) | (chunk[2] << 16) | (chunk[3] << 8) | chunk[4]) >>> 0;
    const end = output.length + count;
    while (output.length < end) this.step(output, end);
    if (this.at !== chunk.length || this.code !== 0) throw xzDamaged("the end of a chunk");
  }

  step(output, end) {
    const position = output.length - output.start;
    const posState = position & ((1 << this.pb) - 1);
    if (!this.bit(this.isMatch, this.state * 16 + posState)) {
      this.literal(output, position);
      return;
    }
    let length;
    if (!this.bit(this.isRep, this.state)) {
      length = this.length(this.matchLength, posState);
      this.state = this.state < 7 ? 7 : 10;
      this.reps = [this.distance(length), this.reps[0], this.reps[1], this.reps[2]];
      if (this.reps[0] === 0xffffffff) throw xzDamaged("a mark of its end");
    } else {
      if (!this.bit(this.isRepG0, this.state)) {
        if (!this.bit(this.isRep0Long, this.state * 16 + posState)) {
          this.state = this.state < 7 ? 9 : 11;
          output.copy(this.reps[0] + 1, 1);
          return;
        }
      } else {
        const place = !this.bit(this.isRepG1, this.state) ? 1 : !this.bit(this.isRepG2, this.state) ? 2 : 3;
        this.reps.unshift(...this.reps.splice(place, 1));
      }
      length = this.length(this.repLength, posState);
      this.state = this.state < 7 ? 8 : 11;
    }
    if (output.length + length > end) throw xzDamaged("a match beyond its chunk");
    output.copy(this.reps[0] + 1, length);
  }

  literal(output, position) {
    const before = position > 0 ? output.bytes[output.length - 1] : 0;
    const context = ((position & ((1 << this.lp) - 1)) << this.lc) + (before >> (8 - this.lc));
    const base = 0x300 * context;
    let symbol = 1;
    if (this.state >= 7) {
      if (this.reps[0] + 1 > position) throw xzDamaged("a distance");
      let matched = output.bytes[output.length - this.reps[0] - 1];
      while (symbol < 0x100) {
        const expected = (matched >> 7) & 1;
        matched <<= 1;
        const bit = this.bit(this.literals, base + ((1 + expected) << 8) + symbol);
        symbol = (symbol << 1) | bit;
        if (bit !== expected) break;
      }
    }
    while (symbol < 0x100) symbol = (symbol << 1) | this.bit(this.literals, base + symbol);
    output.bytes[output.length++] = symbol & 0xff;
    this.state = this.state < 4 ? 0 : this.state < 10 ? this.state - 3 : this.state - 6;
  }

  length(from, posState) {
    if (!this.bit(from.choices, 0)) return 2 + this.tree(from.low, posState * 8, 3);
    if (!this.bit(from.choices, 1)) return 10 + this.tree(from.middle, posState * 8, 3);
    return 18 + this.tree(from.high, 0, 8);
  }

  distance(length) {
    const slot = this.tree(this.slots[Math.min(length - 2, 3)], 0, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return base + this.reverse(this.special, base - slot, bits);
    return base + this.direct(bits - 4) * 16 + this.reverse(this.align, 0, 4);
  }

  tree(odds, base, bits) {
    let symbol = 1;
    for (let left = bits; left > 0; left--) symbol = (symbol << 1) | this.bit(odds, base + symbol);
    return symbol - (1 << bits);
  }

  reverse(odds, base, bits) {
    let symbol = 1;
    let value = 0;
    for (let place = 0; place < bits; place++) {
      const bit = this.bit(odds, base + symbol);
      symbol = (symbol << 1) | bit;
      value |= bit << place;
    }
    return value;
  }

  direct(bits) {
    let value = 0;
    for (let left = bits; left > 0; left--) {
      this.range = this.range >>> 1;
      const bit = this.code >= this.range ? 1 : 0;
      if (bit) this.code -= this.range;
      value = value * 2 + bit;
      this.normalise();
    }
    return value;
  }

  bit(odds, place) {
    const odd = odds[place];
    const bound = (this.range >>> 11) * odd;
    let bit = 0;
    if (this.code < bound) {
      this.range = bound;
      odds[place] = odd + ((2048 - odd) >> 5);
    } else {
      this.range -= bound;
      this.code -= bound;
      odds[place] = odd - (odd >> 5);
      bit = 1;
    }
    this.normalise();
    return bit;
  }

  normalise() {
    if (this.range >= 0x1000000) return;
    if (this.at >= this.chunk.length) throw xzDamaged("the end of a chunk");
    this.range = this.range * 256;
    this.code = (this.code * 256 + this.chunk[this.at++]) >>> 0;
  }
}
