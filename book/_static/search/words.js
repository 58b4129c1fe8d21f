/* Words as people type them: how a text is split, what forms of a word share, and three tables of
   what the search knows of language. Sets `window.bookWords`, which spelling.js and ranking.js use. */
{
  const table = (text) => text.trim().split("\n").map((line) => line.trim().split(/\s+/));

  // ---------------------------------------------------------------- tables

  // A word, and short or irregular forms that stand for it.
  const FORMS = `
    add addition additions
    dimension dim dims
    embedding emb
    frequency freq freqs
    length len
    position pos
    sequence seq
    relative rel
    absolute abs
    choose choice choices chose chosen
    draw drawn
    build built
    write written wrote
    lose lost
    keep kept
    mean meant
    train trained training pretrain pretrained pretraining
    batch batched
    long longer longest lengthy
    0 zero zeros
    short shorter
    large larger largest bigger
    big bigger
    small smaller
    high higher
    low lower
    fast faster fastest
    slow slower
    index indices
    matrix matrices
    axis axes
    without no none`;

  // Words that mean about the same here. Who asks for one may find the others, a little later.
  const ALIKE = `
    rope rotary rotate
    rotate rotation turn spin
    sin sine sinusoid sinusoidal
    cos cosine
    base theta
    wavelength period
    angle phase radian
    radius amplitude magnitude norm
    distance offset gap lag
    near neighbor adjacent nearby
    nearest closest
    position index place location
    index number integer
    position positional pe
    absolute ape
    relative rpe
    interpolation pi
    attention attn mha sdpa
    slope penalty
    sliding swa
    gqa mqa
    invariant equivariant
    permute shuffle reorder scramble swap
    heap bag unordered
    word token
    text sequence sentence input
    prompt request prefill
    answer output result
    context ctx
    vector embedding representation
    complex polar
    binary bit digit
    fraction decimal noninteger real float
    negative minus sign
    log logarithm
    exp exponential exponent power
    compute calculate
    hand manual
    layernorm normalize
    unbounded infinite infinity bounded
    collide collision unique distinct
    same equal identical
    differ disagree mismatch discrepancy
    repeat repetition loop periodic
    decay fall fade decrease drop steadily
    survive lose vanish forget preserve
    deep upper later
    long extend stretch exceed expand enlarge
    extrapolate generalize unseen
    maximum limit max cap
    add sum plus
    concatenate concat append
    interleave alternate
    convention layout format
    shift translate move
    restart reset
    choose decide pick select recommend best
    without omit remove leave
    check verify test validate debug
    requirement criterion test
    bug mistake error wrong incorrect fault
    fail crash exception
    garbage nonsense gibberish garbled rubbish trash
    worse degrade quality hurt
    destroy distort disturb corrupt ruin dominate
    symptom problem issue trouble
    draw plot visualize figure picture chart diagram graph heatmap
    stripe comb band
    cluster umap tsne pca
    image picture vision visual pixel
    vit patch
    shape size
    resize resolution
    time timestamp timestep date temporal
    day daily week weekly season
    coordinate latitude longitude
    diffusion denoise ddpm unet dit timestep
    minute hour duration
    build implement code write create precompute
    module layer class
    layer block
    implementation library
    dtype type
    server engine
    mlp perceptron
    broadcast vectorize loop
    torch pytorch
    pytest unittest
    gpu cuda device
    memory ram vram oom
    save store
    export onnx tensorrt tflite coreml compile jit
    fp16 float16 half
    bf16 bfloat16 bfloat
    fp32 float32 single
    precision round digit numerical accuracy
    tolerance atol rtol threshold
    quantize int8 int4 awq gptq
    compress latent
    fast speed quick slow performance latency throughput efficient cost complexity
    decode generate inference
    speculative draft
    streamingllm streaming sink
    evict eviction
    needle haystack passkey retrieval
    learn train
    initialize start
    freeze frozen fixed
    loss perplexity ppl
    experiment benchmark ablation
    rnn lstm gru recurrent
    cnn convolution
    transformerxl xlnet
    gpt gpt2 gpt3 gpt4 chatgpt
    huggingface hf transformers
    today modern recent current nowadays
    config configuration setting option
    recipe guide tutorial
    prove proof theorem derive derivation
    symbol notation
    glossary definition term
    claim ledger fact
    clock hand
    explain intuition intuitive simple meaning
    paper vaswani original author
    cite citation bibtex
    license copyright
    install pip setup conda requirement
    download offline pdf
    quiz exam homework yourself
    teach lecture slides course lesson teacher student`;

  // What others call what has a name here.
  const PHRASES = [
    [/\btwo[- ]dimension(?:al|s)?\b/gi, "2D"],
    [/\b(?:past[_ -])?key[_ -]values?(?:[_ -]cache)?\b/gi, "KV cache"],
    [/\bneural tangent kernel\b/gi, "NTK"],
    [/\b(?:half|mixed)[- ]precision\b/gi, "fp16"],
    [/\binverse frequenc(?:y|ies)\b/gi, "inv_freq"],
    [/\b(?:above|after|at|beyond|over|past|than)\s+\d+k?\s+tokens?\b/gi, "beyond the trained length"],
    [/\b(\d+)k\b/gi, "$1000"],
    [/\bcontext window\b/gi, "context length"],
    [/\bin the first place\b/gi, ""],
    [/\battention is all you need\b/gi, "original paper"],
  ];

  // They hold a question together, and say nothing of what it is about.
  const FILLERS = `
    a about above actually after again al all along also am among an and any applied apply are aren arent as at
    away back be because been before behind being below beneath better between both but by can cannot cant compare
    compared could couldn couldnt did didn didnt difference do does doesn doesnt doing don done dont during each
    either else et ever every few for from further get gets getting goes going got had happen happens has hasn
    hasnt have having here i if im in inside instead into is isn isnt it its itself just kind kinda let lets like
    ll llm llms many may me might mine more most much must my myself near need needed needs nor not now of off ok
    okay often on once one only onto or other our out outside over own per please possible quite rather re really
    regarding same seem seems shall should shouldn shouldnt since so some somehow someone something still such sure
    than that thats the their them themselves then there these they thing things this those though through thus to
    together too toward towards under until up upon us use used uses using usually ve versus very via vs was wasn
    wasnt way we well were weren werent what whats whenever whether while who whole whom whose will with within won
    wont would wouldn wouldnt yet you your`;

  // They say little, also where the book has them seldom.
  const LIGHT = `
    why how which where when work works make makes making made give gives given take takes taken come comes go gone
    put show shows shown see seen tell tells say says said know knows known want wants try tries tried look looks
    looking find found mean means meaning ask asks call called read reads start starts set sets keep keeps change
    changes changed become becomes allow allows allowed cause causes good bad right wrong new old big small large
    high low great different certain first last next long short able actual real simple easy hard people person
    question questions answer answers example examples problem problems case cases point points part parts number
    numbers sort type lot bit end side time times understand explain explained explanation intuition intuitive idea
    concept basically exactly simply impossible purpose reason reasons role sense goal main data special general
    specific particular whole full page provide provides contain contains bring lead follow consider appear expect
    remain suggest require important matter matters true without model models transformer transformers`;

  // ---------------------------------------------------------------- a text's words

  const NUMBER_BREAK = /(?<=\d)[\s,](?=\d{3}(?!\d))/g; // 10 000 and 10,000 are 10000
  const TIMES = /(?<=\b\d)\s*\*\s*(?=[a-z]\b)/gi; // 2 * i is 2i
  const APOSTROPHE = /[’']/g;
  const PIECE = /[\p{L}\p{N}]+/gu;
  // Names, code and hyphenated words: max_len, i // 2, non-integer.
  const COMPOUND = /[\p{L}\p{N}]+(?:(?:_+|-|\s*\/\/\s*)[\p{L}\p{N}]+)*/gu;
  const LETTER = /^[a-z]$/i;

  /** Letters and digits that stand together, compounds among them as lists of their parts. */
  function compounds(text) {
    const joined = [NUMBER_BREAK, TIMES, APOSTROPHE].reduce((part, gap) => part.replace(gap, ""), text);
    const named = PHRASES.reduce((part, [phrase, name]) => part.replace(phrase, name), joined);
    return (named.match(COMPOUND) ?? []).map((compound) => compound.match(PIECE));
  }

  /** The words of a text. A compound is one word, and its parts are words, too. */
  function split(text) {
    const words = compounds(text).flatMap((parts) => (parts.length > 1 ? [parts.join(""), ...parts] : parts));
    return words.filter((word) => !LETTER.test(word));
  }

  const forms = new Map(table(FORMS).flatMap(([word, ...others]) => others.map((form) => [form, word])));
  const BRITISH = [[/is(e[ds]?|ing|ations?)$/, "iz$1"], [/(?<=[a-z]{3})our(?=s?$|[ei])/, "or"]];
  const ENDING = new RegExp(
    "(?:able|ally|ations?|ate[ds]?|ating|ings?|ions?|ed|ies|it(?:y|ies)|(?<=.{5})[ae]n(?:ts?|ces?)|e?s|[ey])$",
  );

  /** What a word shares with its other forms: similar and similarity differ by an ending. */
  function stem(word) {
    const lower = word.toLowerCase();
    const long = forms.get(lower) ?? lower;
    if (long.length < 4 || !/^[a-z]+$/.test(long)) return long;
    const american = BRITISH.reduce((spelled, [from, to]) => spelled.replace(from, to), long);
    return american.replace(ENDING, "").replace(/(.)\1$/, "$1"); // embedding is embed, too
  }

  // ---------------------------------------------------------------- what the tables say of a word

  const alike = new Map();
  for (const group of table(ALIKE).map((words) => words.map(stem)))
    for (const root of group) alike.set(root, (alike.get(root) ?? []).concat(group));
  const fillers = new Set(table(FILLERS).flat());
  const light = new Set(table(LIGHT).flat().map(stem));

  const meaningful = (words) => words.filter((word) => !fillers.has(word.toLowerCase()));

  window.bookWords = {
    compounds,
    split,
    stem,
    meaningful,
    known: table(ALIKE).flat(), // words that can be asked for, though the book may lack them
    meanings: (root) => alike.get(root) ?? [],
    isLight: (root) => light.has(root) || /^\d{1,4}$/.test(root), // of numbers, 10000 says much
  };
}
