// The page that reads a config.json: what posenc.read_config does, in the page, and a drawing.
// A test holds `readConfig` to Python: same layers, same frequencies, same warnings.
const ROTARY = "queries and keys, rotary";
const ORIGINAL = "original_max_position_embeddings";
const PARTS = ["text_config", "language_config", "llm_config", "thinker_config", "decoder"];
const LENGTHS = ["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"];
const BASES = ["rope_theta", "rotary_emb_base", "rotary_embedding_base", "global_rope_theta"];
const LOCAL = ["rope_local_base_freq", "local_rope_theta", "swa_rope_theta"];
const WIDTHS = ["head_dim", "attention_head_dim", "kv_channels", "d_kv"];
const DEPTHS = ["num_hidden_layers", "n_layer", "n_layers", "num_layers"];
const SCALED = {
  default: [], axial: [], linear: ["factor"], dynamic: ["factor"], proportional: ["factor"],
  llama3: ["factor", ORIGINAL, "low_freq_factor", "high_freq_factor"],
  longrope: ["factor", ORIGINAL, "short_factor", "long_factor", "attention_factor"],
  yarn: ["factor", ORIGINAL, "beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim", "truncate"],
};
const OTHER = ["rope_theta", "rope_type", "type", "partial_rotary_factor", "max_position_embeddings", "mrope_section", "mrope_interleaved", "llama_4_scaling_beta"];
const OLD = { su: "longrope", mrope: "default" };
const isMap = (x) => x !== null && typeof x === "object" && !Array.isArray(x);
const some = (x) => x !== null && x !== undefined;
const short = (x) => String(Number(Number(x).toPrecision(6)));
const ask = (fine, name, rule) => { if (!fine) throw new Error(`${name} must be ${rule}`); };

/** The frequencies of a rotation of `width` dimensions, and the factor on cosine and sine. */
function frequencies(width, base, scale, limit, length, label) {
  const number = (name, otherwise) => {
    const value = scale[name] ?? otherwise;
    ask(typeof value === "number" && value > 0, `${label}['${name}']`, "a positive number");
    return value;
  };
  const pairs = Array.from({ length: width / 2 }, (_, i) => i);
  const plain = (n) => pairs.map((i) => n ** ((-2 * i) / width));
  const omega = plain(base), kind = scale.rope_type, trained = scale[ORIGINAL] ?? limit;
  const factor = ["default", "axial"].includes(kind) ? 1 : number("factor", kind === "proportional" ? 1 : limit / trained);
  if (kind === "linear") return [omega.map((w) => w / factor), 1];
  if (kind === "proportional") {
    const turning = Math.trunc((scale.partial_rotary_factor * width) / 2);
    return [omega.map((w, i) => (i < turning ? w / factor : 0)), 1];
  }
  if (kind === "dynamic") {
    const raised = ((factor * Math.max(length ?? limit, limit)) / limit - (factor - 1)) ** (width / (width - 2));
    return [plain(base * raised), 1];
  }
  if (kind === "llama3") {
    const [low, high] = [number("low_freq_factor"), number("high_freq_factor")];
    return [omega.map((w) => {
      const turns = (trained * w) / (2 * Math.PI);
      const kept = high === low ? Number(turns >= high) : Math.min(Math.max((turns - low) / (high - low), 0), 1);
      return ((1 - kept) * w) / factor + kept * w;
    }), 1];
  }
  const own = some(scale.attention_factor) ? number("attention_factor") : undefined;
  if (kind === "longrope") {
    const list = scale[(length ?? 0) > trained ? "long_factor" : "short_factor"];
    ask(Array.isArray(list) && list.length === width / 2, `${label}['long_factor' and 'short_factor']`, `a list with a number for each of the ${width / 2} pairs`);
    const grown = factor > 1 ? Math.sqrt(1 + Math.log(factor) / Math.log(trained)) : 1;
    return [omega.map((w, i) => w / list[i]), own ?? grown];
  }
  if (kind !== "yarn") return [omega, 1];
  const pairWith = (turns) => (width * Math.log(trained / (turns * 2 * Math.PI))) / (2 * Math.log(base));
  let [low, high] = [pairWith(number("beta_fast", 32)), pairWith(number("beta_slow", 1))];
  if (scale.truncate ?? true) [low, high] = [Math.floor(low), Math.ceil(high)];
  [low, high] = [Math.max(low, 0), Math.min(high, width - 1)];
  if (low === high) high += 0.001;
  const heat = (weight) => (factor > 1 ? 0.1 * weight * Math.log(factor) + 1 : 1);
  const both = some(scale.mscale) && some(scale.mscale_all_dim);
  const stretched = omega.map((w, i) => {
    const share = Math.min(Math.max((i - low) / (high - low), 0), 1);
    return (w / factor) * share + w * (1 - share);
  });
  return [stretched, own ?? (both ? heat(scale.mscale) / heat(scale.mscale_all_dim) : heat(1))];
}

