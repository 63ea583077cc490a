// The checks members, encoding and signature (docs/format.md, section 8), trust left out: this page knows
// nobody's key. A check returns a sentence about what it found, or throws a Refusal.

const MADE = ["members", "encoding", "signature"];
const COMMAND_ALONE = {
  environment: "that pylock.toml is what the manifest's environment renders to",
  source: "that the loaded modules are files of the SDK's wheel, and the wheel is the one that you hold",
  claims: "that evidence, claims and verdict are what the traces give",
  checkout: "that the wheel's files are those of a checkout of yours (on request)",
  installed: "that they are those of an environment of yours (on request)",
  replay: "that the script does the same here (`agentproof replay`)",
};

const STATE = /^states\/([0-9a-f]{64})\.json$/;
const RESERVED = /^(?:manifest\.json|pylock\.toml|exchanges\.json|(?:attestations|traces|states|wheels)(?:\/.*)?)$/s;
const ROLES = {
  "https://in-toto.io/attestation/test-result/v0.1": "recorded",
  "https://in-toto.io/attestation/svr/v0.1": "replayed",
  "urn:uuid:6fb0f6b9-adf6-4ef3-bae6-34164a2392af#endorsed-v0": "endorsed",
};
const VERIFIER = "urn:uuid:6fb0f6b9-adf6-4ef3-bae6-34164a2392af#replay-v1";
const EVIDENCE_VERIFIER = "urn:uuid:6fb0f6b9-adf6-4ef3-bae6-34164a2392af#replay-v0";
const AGREED = ["EVIDENCE", "JUDGEMENT", "CONDUCT", "EVENTS"].map((what) => `AGENTPROOF_SAME_${what}`);
const RESULTS = { violated: "FAILED", holds: "PASSED", inconclusive: "WARNED" };
const ACCOUNT = /^github:[A-Za-z0-9](?:-?[A-Za-z0-9])*$/;
const HASH = /^[0-9a-f]{64}$/;

const FIELD_PRIME = 2n ** 255n - 19n;
const SMALL_ORDER = [
  0n,
  1n,
  FIELD_PRIME - 1n,
  2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  55188659117513257062467267217118295137698188065244968500265048394206261417927n,
];

const NO_ED25519 =
  "this browser's WebCrypto has no Ed25519: the signatures were not verified, and nothing here is more than " +
  "the text of the bundle; take a newer browser (Chromium 137, Firefox 129, Safari 17), or the command";

class CannotVerify extends Error {}

/** The report on one bundle, whose files are given by `read`: checks, signers, and what was read. */
async function checkBundle(read) {
  const report = { id: null, checks: [], signers: [], manifest: null, traces: new Map(), bundle: null };
  const steps = {
    members: async () => {
      report.bundle = sortFiles(await read());
      report.id = await sha256(report.bundle.manifest);
      const manifest = readManifest(report.bundle.manifest);
      await checkMembers(manifest, report.bundle);
      checkPlaces(manifest);
      report.manifest = manifest;
      const count = report.bundle.members.size + report.bundle.attestations.size + 1;
      return `${count} files match the manifest, nothing else is there`;
    },
    encoding: async () => {
      report.traces = readTraces(report.manifest, report.bundle);
      for (const [path, data] of report.bundle.members) {
        if (STATE.test(path)) parseCanonical(data, LIMITS.state, path);
      }
      checkExchanges(report.manifest, report.bundle);
      report.attestations = [];
      for (const [name, data] of [...report.bundle.attestations].sort(([one], [other]) => (one < other ? -1 : 1))) {
        report.attestations.push(await readAttestation(name, data, report.manifest));
      }
      return "every file is canonical, and each signature verifies";
    },
    signature: async () => {
      const { attestations } = report;
      if (!attestations.length) throw new Refusal("no_attestation", "nobody signed this bundle");
      for (const attestation of attestations) checkStatement(attestation, report.manifest, report.id);
      if (!attestations.some(({ role }) => role === "recorded")) {
        throw new Refusal("not_recorded", "no attestation of the role `recorded`, which `record` makes");
      }
      report.signers = attestations;
      return "each statement is the one that this manifest gives; whose keys they are, this page does not know";
    },
  };
  let stopped = null;
  for (const name of MADE) {
    if (stopped !== null) {
      report.checks.push({ name, status: "not_made", reason: "earlier_failed", text: stopped });
      continue;
    }
    try {
      report.checks.push({ name, status: "passed", reason: null, text: await steps[name]() });
    } catch (error) {
      if (error instanceof CannotVerify) {
        stopped = "the signatures were not verified";
        report.checks.push({ name, status: "not_made", reason: "no_ed25519", text: error.message });
      } else if (error instanceof Refusal) {
        stopped = "an earlier check failed";
        report.checks.push({ name, status: "failed", reason: error.reason, text: error.message });
      } else throw error;
    }
  }
  for (const [name, what] of Object.entries(COMMAND_ALONE)) {
    report.checks.push({ name, status: "not_made", reason: "command_only", text: what });
  }
  return report;
}

