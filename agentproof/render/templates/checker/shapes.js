// The shapes of `schemas/`: what of JSON Schema they use, and defaults, which are never written out.

const VALUE_MARKS = {
  $float: (held) => typeof held === "string" && /^(?:-?(?:inf|\d+(?:\.\d+)?(?:e[+-]?\d+)?)|nan)$/.test(held),
  $int: (held) => typeof held === "string" && held.length <= LIMITS.digits && /^-?[1-9]\d{15,}$/.test(held),
  $bytes: (held) => typeof held === "string" && /^(?:[0-9a-f]{2})*$/.test(held),
  $str: (held) =>
    Array.isArray(held) &&
    held.every((point) => Number.isInteger(point) && point >= 0 && point <= 0x10ffff) &&
    held.some((point) => point >= 0xd800 && point <= 0xdfff),
  $opaque: (held) => typeof held === "string" && /^[^\s:]+:\S+$/.test(held),
};

/** What is wrong with a value of the observed program; null where nothing is. */
function problemOfValue(value) {
  if (value === null || typeof value === "boolean" || typeof value === "string") return null;
  if (typeof value === "number") return null;
  if (typeof value === "bigint") return "an integer this large is written as $int";
  if (value instanceof Float) return "a float is not a value";
  if (Array.isArray(value)) return firstOf(value, problemOfValue);
  const keys = Object.keys(value);
  const marks = keys.filter((key) => /^\$(?!\$)/.test(key));
  if (!marks.length) return firstOf(Object.values(value), problemOfValue);
  const [mark] = marks;
  if (marks.length === 1 && mark === "$object" && keys.length === 2 && "fields" in value) {
    const { $object: name, fields } = value;
    const whole =
      typeof name === "string" &&
      /^[^\s:]+:\S+$/.test(name) &&
      isObject(fields) &&
      !Object.keys(fields).some((key) => /^\$(?!\$)/.test(key));
    return whole ? firstOf(Object.values(fields), problemOfValue) : "not a well-formed $object";
  }
  if (keys.length === 1 && Object.hasOwn(VALUE_MARKS, mark) && VALUE_MARKS[mark](value[mark])) return null;
  return `not a well-formed ${mark}`;
}

function firstOf(items, problem) {
  for (const each of items) {
    const found = problem(each);
    if (found !== null) return found;
  }
  return null;
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Float);
}

function isDefault(value, meant) {
  if (meant === null || typeof meant !== "object") return value === meant;
  return isObject(value) === isObject(meant) && canonical(value) === canonical(meant);
}

const TYPES = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  integer: (value) => typeof value === "number" || typeof value === "bigint",
  number: (value) => typeof value === "number" || typeof value === "bigint" || value instanceof Float,
  array: Array.isArray,
  object: isObject,
};

const PATTERNS = new Map();

function matches(pattern, text) {
  if (!PATTERNS.has(pattern)) PATTERNS.set(pattern, new RegExp(pattern, "u"));
  return PATTERNS.get(pattern).test(text);
}

