// What is shown. Every text goes through `element`, which sets `textContent`; nothing is ever read as markup.

const SHOWN = { text: 20000, line: 300, steps: 1500, findings: 12, claims: 60 };
const MODE_WORDS = { "as-written": "as written", streamed: "streamed", both: "both modes" };
const MARKS = { passed: "✓", failed: "✗", not_made: "–" };

/** Text with all that is not printable escaped, and the rest of a long one left out. */
function visible(text, limit = SHOWN.text) {
  const letters = String(text);
  const cut = letters.length > limit ? `${letters.slice(0, limit)}… (${letters.length - limit} more characters)` : letters;
  return cut.replace(/\t/g, "    ").replace(/[\p{C}\u2028\u2029]/gu, (letter) =>
    letter === "\n" ? letter : `\\u${letter.codePointAt(0).toString(16).padStart(4, "0")}`,
  );
}

function line(text, limit = SHOWN.line) {
  return visible(text, limit).replace(/\n/g, "\\n");
}

/** An element with a text, or with others in it; attributes are never handlers. */
function element(tag, attributes, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) made.setAttribute(name, value);
  for (const each of inside.flat()) {
    if (each === null) continue;
    if (typeof each === "string") {
      const text = document.createElement("span");
      text.textContent = each;
      made.append(...text.childNodes);
    } else made.append(each);
  }
  return made;
}

function code(text, attributes = {}) {
  return element("pre", { class: "code", tabindex: "0", ...attributes }, element("code", {}, visible(text)));
}

function folded(summary, ...inside) {
  return element("details", {}, element("summary", {}, summary), ...inside);
}

/** A value as JSON over one line. */
function valueText(value) {
  return value === undefined ? "nothing" : line(canonical(value).replace(/\n */g, " "));
}

/** The report on one bundle as a section of the page. */
function renderReport(report, name) {
  const word = wordOf(report);
  const failed = report.checks.find(({ status }) => status === "failed");
  const { manifest } = report;
  const title = manifest?.reproduction.title ?? manifest?.reproduction.entry ?? name;
  const headline = failed
    ? `INVALID: ${failed.name}: ${failed.text}`
    : `${word}; environment, source and claims are made by the command alone`;
  return element(
    "article",
    { class: "section", tabindex: "-1", "data-word": word },
    element("h2", { class: "h2" }, line(failed ? name : title, 160)),
    element(
      "div",
      { class: `verdict ${failed ? "violated" : "inconclusive"}` },
      element("p", { class: "headline" }, line(headline, 600)),
      element("p", {}, meaningOf(failed, word)),
    ),
    element("p", { class: "muted" }, line(name), report.id ? ", bundle " : "", report.id ? element("span", { class: "mono" }, `sha256:${report.id}`) : null),
    element("h3", { class: "h3" }, "Checks"),
    element("ul", { class: "checks" }, report.checks.map(renderCheck)),
    element("p", {}, "The rest is made by the command, offline too:"),
    code("agentproof check-current-bundle FILE\nagentproof replay FILE"),
    ...(failed || manifest === null ? [] : [...renderSigners(report), ...renderStory(report)]),
  );
}

function meaningOf(failed, word) {
  if (failed) return "Nothing in this bundle is shown, since nothing in it can be believed.";
  if (!word.startsWith("3")) return "It was not seen that anybody signed this. Take it as a text that somebody wrote.";
  return (
    "These are the bytes that the keys below signed. It is not CURRENT, nor INTACT: what it says of the SDK was not " +
    "recomputed here, and whose keys they are is for you to know."
  );
}

function renderCheck({ name, status, reason, text }) {
  const made = status === "not_made" ? "not made here: " : "";
  const said = { passed: "passed:", failed: "failed:", not_made: "" }[status];
  return element(
    "li",
    { class: status, "data-check": name, "data-status": status, "data-reason": reason ?? "" },
    element("span", { class: "mark", "aria-hidden": "true" }, MARKS[status]),
    element("strong", {}, name),
    element("span", { class: "hidden" }, ` ${said}`),
    ` ${made}${line(text, 600)}`,
  );
}

function renderSigners({ signers }) {
  const items = signers.map(({ role, fingerprint, says }) =>
    element(
      "li",
      {},
      element("strong", {}, role),
      " by a key that this page does not know: ",
      element("span", { class: "mono" }, fingerprint),
      says === null ? "" : `; it says it is ${line(says)}`,
    ),
  );
  const none = element("li", {}, "nobody that was verified");
  return [element("h3", { class: "h3" }, "Signed"), element("ul", { class: "signers" }, items.length ? items : none)];
}