/** INVALID, or how many of the checks passed: never a word that says more than what was looked at. */
function wordOf(report) {
  if (report.checks.some(({ status }) => status === "failed")) return "INVALID";
  const passed = report.checks.filter(({ status }) => status === "passed").length;
  return `${passed} of 6 checks passed`;
}

// members

function readManifest(raw) {
  if (raw.length > LIMITS.manifest) throw new Refusal("too_large", `${raw.length} bytes`, "manifest.json");
  // Told apart before anything else, because a newer format explains every other oddity.
  const text = new TextDecoder().decode(raw);
  const form = /\n {2}"format": ("[^"\\]{0,100}"),?\n/.exec(text)?.[1];
  const version = /\n {2}"version": ("[^"\\]{0,100}"|[0-9]{1,9}),?\n/.exec(text)?.[1];
  if (form === '"agentproof/comparison"') {
    throw new Refusal("unknown_version", "a comparison: this page reads one recording; take the command");
  }
  if (form && version && (form !== '"agentproof/bundle"' || version !== "0")) {
    throw new Refusal("unknown_version", `${form} ${version}; this page reads agentproof/bundle 0`);
  }
  const manifest = parseCanonical(raw, LIMITS.manifest, "manifest.json");
  checkShape(manifest, "manifest", "manifest.json");
  return manifest;
}

function isSortedSet(items) {
  return items.every((each, at) => at === 0 || compareText(items[at - 1], each) < 0);
}

function demand(condition, what, reason = "malformed") {
  if (!condition) throw new Refusal(reason, what, "manifest.json");
}

async function checkMembers({ members }, bundle) {
  demand(members.length <= LIMITS.members, "too many members", "too_many");
  demand(isSortedSet(members.map(({ path }) => path)), "members are not sorted by path, each once");
  const listed = new Set(members.map(({ path }) => path));
  for (const path of bundle.members.keys()) {
    if (!listed.has(path)) throw new Refusal("unlisted", "not in the manifest", path);
  }
  for (const { path, size, sha256: stated } of members) {
    demand(isSafePath(path), `${path} is no path of a member`, "unsafe_path");
    const data = bundle.members.get(path);
    if (data === undefined) {
      if (path.startsWith("wheels/")) continue;
      throw new Refusal("missing", "in the manifest, but not there", path);
    }
    if (data.length !== size) {
      throw new Refusal("other_bytes", `${data.length} bytes; the manifest says ${size}`, path);
    }
    const found = await sha256(data);
    if (found !== stated) {
      throw new Refusal("other_bytes", `SHA-256 ${short(found)}; the manifest says ${short(stated)}`, path);
    }
  }
}

