// The one encoding of JSON (docs/format.md, section 2), base64 in its one spelling, and digests.

class Refusal extends Error {
  /** What a check found: a reason code, what is wrong, and in which file. */
  constructor(reason, message, path = null) {
    super(path === null ? message : `${path}: ${message}`);
    this.reason = reason;
  }
}

const LIMITS = {
  members: 4096,
  attestations: 64,
  files: 4096 + 64 + 1,
  depth: 8,
  bundle: 24 * 2 ** 20,
  manifest: 4 * 2 ** 20,
  state: 4 * 2 ** 20,
  trace: 32 * 2 ** 20,
  exchanges: 16 * 2 ** 20,
  attestation: 256 * 2 ** 10,
  text: 48 * 2 ** 20,
  blocks: 64,
  lines: 200000,
  keys: 10000,
  nesting: 200,
  digits: 4300,
};

/** A number that is no integer, as it is spelled. */
class Float {
  constructor(text) {
    this.text = text;
  }
}

const ESCAPES = { '"': '"', "\\": "\\", b: "\b", t: "\t", n: "\n", f: "\f", r: "\r" };
const ESCAPED = new Map(Object.entries(ESCAPES).map(([letter, meant]) => [meant, `\\${letter}`]));
const PLAIN = /[^"\\\x00-\x1f]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?(e[-+][0-9]{2,3})?/y;

/** By code points, as the encoding sorts; UTF-16 units sort otherwise beyond U+FFFF. */
function compareText(one, other) {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    let a = one.charCodeAt(at);
    let b = other.charCodeAt(at);
    if (a === b) continue;
    if (a >= 0xd800 && b >= 0xd800) {
      a = a >= 0xe000 ? a - 0x800 : a + 0x2000;
      b = b >= 0xe000 ? b - 0x800 : b + 0x2000;
    }
    return a - b;
  }
  return one.length - other.length;
}

/** A document, if its bytes are exactly those that would be written for it. Throws a Refusal. */
function parseCanonical(bytes, limit, path) {
  if (bytes.length > limit) {
    throw new Refusal("too_large", `${bytes.length} bytes are over the limit of ${limit}`, path);
  }
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal("malformed", "not UTF-8", path);
  }
  let lines = 0;
  for (const byte of bytes) if (byte === 10) lines++;
  if (lines > LIMITS.lines) {
    throw new Refusal("too_large", `${lines} lines are over the limit of ${LIMITS.lines}`, path);
  }
  return new CanonicalParser(text, path).document();
}

class CanonicalParser {
  constructor(text, path) {
    this.text = text;
    this.path = path;
    this.at = 0;
  }

  document() {
    const value = this.value(0);
    this.expect("\n");
    if (this.at !== this.text.length) throw this.wrong();
    return value;
  }

  wrong() {
    const line = this.text.slice(0, this.at).split("\n").length;
    return new Refusal("not_canonical", `line ${line} is not in the canonical encoding`, this.path);
  }

  expect(what) {
    if (!this.text.startsWith(what, this.at)) throw this.wrong();
    this.at += what.length;
  }

  took(what) {
    if (!this.text.startsWith(what, this.at)) return false;
    this.at += what.length;
    return true;
  }