function renderStory(report) {
  const { manifest, bundle, traces } = report;
  const { target, reproduction, environment, judgement } = manifest;
  const reasons = judgement.reasons?.length ? ` (${judgement.reasons.join(", ")})` : "";
  const about = `${target.name} ${target.version}, CPython ${environment.python.version}, ${environment.platform.system}`;
  return [
    element("h3", { class: "h3" }, "What the bundle says"),
    element(
      "p",
      {},
      element("span", { class: `word ${judgement.verdict}` }, judgement.verdict),
      ` ${line(about)}${line(reasons)}; not recomputed here`,
    ),
    ...renderExpected(reproduction.expectations),
    ...renderClaims(judgement.claims),
    element("h3", { class: "h3" }, "Script"),
    ...reproduction.files.map((path) => {
      const shown = folded(line(path), code(new TextDecoder().decode(bundle.members.get(path))));
      shown.open = path === reproduction.entry;
      return shown;
    }),
    ...[...traces.values()].flatMap(renderTrace),
  ];
}

function renderExpected(expectations) {
  if (expectations === undefined) return [];
  const items = Object.entries(expectations).flatMap(([name, said]) => {
    const option = name.replaceAll("_", "-");
    const values = Array.isArray(said) ? said : [said];
    return values.map((each) => {
      if (each === true) return element("li", {}, option);
      const text = isObject(each) ? `${each.tool}${each.times === undefined ? "" : `=${each.times}`}` : each;
      return element("li", {}, `${option} `, element("code", {}, line(text)));
    });
  });
  return [element("h3", { class: "h3" }, "What its reporter expects"), element("ul", {}, items)];
}

function renderClaims(claims) {
  const violated = claims.filter(({ status }) => status === "violated");
  const others = { holds: "hold", not_observed: "had nothing to judge" };
  return [
    element("h3", { class: "h3" }, `Claims: ${new Set(violated.map(({ id }) => id)).size} violated`),
    ...violated.slice(0, SHOWN.claims).map(renderClaim),
    ...Object.entries(others).flatMap(([status, words]) => {
      const names = [...new Set(claims.filter((claim) => claim.status === status).map(({ id }) => id))];
      return names.length ? [folded(`${names.length} ${words}`, element("p", {}, line(names.join(", "), 4000)))] : [];
    }),
  ];
}

function renderClaim(claim) {
  const rule = RULES[`${claim.kind} ${claim.version}`];
  // What differs in its pointer alone is one finding, as in the report.
  const told = new Map();
  for (const finding of claim.because ?? []) {
    const words = wordsOf(finding);
    told.set(words, [...(told.get(words) ?? []), finding]);
  }
  const items = [...told].slice(0, SHOWN.findings);
  return element(
    "div",
    { class: "claim" },
    element("h4", { class: "h3" }, line(claim.id), " ", element("span", { class: "modes" }, MODE_WORDS[claim.mode] ?? claim.mode)),
    rule === undefined ? null : element("p", { class: "rule" }, rule),
    element(
      "ul",
      { class: "reasons" },
      items.map(([words, findings]) =>
        element("li", {}, element("p", {}, words), findings.slice(0, SHOWN.findings).map(renderChange)),
      ),
    ),
  );
}

function wordsOf(finding) {
  const named = ["subject", "tool", "call_id", "state", "run"].filter((name) => finding[name] !== undefined);
  const about = named.map((name) => `${name.replace("_", " ")} ${finding[name]}`).join(", ");
  const places = finding.events.map(({ mode, seq }) => `${MODE_WORDS[mode]} ${seq}`).join(", ");
  return `${line(finding.code.replaceAll("_", " "))}${about ? `: ${line(about)}` : ""} (steps ${line(places)})`;
}

function renderChange({ pointer, before, after }) {
  if (pointer === undefined && before === undefined && after === undefined) return null;
  return element(
    "p",
    { class: "change short" },
    element("span", { class: "pointer" }, line(pointer ?? "")),
    " ",
    element("del", {}, valueText(before)),
    element("span", { "aria-hidden": "true" }, " → "),
    element("span", { class: "hidden" }, "and became"),
    element("ins", {}, valueText(after)),
  );
}