function checkPlaces(manifest) {
  const { reproduction: script, target, recordings } = manifest;
  const files = new Map(manifest.members.map((member) => [member.path, member]));
  const wheel = `wheels/${target.wheel}`;
  demand(isSortedSet(script.files), "reproduction.files are not sorted, each once");
  demand(script.files.includes(script.entry), "reproduction.entry is not among reproduction.files");
  const tests = script.tests ?? [];
  if (tests.length) {
    const named = tests.map((test) => test.split("::")[0]);
    demand(named[0] === script.entry, "reproduction.entry is not the file of the first of its tests");
    demand(named.every((each) => script.files.includes(each)), "reproduction.tests are not in its files");
    demand(new Set(tests).size === tests.length, "reproduction.tests are not there once each");
    demand(!script.arguments?.length, "reproduction.tests take no arguments");
  }
  for (const path of script.files) {
    demand(!RESERVED.test(path), `${path} is no place for a file of the reproduction`);
  }
  demand(isSortedSet(script.variables ?? []), "reproduction.variables are not sorted, each once");
  const modes = recordings.map(({ mode }) => mode);
  demand(modes.length > 0 && isSortedSet(modes), "recordings are not one a mode, in order");
  for (const each of recordings) {
    demand(each.trace === `traces/${each.mode}.json`, `${each.trace} has another name`);
    const differs = each.agreement === "text" || each.agreement === "differ";
    demand(differs === Boolean(each.differences?.length), "`differences` and `agreement`");
    demand(differs || !each.touched?.length, "`touched` without `differ`");
    demand(isSortedSet(each.touched ?? []), "`touched` is not sorted");
    demand((each.repeats === 1) === (each.agreement === "single"), "`repeats` and `agreement`");
    demand(each.repeats > 0, "a recording without a repeat");
  }
  const own = manifest.environment.packages.filter(({ origin }) => origin !== undefined);
  demand(own.every(({ name }) => name !== target.name), "the target is no project of the reporter's own");
  const kept = new Map(own.map((each) => [`wheels/${each.wheel}`, each]));
  const needed = new Set([...script.files, "pylock.toml", wheel, ...kept.keys(), ...recordings.map(({ trace }) => trace)]);
  if (manifest.provider !== undefined) needed.add("exchanges.json");
  for (const path of needed) demand(files.has(path), `${path} is not a member`, "missing");
  for (const [path, member] of files) {
    if (needed.has(path)) continue;
    const match = STATE.exec(path);
    if (match === null) throw new Refusal("unlisted", "the format has no place for it", path);
    if (match[1] !== member.sha256) throw new Refusal("other_bytes", "named by another digest", path);
  }
  for (const [path, stated] of [[wheel, target], ...kept]) {
    const same = files.get(path).sha256 === stated.sha256 && files.get(path).size === stated.size;
    demand(same, `${path} and ${stated.name} are not the same file`);
  }
}

// encoding

function readTraces(manifest, bundle) {
  const traces = new Map();
  for (const { mode, trace: path } of manifest.recordings) {
    const trace = parseCanonical(bundle.members.get(path), LIMITS.trace, path);
    checkShape(trace, "trace", path);
    if (trace.mode !== mode) throw new Refusal("other_mode", `its mode is ${trace.mode}`, path);
    for (const [at, { seq, after }] of trace.events.entries()) {
      const refuse = (what) => new Refusal("malformed", `event ${at + 1}: ${what}`, path);
      if (seq !== at + 1) throw refuse(`its seq is ${seq}`);
      if (after === undefined) continue;
      if (after.some((each, place) => place > 0 && after[place - 1] >= each)) throw refuse("`after` is not ascending");
      if (after.length && after.at(-1) > at) throw refuse("it comes after a later one");
      if (after.length === 1 && after[0] === at) throw refuse("`after` is left out where it is the event before");
    }
    traces.set(mode, trace);
  }
  return traces;
}