/** Holds a document to a schema of `SCHEMAS`, or to one of its definitions. Throws a Refusal. */
function checkShape(document, name, path, definition = null) {
  const root = SCHEMAS[name];
  const defaults = [];
  const keywords = {
    $schema: null,
    $id: null,
    $defs: null,
    title: null,
    description: null,
    default: null,
    required: null,
    discriminator: null,
    $ref: ({ said, value, where, wrong }) => {
      if (said === "value.schema.json") {
        const problem = problemOfValue(value);
        if (problem !== null) throw wrong(problem);
      } else {
        holdTo(root.$defs[said.replace("#/$defs/", "")], value, where);
      }
    },
    type: ({ said, value, wrong }) => {
      if (![said].flat().some((type) => TYPES[type](value))) throw wrong(`it should be of type ${said}`);
    },
    const: ({ said, value, wrong }) => {
      if (value !== said) throw wrong(`it should be ${JSON.stringify(said)}`);
    },
    enum: ({ said, value, wrong }) => {
      if (!said.includes(value)) throw wrong(`it should be one of ${said.join(", ")}`);
    },
    pattern: ({ said, value, wrong }) => {
      if (typeof value === "string" && !matches(said, value)) throw wrong(`it should match ${said}`);
    },
    maxLength: ({ said, value, wrong }) => {
      if (typeof value === "string" && value.length > said && [...value].length > said) {
        throw wrong(`it is longer than ${said}`);
      }
    },
    minimum: ({ said, value, wrong }) => {
      if (TYPES.integer(value) && value < said) throw wrong(`it should be at least ${said}`);
    },
    maximum: ({ said, value, wrong }) => {
      if (TYPES.integer(value) && value > said) throw wrong(`it should be at most ${said}`);
    },
    minItems: ({ said, value, wrong }) => {
      if (Array.isArray(value) && value.length < said) throw wrong(`it has fewer items than ${said}`);
    },
    maxItems: ({ said, value, wrong }) => {
      if (Array.isArray(value) && value.length > said) throw wrong(`it has more items than ${said}`);
    },
    items: ({ said, value, schema, where }) => {
      if (!Array.isArray(value)) return;
      const from = schema.prefixItems?.length ?? 0;
      for (const [at, each] of value.entries()) if (at >= from) holdTo(said, each, `${where}.${at}`);
    },
    prefixItems: ({ said, value, where }) => {
      if (!Array.isArray(value)) return;
      for (const [at, each] of said.entries()) if (at < value.length) holdTo(each, value[at], `${where}.${at}`);
    },
    propertyNames: ({ said, value, where }) => {
      if (isObject(value)) for (const key of Object.keys(value)) holdTo(said, key, `${where}.${key}`);
    },
    additionalProperties: ({ said, value, schema, where, wrong }) => {
      if (!isObject(value)) return;
      for (const [key, each] of Object.entries(value)) {
        if (Object.hasOwn(schema.properties ?? {}, key)) continue;
        if (said === false) throw wrong(`${key} is no field of it`);
        if (said !== true) holdTo(said, each, `${where}.${key}`);
      }
    },
    properties: ({ said, value, schema, where, wrong }) => {
      if (!isObject(value)) return;
      for (const key of schema.required ?? []) if (!(key in value)) throw wrong(`${key} is missing`);
      for (const [key, below] of Object.entries(said)) {
        if (!(key in value)) continue;
        const place = where ? `${where}.${key}` : key;
        const optional = !schema.required?.includes(key);
        if (optional && isDefault(value[key], below.default ?? null)) defaults.push(place);
        holdTo(below, value[key], place);
      }
    },
    anyOf: ({ said, value, where, wrong }) => {
      const fits = said.some((each) => {
        try {
          holdTo(each, value, where);
          return true;
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          return false;
        }
      });
      if (!fits) throw wrong("it is of none of its shapes");
    },
    oneOf: ({ schema, value, where, wrong }) => {
      const { propertyName, mapping } = schema.discriminator;
      const kind = isObject(value) ? value[propertyName] : undefined;
      if (typeof kind !== "string" || !Object.hasOwn(mapping, kind)) throw wrong(`no known ${propertyName}`);
      holdTo(root.$defs[mapping[kind].replace("#/$defs/", "")], value, where);
    },
  };
  holdTo(definition === null ? root : root.$defs[definition]);
  // Told apart from what is of no shape at all, and later, as other readers do.
  if (defaults.length) {
    throw new Refusal("not_canonical", `${defaults[0]} is written out although it is its default`, path);
  }

  function holdTo(schema, value = document, where = "") {
    const wrong = (what) => new Refusal("malformed", `${where || "document"}: ${what}`, path);
    for (const [keyword, said] of Object.entries(schema)) {
      if (!Object.hasOwn(keywords, keyword)) throw new Error(`no schema of ours has ${keyword}`);
      keywords[keyword]?.({ said, value, schema, where, wrong });
    }
  }
}