const NAMING = ["run", "agent", "tool", "call_id", "state", "decision", "outcome", "moment", "stream", "label", "test", "name"];

function renderTrace(trace) {
  const mode = MODE_WORDS[trace.mode];
  const printed = trace.events.filter(({ kind }) => kind === "script.wrote");
  const steps = trace.events.slice(0, SHOWN.steps).map((event) => {
    const named = NAMING.filter((name) => typeof event[name] === "string").map((name) => event[name]);
    const shown = folded(`${event.seq}  ${line(event.kind)}  ${line(named.join(" "), 200)}`);
    // Made when it is opened: a long trace has megabytes of them.
    shown.addEventListener("toggle", () => shown.append(code(canonical(event))), { once: true });
    return element("li", {}, shown);
  });
  const left = trace.events.length - steps.length;
  return [
    ...printed.flatMap((event) => [
      element("h3", { class: "h3" }, `${event.stream}, ${mode}`),
      code(textOf(event.text)),
    ]),
    folded(
      `What happened ${mode}: ${trace.events.length} steps`,
      element("ol", { class: "events" }, steps),
      left > 0 ? element("p", { class: "note" }, `${left} more are in the bundle`) : null,
    ),
  ];
}

function textOf(value) {
  if (typeof value === "string") return value;
  return isObject(value) && Array.isArray(value.$str) ? value.$str.map((point) => String.fromCodePoint(point)).join("") : canonical(value);
}

// The page.

const results = document.getElementById("results");
const told = document.getElementById("status");
let round = 0;

/** Checks what was given: one zip, or each bundle in a text. */
async function check(what, make) {
  const mine = ++round;
  results.replaceChildren();
  told.textContent = `Reading ${line(what, 80)} …`;
  const shown = [];
  for (const { name, read } of await make()) {
    // Lets the line above be painted first: a bundle takes up to some seconds.
    await new Promise((resolve) => setTimeout(resolve));
    shown.push(renderReport(await checkBundle(read), name));
  }
  if (mine !== round) return;
  results.replaceChildren(...shown);
  const words = shown.map((each) => each.dataset.word).join("; ");
  told.textContent = shown.length ? `${shown.length === 1 ? "" : `${shown.length} bundles: `}${words}` : noBundle(what);
  shown[0]?.focus({ preventScroll: true });
}

function noBundle(what) {
  return `${line(what, 80)}: no bundle in this text; one begins with -----BEGIN AGENTPROOF BUNDLE-----`;
}

/** What a step throws that is no answer of a check, such as a file that cannot be read. */
function guarded(work) {
  work.catch((error) => {
    told.textContent = error instanceof Refusal ? `INVALID: ${line(error.message)}` : `This could not be done: ${line(error.message)}`;
  });
}

function blocksOf(text, name) {
  const blocks = findBlocks(text);
  return blocks.map((block) => ({
    name: blocks.length === 1 ? name : `${name}, block ${block.number}, at line ${block.line}`,
    read: () => filesInBlock(block),
  }));
}

function checkFile(file) {
  guarded(
    check(file.name, async () => {
      if (file.size > LIMITS.text) throw new Refusal("too_large", `${file.size} bytes are over the limit of ${LIMITS.text}`);
      const bytes = new Uint8Array(await file.arrayBuffer());
      const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
      const blocks = isZip ? [] : blocksOf(decodeText(bytes), file.name);
      // What is neither is told as a zip that is none.
      const isText = blocks.length || /\.(?:md|markdown|txt|eml|html)$/i.test(file.name);
      return isText && !isZip ? blocks : [{ name: file.name, read: async () => readZip(bytes) }];
    }),
  );
}

function checkText(text) {
  guarded(check("the pasted text", async () => blocksOf(text, "the pasted text")));
}

if (globalThis.crypto?.subtle === undefined) {
  told.textContent =
    "This browser gives no WebCrypto here, so nothing can be checked: open this file from your disk or over https, " +
    "or take the command.";
} else {
  const file = document.getElementById("file");
  const text = document.getElementById("text");
  file.addEventListener("change", () => file.files.length && checkFile(file.files[0]));
  document.getElementById("check").addEventListener("click", () => checkText(text.value));
  text.addEventListener("paste", () => setTimeout(() => checkText(text.value)));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const [dropped] = event.dataTransfer.files;
    if (dropped) checkFile(dropped);
    else checkText(event.dataTransfer.getData("text/plain"));
  });
}
