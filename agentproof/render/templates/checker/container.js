// What holds a bundle: its canonical zip, or a text with blocks (docs/format.md, section 1).

const SAFE_SEGMENT = /^[A-Za-z0-9_+.,=@()~!#%&-](?:[A-Za-z0-9_+.,=@()~!#%& -]*[A-Za-z0-9_+,=@()~!#%&-])?$/;
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;
const SHORT_NAME = /^[^/.]{1,6}~[0-9]{1,6}(?:\.[^/.]{0,3})?$/;

function isSafePath(path) {
  const segments = path.split("/");
  return (
    path.length <= 240 &&
    segments.length <= LIMITS.depth &&
    segments.every(
      (each) => SAFE_SEGMENT.test(each) && !each.endsWith(".") && !DEVICE.test(each) && !SHORT_NAME.test(each),
    )
  );
}

/** The files of a zip, by path, if it is the one zip of these files. Throws a Refusal. */
function readZip(bytes) {
  if (bytes.length > LIMITS.bundle) {
    throw new Refusal("too_large", `${bytes.length} bytes are over the limit of ${LIMITS.bundle}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const files = new Map();
  const entries = [];
  let at = 0;
  let before = "";
  while (at + 4 <= bytes.length && view.getUint32(at, true) === 0x04034b50) {
    const cut = new Refusal("truncated", `the zip ends inside the record at byte ${at}`);
    if (at + 30 > bytes.length) throw cut;
    const [flags, method] = [view.getUint16(at + 6, true), view.getUint16(at + 8, true)];
    const [packed, size] = [view.getUint32(at + 18, true), view.getUint32(at + 22, true)];
    const [length, extra] = [view.getUint16(at + 26, true), view.getUint16(at + 28, true)];
    if (flags & 1) throw new Refusal("encrypted", `the record at byte ${at} is encrypted`);
    if (method || flags || extra || packed !== size) {
      throw new Refusal("zipped_again", `the record at byte ${at} was not written by agentproof`);
    }
    if (length > 240 || entries.length >= LIMITS.files) {
      throw new Refusal("too_large", `the record at byte ${at} is over a limit of the format`);
    }
    if (at + 30 + length + size > bytes.length) throw cut;
    const letters = bytes.subarray(at + 30, at + 30 + length);
    if (letters.some((byte) => byte > 0x7f)) {
      throw new Refusal("unsafe_path", `the name at byte ${at} is not ASCII`);
    }
    const name = String.fromCharCode(...letters);
    const data = bytes.subarray(at + 30 + length, at + 30 + length + size);
    if (name <= before) throw new Refusal("not_canonical", `${name} does not sort after the record before it`);
    entries.push({ name, crc: crc32(data), size, at });
    files.set(name, data);
    before = name;
    at += 30 + length + size;
  }
  if (!entries.length) throw new Refusal("not_a_zip", "this is no zip of a bundle");
  // Every header is written again, so that nothing rests on how a name or a length was read.
  for (const entry of entries) {
    const header = zipHeader(0x04034b50, [], entry, []);
    if (!sameBytes(header, bytes.subarray(entry.at, entry.at + header.length))) {
      throw new Refusal("not_canonical", `the record of ${entry.name} is not in the canonical form`);
    }
  }
  const directory = zipDirectory(entries, at);
  if (!sameBytes(directory, bytes.subarray(at))) {
    throw new Refusal("not_canonical", "the zip differs from the canonical form behind its last record");
  }
  return files;
}

/** A record of the zip, up to its name: local ones, and those of the directory with what is around them. */
function zipHeader(sign, made, { crc, size, name }, behind) {
  const fields = [[4, sign], ...made, [2, 10], [2, 0], [2, 0], [2, 0], [2, 0x21], [4, crc], [4, size], [4, size]];
  return littleEndian([...fields, [2, name.length], [2, 0], ...behind]);
}

function zipDirectory(entries, start) {
  const parts = [];
  for (const entry of entries) {
    const behind = [[2, 0], [2, 0], [2, 0], [4, 0x81a40000], [4, entry.at]];
    parts.push(zipHeader(0x02014b50, [[2, 0x0314]], entry, behind));
    parts.push(Uint8Array.from(entry.name, (letter) => letter.charCodeAt(0)));
  }
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const count = entries.length;
  const end = [[4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, start], [2, 0]];
  parts.push(littleEndian(end));
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function littleEndian(fields) {
  return Uint8Array.from(
    fields.flatMap(([size, value]) => Array.from({ length: size }, (_, at) => (value / 2 ** (8 * at)) & 0xff)),
  );
}

const MARK = /-----(BEGIN|END)(?:[\s\x1c-\x1f\x85]|&nbsp;|&#160;)+AGENTPROOF(?:[\s\x1c-\x1f\x85]|&nbsp;|&#160;)+BUNDLE-----/g;
const HEAD = /^bundle:sha256:([0-9a-f]{64})length:([1-9][0-9]{0,8})(?=\/|$)/;
const LONG = /[A-Za-z0-9+/]{60}/;
const WITHOUT_WIDTH = /[\u00ad\u200b-\u200d\u2060\ufeff]/g;

// Of HTML's named references those that stand for a letter of a block, white space, or nothing that is seen;
// any other is none of base64, by its own `&`.
const NAMED = {
  amp: "&", AMP: "&", gt: ">", GT: ">", colon: ":", equals: "=", num: "#", plus: "+", semi: ";", sol: "/",
  fjlig: "fj", NewLine: "\n", Tab: "\t", nbsp: " ", NonBreakingSpace: " ", ensp: " ", emsp: " ", emsp13: " ",
  emsp14: " ", numsp: " ", puncsp: " ", thinsp: " ", ThinSpace: " ", hairsp: " ", VeryThinSpace: " ",
  MediumSpace: " ", ThickSpace: " ", shy: "", zwj: "", zwnj: "", NoBreak: "", ZeroWidthSpace: "",
  NegativeMediumSpace: "", NegativeThickSpace: "", NegativeThinSpace: "", NegativeVeryThinSpace: "",
};
const REFERENCE = /&(?:#([0-9]{1,7})(?![0-9]);?|#[xX]([0-9a-fA-F]{1,6})(?![0-9a-fA-F]);?|(amp|AMP|gt|GT|nbsp|shy)(?![a-zA-Z0-9]*;)|([A-Za-z0-9]+);)/g;

function unescapeHtml(text) {
  return text.replace(REFERENCE, (whole, decimal, hexadecimal, bare, name) => {
    if (bare !== undefined) return NAMED[bare];
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? NAMED[name] : whole;
    const code = decimal !== undefined ? Number(decimal) : parseInt(hexadecimal, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** The letters of a file that people saved: UTF-8, or UTF-16 with its mark. */
function decodeText(bytes) {
  const label = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(label).decode(bytes);
}

/** The blocks in a text, in their order; those that are not whole too. Throws a Refusal. */
function findBlocks(text) {
  const marks = [...text.matchAll(MARK)];
  if (marks.length > 2 * LIMITS.blocks) {
    throw new Refusal("too_many", `more than ${LIMITS.blocks} bundles in one text`);
  }
  const found = [];
  const add = (at, inside, missing = null) => {
    const line = text.slice(0, at).split("\n").length;
    found.push({ number: found.length + 1, line, inside, missing });
  };
  let begun = null;
  let done = 0;
  for (const mark of marks) {
    const inside = begun === null ? "" : text.slice(begun.index + begun[0].length, mark.index);
    if (mark[1] === "BEGIN") {
      if (begun !== null && inside.includes("bundle:")) add(begun.index, inside, "end");
      begun = mark;
    } else if (begun !== null) {
      add(begun.index, inside);
      begun = null;
      done = mark.index + mark[0].length;
    } else if (LONG.test(text.slice(done, mark.index))) {
      add(mark.index, text.slice(done, mark.index), "beginning");
      done = mark.index + mark[0].length;
    }
  }
  if (begun !== null) {
    const inside = text.slice(begun.index + begun[0].length);
    if (inside.includes("bundle:")) add(begun.index, inside, "end");
  }
  return found;
}

/** The files of the bundle in a block, whose id is the one that the block names. Throws a Refusal. */
async function filesInBlock(block) {
  if (block.missing !== null) throw new Refusal("truncated", `its ${block.missing} is cut off: copy it again`);
  const plain = unescapeHtml(unescapeHtml(block.inside)).replace(WITHOUT_WIDTH, "");
  const words = plain.split(/[\s\x1c-\x1f\x85]+/).map((word) => word.replace(/^>+/, ""));
  const whole = words.join("");
  const head = HEAD.exec(whole);
  if (head === null) throw new Refusal("malformed", "it does not begin with `bundle: sha256:…` and `length: …`");
  const letters = whole.slice(head[0].length);
  const length = Number(head[2]);
  if (letters.length !== length) {
    throw new Refusal("truncated", `${letters.length} of ${length} characters are there: copy it again`);
  }
  const packed = strictBase64(letters);
  if (packed === null) throw new Refusal("malformed", "not base64: copy it again");
  const files = readZip(unpackXz(packed, LIMITS.bundle));
  const held = await sha256(files.get("manifest.json") ?? new Uint8Array());
  if (held !== head[1]) {
    throw new Refusal("other_bytes", `it names bundle sha256:${short(head[1])} and holds sha256:${short(held)}`);
  }
  return files;
}

/** Manifest, members and attestations of these files, by names that no system takes for others. */
function sortFiles(files) {
  const seen = new Map();
  const bundle = { manifest: null, members: new Map(), attestations: new Map() };
  for (const [path, data] of files) {
    if (!isSafePath(path)) throw new Refusal("unsafe_path", `${path} is no path of a bundle`);
    const parts = path.split("/");
    for (let end = 1; end <= parts.length; end++) {
      const prefix = parts.slice(0, end).join("/");
      const kind = `${end === parts.length ? "file" : "directory"} ${prefix}`;
      const key = prefix.toLowerCase();
      if ((seen.get(key) ?? kind) !== kind) {
        throw new Refusal("colliding_paths", `${path} collides with ${seen.get(key)}`);
      }
      seen.set(key, kind);
    }
    if (path === "manifest.json") bundle.manifest = data;
    else if (path.startsWith("attestations/")) {
      if (data.length > LIMITS.attestation) throw new Refusal("too_large", `${data.length} bytes`, path);
      bundle.attestations.set(path.slice("attestations/".length), data);
    } else bundle.members.set(path, data);
  }
  if (bundle.attestations.size > LIMITS.attestations) {
    throw new Refusal("too_many", `${bundle.attestations.size} attestations are over the limit`);
  }
  if (bundle.manifest === null) throw new Refusal("no_manifest", "no manifest.json");
  return bundle;
}