function checkExchanges(manifest, bundle) {
  const { provider } = manifest;
  if (provider === undefined) return;
  const path = "exchanges.json";
  const found = parseCanonical(bundle.members.get(path), LIMITS.exchanges, path);
  checkShape(found, "exchanges", path);
  const exchanges = found.exchanges ?? [];
  const hosts = (found.hosts ?? []).map(({ name, port, to }) => [name, port ?? 443, to ?? null]);
  const stated = provider.hosts.map(({ host, port, to }) => [host, port ?? 443, to ?? null]);
  const ids = exchanges.flatMap(({ answer }) =>
    ["request-id", "x-request-id"].flatMap((name) => (answer.headers && name in answer.headers ? [answer.headers[name]] : [])),
  );
  const agree = (one, other, what) => demand(canonical(one) === canonical(other), `provider.${what} is not that of ${path}`);
  agree(hosts, stated, "hosts");
  agree(found.recorded ?? null, provider.recorded, "recorded");
  agree(found.target ?? null, provider.target, "target");
  agree(ids, provider.request_ids ?? [], "request_ids");
  agree(exchanges.length, provider.requests, "requests");
  const answers = provider.answers ?? [];
  const places = [...(provider.unused ?? []), ...answers.flatMap(({ exchange }) => exchange ?? [])];
  demand(places.every((place) => place < provider.requests), `provider names what is not in ${path}`);
  const modes = manifest.recordings.map(({ mode }) => mode);
  demand(answers.every(({ mode }) => modes.includes(mode)), "provider.answers of another mode");
  const whole = answers.every(({ by, exchange }) => (by === "refused") === (exchange === undefined));
  demand(whole, "provider.answers: an exchange without an answer, or the reverse");
}

const KEY_HEAD = Uint8Array.of(0, 0, 0, 11, ...[..."ssh-ed25519"].map((letter) => letter.charCodeAt(0)), 0, 0, 0, 32);

/** An attestation whose signature is good, under its own name, and of a known role. */
async function readAttestation(name, raw, manifest) {
  const path = `attestations/${name}`;
  const envelope = parseCanonical(raw, LIMITS.attestation, path);
  checkShape(envelope, "envelope", path);
  const [{ keyid, sig }] = envelope.signatures;
  const payload = strictBase64(envelope.payload);
  const signature = strictBase64(sig);
  if (payload === null || signature === null) throw new Refusal("not_canonical", "base64", path);
  const blob = strictBase64(keyid.slice("ssh-ed25519 ".length));
  if (blob === null || blob.length !== 51 || !sameBytes(blob.subarray(0, 19), KEY_HEAD)) {
    throw new Refusal("malformed", "keyid is no ssh-ed25519 key in its one line", path);
  }
  const key = blob.subarray(19);
  const fingerprint = `SHA256:${base64(await digestOf(blob)).replace(/=+$/, "")}`;
  if (!(await isSignedBy(key, signature, envelope.payloadType, payload))) {
    throw new Refusal("bad_signature", `the signature is not by ${fingerprint}`, path);
  }
  const statement = parseCanonical(payload, LIMITS.attestation, path);
  checkShape(statement, "statement", path);
  const role = Object.hasOwn(ROLES, statement.predicateType) ? ROLES[statement.predicateType] : null;
  if (role === null) throw new Refusal("unknown_role", `predicateType ${statement.predicateType}`, path);
  const own = `${role}-${(await sha256(key)).slice(0, 16)}.json`;
  if (name !== own) throw new Refusal("other_name", `it belongs under ${own}`, path);
  if (role === "replayed") checkReplay(statement.predicate, path);
  const { signer } = role === "recorded" && isObject(statement.predicate) ? statement.predicate : {};
  const says = typeof signer === "string" && ACCOUNT.test(signer) && signer.length <= 46 ? signer : null;
  return { path, role, fingerprint, says, statement, payload };
}

async function digestOf(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Whether this key made the signature over the DSSE pre-authentication encoding of the payload. */
async function isSignedBy(key, signature, type, payload) {
  const y = key.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n) & (2n ** 255n - 1n);
  if (y >= FIELD_PRIME || SMALL_ORDER.includes(y)) return false;
  const head = new TextEncoder().encode(`DSSEv1 ${type.length} ${type} ${payload.length} `);
  const message = new Uint8Array(head.length + payload.length);
  message.set(head);
  message.set(payload, head.length);
  let imported;
  try {
    imported = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
  } catch (error) {
    if (error.name === "NotSupportedError") throw new CannotVerify(NO_ED25519);
    if (error.name === "DataError") return false;
    throw error;
  }
  return crypto.subtle.verify("Ed25519", imported, signature, message);
}