  value(depth) {
    if (depth > LIMITS.nesting) {
      throw new Refusal("too_deep", `nested deeper than ${LIMITS.nesting}`, this.path);
    }
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth + 1);
      case "[":
        return this.list(depth + 1);
      case '"':
        return this.string();
    }
    if (this.took("null")) return null;
    if (this.took("true")) return true;
    if (this.took("false")) return false;
    return this.number();
  }

  object(depth) {
    const found = Object.create(null);
    this.at++;
    if (this.took("}")) return found;
    const indent = `\n${"  ".repeat(depth)}`;
    let before = null;
    let count = 0;
    do {
      this.expect(indent);
      const key = this.string();
      if (before !== null && compareText(before, key) >= 0) throw this.wrong();
      if (++count > LIMITS.keys) {
        throw new Refusal("too_large", `an object has more than ${LIMITS.keys} keys`, this.path);
      }
      this.expect(": ");
      found[key] = this.value(depth);
      before = key;
    } while (this.took(","));
    this.expect(`\n${"  ".repeat(depth - 1)}}`);
    return found;
  }

  list(depth) {
    const found = [];
    this.at++;
    if (this.took("]")) return found;
    const indent = `\n${"  ".repeat(depth)}`;
    do {
      this.expect(indent);
      found.push(this.value(depth));
    } while (this.took(","));
    this.expect(`\n${"  ".repeat(depth - 1)}]`);
    return found;
  }

  string() {
    this.expect('"');
    let found = "";
    for (;;) {
      PLAIN.lastIndex = this.at;
      const plain = PLAIN.exec(this.text)[0];
      found += plain;
      this.at += plain.length;
      if (this.took('"')) return found;
      if (this.text[this.at] !== "\\") throw this.wrong();
      const letter = this.text[this.at + 1];
      if (Object.hasOwn(ESCAPES, letter)) {
        found += ESCAPES[letter];
        this.at += 2;
        continue;
      }
      const code = /^\\u00([01][0-9a-f])/.exec(this.text.slice(this.at, this.at + 6));
      const meant = code && String.fromCharCode(parseInt(code[1], 16));
      if (!code || ESCAPED.has(meant)) throw this.wrong();
      found += meant;
      this.at += 6;
    }
  }

  number() {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) throw this.wrong();
    const [text, fraction, exponent] = match;
    if (fraction === undefined && exponent === undefined) {
      if (text === "-0" || text.length > LIMITS.digits) throw this.wrong();
      this.at += text.length;
      const value = Number(text);
      return Number.isSafeInteger(value) ? value : BigInt(text);
    }
    const value = Number(text);
    if (!Number.isFinite(value) || pythonFloat(value) !== text) throw this.wrong();
    this.at += text.length;
    return new Float(text);
  }
}

/** A float as Python's `repr` writes it: the shortest digits, an exponent below 1e-4 and from 1e16. */
function pythonFloat(value) {
  const [, sign, digits, exponent] = /^(-?)([0-9.]+)e([-+][0-9]+)$/.exec(
    `${Object.is(value, -0) ? "-" : ""}${value.toExponential()}`,
  );
  const letters = digits.replace(".", "");
  const power = Number(exponent);
  if (power < -4 || power >= 16) {
    const size = String(Math.abs(power)).padStart(2, "0");
    return `${sign}${digits}e${power < 0 ? "-" : "+"}${size}`;
  }
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${letters}`;
  const whole = letters.padEnd(power + 1, "0");
  return `${sign}${whole.slice(0, power + 1)}.${whole.slice(power + 1) || "0"}`;
}

/** The one encoding of a document without floats, as text without the last line's end. */
function canonical(value, depth = 0) {
  const indent = `\n${"  ".repeat(depth + 1)}`;
  const close = `\n${"  ".repeat(depth)}`;
  if (Array.isArray(value)) {
    if (!value.length) return "[]";
    return `[${value.map((each) => indent + canonical(each, depth + 1)).join(",")}${close}]`;
  }
  if (value instanceof Float) return value.text;
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort(compareText);
    if (!keys.length) return "{}";
    const items = keys.map((key) => `${indent}${canonicalText(key)}: ${canonical(value[key], depth + 1)}`);
    return `{${items.join(",")}${close}}`;
  }
  return typeof value === "string" ? canonicalText(value) : String(value);
}

function canonicalText(text) {
  const inside = text.replace(
    /["\\\x00-\x1f]/g,
    (letter) => ESCAPED.get(letter) ?? `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `"${inside}"`;
}

/** The bytes of base64 in its one spelling; null for any other text. */
function strictBase64(text) {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4) return null;
  const letters = atob(text);
  return btoa(letters) === text ? Uint8Array.from(letters, (letter) => letter.charCodeAt(0)) : null;
}

function base64(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function sameBytes(one, other) {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

function short(digest) {
  return `${digest.slice(0, 8)}…${digest.slice(-4)}`;
}