/** What a configuration says of positions: lengths, kinds of layers, warnings. */
function readConfig(config) {
  ask(isMap(config), "config", "an object");
  const warnings = [], warn = (words) => warnings.includes(words) || warnings.push(words);
  let text = config, path = "";
  const rotary = config.rope_parameters && Object.keys(config.rope_parameters).length;
  const part = PARTS.find((name) => isMap(config[name]));
  if (part && !rotary && !some(config.rope_theta)) {
    [text, path] = [config[part], `${part}.`];
    if (isMap(text.text_config)) [text, path] = [text.text_config, `${part}.text_config.`];
  }
  const first = (names) => names.map((name) => text[name]).find(some) ?? null;
  const count = (...names) => {
    const name = names.find((each) => some(text[each]));
    if (name === undefined) return null;
    ask(Number.isInteger(text[name]) && text[name] >= 1, path + name, "a whole number of at least 1");
    return text[name];
  };
  const words = (name) => {
    ask(!some(text[name]) || Array.isArray(text[name]), path + name, "a list");
    return text[name] ?? [];
  };
  const mappings = ["rope_scaling", "rope_parameters"].filter((name) => some(text[name]) && text[name] !== false && (!isMap(text[name]) || Object.keys(text[name]).length));
  for (const name of mappings) ask(isMap(text[name]), path + name, "a mapping");
  if (mappings.length > 1 && JSON.stringify(text.rope_scaling) !== JSON.stringify(text.rope_parameters))
    warn("rope_scaling and rope_parameters differ: transformers takes rope_scaling");
  const label = mappings[0] ?? "rope_parameters", rope = text[label] ?? {};
  const nested = Object.fromEntries(Object.entries(rope).filter(([, each]) => isMap(each)));
  const isNested = Object.keys(nested).length > 0, limit = count(...LENGTHS), local = first(LOCAL);

  function widths(name) {
    const own = count("qk_rope_head_dim"), beside = text.qk_nope_head_dim ? count("qk_nope_head_dim") : null;
    if (own && beside) return [own + beside, own];
    const prefix = { sliding_attention: "swa_", full_attention: "global_" }[name];
    let width = prefix ? count(`${prefix}head_dim`) : null;
    const at = words("layer_types").indexOf(name);
    if (at >= 0) width ??= text.per_layer_config?.[String(at).padStart(2, "0")]?.head_dim;
    const [hidden, heads] = [count("hidden_size", "n_embd", "d_model"), count("num_attention_heads", "n_head", "n_heads", "num_heads")];
    return [width ?? count(...WIDTHS) ?? (hidden && heads ? Math.floor(hidden / heads) : null), own];
  }

  function scaling(name, kind, fields) {
    const kept = { rope_type: kind };
    for (const field of SCALED[kind]) if (some(fields[field])) kept[field] = fields[field];
    for (const field of Object.keys(fields).sort())
      if (some(fields[field]) && ![...SCALED[kind], ...OTHER].includes(field)) warn(`${name}.${field} isn't read by type '${kind}'`);
    for (const field of ["factor", "rope_type", "beta_fast", "low_freq_factor", "long_factor"])
      if (some(text[field])) warn(`${field} is outside ${name}, where nothing reads it`);
    if (["yarn", "llama3", "longrope"].includes(kind)) {
      if (some(text[ORIGINAL])) {
        kept[ORIGINAL] = text[ORIGINAL];
        if (kind !== "longrope") warn(`${ORIGINAL} is outside ${name}, where not every program looks`);
      } else if (!some(kept[ORIGINAL]) && limit) {
        warn(`${name} has no ${ORIGINAL}: transformers takes max_position_embeddings, ${limit}, which is right only if that is the trained length`);
        kept[ORIGINAL] = limit;
      }
    }
    const { [ORIGINAL]: trained, factor } = kept;
    if (some(factor)) ask(typeof factor === "number" && Number.isFinite(factor), `${path}${name}['factor']`, "a real number");
    if (trained && limit && trained > limit) warn(`${ORIGINAL}, ${trained}, exceeds max_position_embeddings, ${limit}`);
    else if (trained && limit && factor && ["yarn", "longrope"].includes(kind) && trained * factor !== limit)
      warn(`the factor is ${short(factor)}, but ${limit} / ${trained} is ${short(limit / trained)}: the factor is what counts`);
    const needed = { linear: ["factor"], dynamic: ["factor"], llama3: SCALED.llama3, longrope: [ORIGINAL, "short_factor", "long_factor"] };
    for (const field of needed[kind] ?? []) if (!some(kept[field])) throw new Error(`${path}${name} needs the field '${field}' for type '${kind}'`);
    if (kind === "llama3" && kept.low_freq_factor === kept.high_freq_factor) warn("low_freq_factor equals high_freq_factor: nothing is blended, a pair jumps");
    if (some(kept.attention_factor) && (some(kept.mscale) || some(kept.mscale_all_dim))) warn("attention_factor is given, so mscale and mscale_all_dim change no cosine");
    return kept;
  }

  function turned(name, fields, kind, width, own) {
    if (own) return [own, 1, `${own} of ${width} dimensions, a part of their own`];
    const dims = count("rotary_dim");
    const share = fields.partial_rotary_factor ?? first(["partial_rotary_factor", "rotary_pct"]) ?? (dims ? dims / width : 1);
    ask(typeof share === "number" && share > 0 && share <= 1, `${path}partial_rotary_factor`, "above 0 and at most 1");
    if (kind === "proportional") return [width, share, `${Math.floor((share * width) / 2)} of ${width / 2} pairs, at frequencies of the whole head`];
    const rotated = Math.trunc(width * share);
    if (rotated % 2) warn(`${rotated} dimensions turn, an odd number: the code says which`);
    if (dims && dims !== rotated) warn(`rotary_dim says ${dims} dimensions, partial_rotary_factor ${rotated}`);
    return [rotated, share, rotated < width ? `the first ${rotated} of ${width}` : "the whole head"];
  }

  function rotating(title, name, fields, outside) {
    const named = fields.rope_type ?? fields.type;
    if (fields.rope_type && some(fields.type) && fields.type !== fields.rope_type) warn(`${title} has rope_type '${fields.rope_type}' and type '${fields.type}': new programs read the first, old ones the second`);
    else if (!("rope_type" in fields) && "type" in fields) warn(`${title}.type is the old spelling of rope_type: some programs read only one`);
    if (OLD[named]) warn(`${title} has the old type '${named}', now '${OLD[named]}'`);
    const kind = OLD[named] ?? (named || "default");
    ask(SCALED[kind], `${title}.rope_type`, `one of ${Object.keys(SCALED).join(", ")}, got '${named}'`);
    const scale = scaling(title, kind, fields), inside = fields.rope_theta ?? null;
    if (some(inside) && some(outside) && inside !== outside) warn(`rope_theta is ${short(outside)} outside ${title}, ${short(inside)} inside: inside counts`);
    const found = { where: ROTARY, scaling: kind, base: inside ?? outside };
    if (!some(found.base)) warn(`no base for ${name}: programs fill in a default of their own`);
    else ask(found.base > 0, "base", "positive");
    const [width, own] = widths(name);
    if (!some(width)) return found;
    const [rotated, share, layout] = turned(name, fields, kind, width, own);
    Object.assign(found, { head_dim: width, layout, rotated });
    if (kind === "proportional") [found.rotated, scale.partial_rotary_factor] = [2 * Math.floor((share * width) / 2), share];
    if (some(fields.mrope_section)) {
      const sum = (found.sections = fields.mrope_section).reduce((a, b) => a + b, 0);
      if (sum !== Math.floor(rotated / 2)) warn(`mrope_section sums to ${sum}, but ${Math.floor(rotated / 2)} pairs turn`);
    }
    if (kind === "axial") warn(`${name} turn along the axes of an image: the code says how`);
    if (!some(found.base) || rotated % 2 || kind === "axial") return found;
    const compute = (length) => frequencies(rotated, found.base, scale, limit, length, path + title);
    [found.frequencies, found.attention_factor] = compute();
    if (kind === "longrope") [found.frequencies_beyond] = compute(scale[ORIGINAL] + 1);
    if (kind === "dynamic" && limit) [found.frequencies_beyond] = compute(Math.trunc(limit * scale.factor));
    if (kind === "yarn" && scale.mscale_all_dim && (scale.factor ?? 1) > 1) {
      found.score_factor = (0.1 * scale.mscale_all_dim * Math.log(scale.factor) + 1) ** 2;
      warn(`mscale_all_dim asks for a score times ${Number(found.score_factor.toPrecision(4))}: some models' code does that, some doesn't`);
    }
    return found;
  }

  function kinds() {
    let types = words("layer_types");
    if (!types.length) types = words("hybrid_layer_pattern").map((each) => (each ? "sliding_attention" : "full_attention"));
    const depth = count(...DEPTHS), step = count("sliding_window_pattern", "_sliding_window_pattern") ?? count("global_attn_every_n_layers");
    if (!types.length && step && depth) types = Array.from({ length: depth }, (_, i) => ((i + 1) % step ? "sliding_attention" : "full_attention"));
    if (types.length) return [...new Set(types)].sort().map((name) => [name, types.filter((each) => each === name).length]);
    if (isNested) return Object.keys(nested).sort().map((name) => [name, null]);
    if (some(local) || step) return [["full_attention", null], ["sliding_attention", null]];
    return [["all layers", depth]];
  }

  function layersThatTurn() {
    const pairing = some(text.rope_interleave) ? (text.rope_interleave ? "neighbors" : "halves") : null;
    if (text.compress_rope_theta) warn("compress_rope_theta is a second base: the code says which layers have which");
    if (path && config.rope_scaling) warn(`rope_scaling beside ${path.slice(0, -1)} is not read: it belongs inside`);
    const base = first(BASES), names = kinds(), slides = (name) => name.includes("sliding");
    let found = [];
    for (const [name, number] of names) {
      let own = nested[name] ?? (isNested ? {} : rope), base_ = base;
      const layers = { name, count: number, pairing };
      if (/linear|conv|mamba/.test(name)) { found.push(layers); continue; }
      if (slides(name)) {
        layers.window = count("sliding_window", "local_attention");
        const scaled = (own.rope_type ?? own.type ?? "default") !== "default";
        if (scaled && !isNested && !some(local)) {
          warn(`${label} is one for two kinds of layer: the code says if windows scale`);
          found.push({ ...layers, where: ROTARY });
          continue;
        }
        if (some(local) && !isNested) {
          if (scaled) warn(`${label} is for layers that see everything, not for windows`);
          own = some(own.partial_rotary_factor) ? { partial_rotary_factor: own.partial_rotary_factor } : {};
          base_ = local;
        }
      } else if (!names.some(([each]) => slides(each)) && text.use_sliding_window !== false) layers.window = count("sliding_window");
      found.push({ ...layers, ...rotating(name in nested ? `${label}.${name}` : label, name, own, base_) });
    }
    for (const name of Object.keys(nested).sort())
      if (!names.some(([each]) => each === name)) found.push({ name, pairing, ...rotating(`${label}.${name}`, name, nested[name], base) });
    if (isNested) found = found.filter((each) => each.name in nested || !each.where);
    const [turns, every, depth] = [words("no_rope_layers"), count("no_rope_layer_interval"), count("num_hidden_layers")];
    const still = turns.length ? turns.filter((each) => each === 0).length : every && depth ? Math.floor(depth / every) : 0;
    if (text.attn_temperature_tuning) warn("attn_temperature_tuning scales queries by their position where nothing turns");
    return still ? [...found, { name: "layers that don't turn", where: "nowhere", count: still }] : found;
  }

  function otherLayers() {
    const places = [];
    if (text.alibi || text.attn_config?.alibi) {
      places.push("scores, a bias");
      if (text.learned_pos_emb) warn("alibi and learned_pos_emb are both set: the code says which one counts");
    } else if (text.relative_attention || text.relative_attention_num_buckets) {
      places.push("scores, a bias");
      if (text.position_biased_input) places.push("input, a table");
    } else if (text.position_embedding_type === "absolute") places.push("input, a table");
    return [{ name: "all layers", where: places.join("; ") || null, count: count(...DEPTHS) }];
  }

  const signs = [...BASES, ...LOCAL, "rope_parameters", "rope_scaling", "rotary_pct", "rotary_dim", "qk_rope_head_dim"];
  const layers = signs.some((name) => some(text[name])) && !text.alibi ? layersThatTurn() : otherLayers();
  const inner = [rope, ...Object.values(nested)], types = inner.map((each) => each.rope_type ?? each.type);
  const stated = [text, ...inner].map((each) => each[ORIGINAL]).find(some) ?? null;
  const trained = stated ?? (types.includes("linear") && !types.includes("dynamic") ? null : limit);
  const intended = !stated && types.includes("dynamic") && limit ? Math.trunc(limit * (rope.factor ?? 1)) : limit;
  return { model_type: config.model_type ?? null, trained_length: trained, intended_length: intended, layers, warnings };
}