const REPLAY_FIELDS = [
  "bundle_id", "evidence_id", "isolation", "lock", "not_captured", "platform", "properties", "python",
  "recorder", "timeCreated", "verifier",
];

/** What a replayer states about a machine of their own, in either version. */
function checkReplay(predicate, path) {
  const refuse = (what) => new Refusal("malformed", `predicate.${what}`, path);
  if (!isObject(predicate)) throw refuse("is no object");
  const first = isObject(predicate.verifier) && predicate.verifier.id === EVIDENCE_VERIFIER;
  const fields = REPLAY_FIELDS.filter((name) => !(first && name === "not_captured"));
  if (canonical(Object.keys(predicate)) !== canonical(fields)) throw refuse("has other fields");
  const { verifier, properties, not_captured: gaps, timeCreated: time } = predicate;
  const id = first ? EVIDENCE_VERIFIER : VERIFIER;
  if (canonical(verifier) !== canonical({ id })) throw refuse("verifier");
  const known = first ? AGREED.slice(0, 1) : AGREED;
  if (!Array.isArray(properties) || !properties.every((each) => known.includes(each))) throw refuse("properties");
  if (!first && !["[]", canonical(["bodies"])].includes(canonical(gaps))) throw refuse("not_captured");
  if (typeof time !== "string" || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(time)) throw refuse("timeCreated");
  for (const name of ["bundle_id", "evidence_id", "lock"]) {
    if (typeof predicate[name] !== "string" || !HASH.test(predicate[name])) throw refuse(name);
  }
  checkShape(predicate.python, "manifest", path, "Python");
  checkShape(predicate.platform, "manifest", path, "Platform");
  checkShape(predicate.isolation, "manifest", path, "Isolation");
  checkShape(predicate.recorder, "manifest", path, "Recorder");
}

// signature

/** Builds the statement again from the manifest and compares bytes. */
function checkStatement({ path, role, says, statement, payload }, manifest, id) {
  const subject = (name, sha256) => ({ name, digest: { sha256 } });
  const predicates = { recorded: recordedPredicate, endorsed: endorsedPredicate, replayed: replayedPredicate };
  const expected = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [subject("manifest.json", id), subject(manifest.target.wheel, manifest.target.sha256)],
    predicateType: Object.keys(ROLES).find((type) => ROLES[type] === role),
    predicate: predicates[role](),
  };
  const bytes = new TextEncoder().encode(`${canonical(expected)}\n`);
  if (!sameBytes(bytes, payload)) throw new Refusal("other_statement", "signed about something else", path);

  function recordedPredicate() {
    const files = new Map(manifest.members.map((member) => [member.path, member.sha256]));
    const paths = [...manifest.reproduction.files, "pylock.toml"];
    const ids = (status) => manifest.judgement.claims.filter((claim) => claim.status === status).map((claim) => claim.id);
    return {
      result: RESULTS[manifest.judgement.verdict],
      configuration: [
        ...paths.map((name) => subject(name, files.get(name))),
        subject("recorder", manifest.recorder.sha256),
      ],
      passedTests: ids("holds"),
      warnedTests: ids("not_observed"),
      failedTests: ids("violated"),
      evidence_id: manifest.evidence_id,
      ...(says === null ? {} : { signer: says }),
    };
  }

  function endorsedPredicate() {
    return { bundle_id: id, evidence_id: manifest.evidence_id };
  }

  function replayedPredicate() {
    const properties = "not_captured" in statement.predicate ? AGREED : AGREED.slice(0, 1);
    return { ...statement.predicate, ...endorsedPredicate(), properties };
  }
}
