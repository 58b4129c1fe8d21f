"""Wrong answers to the exercises, by chapter and check.

Each is a slip that learners make, what it changes in the book's solution (or the whole answer,
where that is text), and words of the refusal. ``instead`` stands in for lines that train models.
"""

TRAINED_11 = """
models = experiments.read("data/experiments.csv")
def compete(name, encoding):  # The solution's contender is as good as T5.
    models.extend([row | {"encoding": name} for row in models if row["encoding"] == "T5"])
"""
TRAINED_15 = """
PRINTED = {None: (1.00, 0.42), "linear": (0.95, 0.98), "dynamic": (1.00, 0.74)}
models, results = None, {"interpolation": [torch.tensor(value) for value in PRINTED["linear"]]}
def accuracy(models, seq_len, rule):
    values = PRINTED[rule.get("rope_type")]
    if rule == {"rope_type": "dynamic", "factor": 4.0}:
        values = (1.00, 0.98)
    return torch.tensor(values[seq_len == 64])
"""

WRONG = {
    "01_why_order": {
        "check_count": [
            ("the two 'the' counted as two words", {"60": "120"}, "gives no new sentence"),
            ("only the other three words ordered", {"60": "6"}, "gives no new sentence"),
            ("an answer for each sentence", {"60, 1": "60, 60"}, "adds no positions"),
        ],
        "check_blind": [
            ("no positions", {"ones": "zeros"}, "zeros are too easy"),
            ("another row each", {"ones(5, 8)": "eye(5, 8)"}, "what must two positions share"),
            ("transposed", {"5, 8": "8, 5"}, "one row of eight"),
        ],
    },
    "02_formula": {
        "check_row": [
            (
                "dimensions for pairs",
                "check_row([(math.sin, math.cos)[i % 2](1000 ** (-i / 3)) for i in range(6)])",
                "you counted dimensions",
            ),
            ("degrees for radians", {"wave(angle)": "wave(math.radians(angle))"}, "in radians"),
            ("cosine first", {"math.sin, math.cos": "math.cos, math.sin"}, "entry 0"),
            ("the usual base", {"0.1, 0.01": "0.0464, 0.00215"}, "of pair 1"),
            ("two pairs", {"1, 0.1, 0.01": "1, 0.1"}, "three pairs"),
        ],
        "check_gray": [
            ("plain binary digits", {"k ^ (k >> 1)": "k"}, "from 1 to 2, 2 digits change"),
            ("shifted by two", {"k >> 1": "k >> 2"}, "digits change"),
            ("transposed", {"        float\n    )": "        float\n    ).T"}, "take 10 digits"),
        ],
    },
    "03_numpy_loops": {
        "check_powers": [
            ("dimensions for pairs", {"25_600": "51_200"}, "how often does the inner loop run"),
            ("one row only", {"25_600": "256"}, "how often does the inner loop run"),
            ("again in each row", {"256)": "25_600)"}, "once, for all rows"),
            ("dimensions for pairs", {", 256)": ", 512)"}, "once, for all rows"),
        ],
        "check_batch": [
            ("the base forgotten", {"(d_model, base=base)\n    t": "(d_model)\n    t"}, "column 2"),
            ("cosine first", {"0::2": "1::2", "1::2": "0::2"}, "column 0"),
            ("halves behind one another", {"0::2": ":4", "1::2": "4:"}, "column 1"),
            ("one sequence alone", {"return tables": "return tables[0]"}, "expected shape"),
            ("transposed", {"return tables": "return tables.swapaxes(0, 1)"}, "expected shape"),
        ],
        "check_wrong_angles": [
            ("the first row", {"np.diagonal": "lambda t: t[0]"}, "which position meets which"),
            ("a sum", {"np.diagonal": "lambda t: t.sum(axis=0)"}, "which position meets which"),
            ("the whole table", {"np.diagonal": "lambda t: t"}, "is a vector of 8"),
        ],
    },
    "04_torch_stack_flatten": {
        "check_column": [
            ("the place in the table", {"259": "7"}, "all sines come before"),
            ("counted from one", {"259": "260"}, "all sines come before"),
            ("dimensions for pairs", {"259": "263"}, "in the order of their pairs"),
        ],
        "check_positions": [
            ("not used", {"self.pe[positions]": "self.pe[: x.shape[1]]"}, "sequence 1 starts at 7"),
            ("one for all", {"[positions]": "[positions[0]]"}, "sequence 1 starts at 7"),
            ("the words forgotten", {"x + self": "self"}, "are added to x"),
            (
                "no batch",
                {"(x + self.pe[positions])": "((x + self.pe[positions])[0])"},
                "got shape",
            ),
        ],
        "check_parameter": [
            ("trained", {", requires_grad=False": ""}, "should not be trained"),
            (
                "a buffer",
                {"self.pe = nn.Parameter(table, ": "self.register_buffer('pe', table"}
                | {"requires_grad=False)": ")"},
                "0 numbers are counted",
            ),
            ("rows for dimensions", {"arange(max_len)": "arange(d_model)"}, "36 numbers are"),
        ],
    },
    "05_heatmaps": {
        "check_base": [
            ("the square forgotten", {"100": "10"}, "every 19.9 rows"),
            ("the wavelength for the base", {"100": "63"}, "every 49.9 rows"),
            ("the usual base", {"100": "10_000"}, "every 628.3 rows"),
        ],
        "check_length": [
            ("the last position for the length", {" + 1)": ")"}, "still flat"),
            ("one too many", {" + 1)": " + 2)"}, "fewer positions would do"),
            ("a sine for the cosine", {"np.arccos(0.9)": "np.arcsin(0.1)"}, "still flat"),
        ],
        "check_moved": [
            ("dimensions for pairs", {"(2 * np.log2(base))": "np.log2(base)"}, "38.53 pairs"),
            ("another logarithm", {"log2(base)": "log(base)"}, "27.79 pairs"),
            ("one table's number", {"d_model /": "512 /"}, "d = 8 and n = 100"),
            ("to the left", {"return d_model": "return -d_model"}, "-19.27 pairs"),
        ],
    },
    "06_binary_analogy": {
        "check_decimal": [
            ("pairs for dimensions", {"12": "6"}, "the factor is 100.00"),
            ("a factor of two", {"12": "40"}, "the factor is 2.00"),
            ("twice too much", {"12": "24"}, "the factor is 3.16"),
        ],
        "check_decode": [
            ("the other sign", {"sines < 0": "sines > 0"}, "came out as"),
            ("highest bit first", {"np.arange(10)": "np.arange(10)[::-1]"}, "came out as"),
            ("bits for positions", {" @ 2 ** np.arange(10)": ""}, "one position for each row"),
        ],
        "check_flips": [
            ("no flip at 0 forgotten", {" - 1 for": " for"}, "with 1 bits there are 1 flips"),
            ("one bit too few", {"range(n_bits)": "range(n_bits - 1)"}, "with 1 bits"),
            (
                "one for each step",
                {"sum(2 ** (n_bits - b) - 1 for b in range(n_bits))": "2**n_bits - 1"},
                "with 2 bits",
            ),
        ],
    },
    "07_linearity": {
        "check_negative": [
            ("degrees for radians", {"np.pi": "180"}, "radians"),
            ("half as far", {"np.pi": "np.pi / 2"}, "half a circle"),
            ("a whole turn", {"np.pi": "2 * np.pi"}, "half a circle"),
        ],
        "check_head": [
            ("the other way", {"-5": "5"}, "places ahead"),
            ("not transposed", {".T": ""}, "places ahead"),
            ("not sharp", {"40 * ": ""}, "make it sharper"),
        ],
        "check_shift": [
            ("the base forgotten", {"[1], base=base": "[1]"}, "pair 1"),
            (
                "the frequencies forgotten",
                {"offset * angular_frequencies(table.shape[1], base=base)": "offset"},
                "pair 1",
            ),
            ("the other way", {"1j * offset": "-1j * offset"}, "pair 0"),
            ("cosine first", {"z.imag, z.real": "z.real, z.imag"}, "pair 0"),
            ("halves behind one another", {"-1).reshape(table.shape)": "0)"}, "the shape"),
        ],
    },
    "08_tsne": {
        "check_third": [
            ("the second", {"check_third(628)": "check_third(63)"}, "third wavelength"),
            ("rounded up", {"check_third(628)": "check_third(629)"}, "third wavelength"),
            ("the fourth", {"check_third(628)": "check_third(6283)"}, "third wavelength"),
        ],
        "check_base": [
            (
                "the usual one",
                {"check_base(100)": "check_base(10_000)"},
                "offset 6 is still nearer",
            ),
            ("the wrong way", {"check_base(100)": "check_base(1_000_000)"}, "is still nearer"),
            ("too far", {"check_base(100)": "check_base(2)"}, "is still nearer"),
        ],
    },
    "09_distance_and_resolution": {
        "check_distance": [
            ("the square root forgotten", {"2": "4"}, "by how much does each pair turn"),
            ("the kernel for the distance", {"2": "0"}, "by how much does each pair turn"),
            ("both opposite", {"2": "8**0.5"}, "by how much does each pair turn"),
        ],
        "check_base": [
            ("too small", {"check_base(1000)": "check_base(100)"}, "after 4000, not 544"),
            ("too large", {"check_base(1000)": "check_base(10_000)"}, "a tenth would do"),
            ("the rule's own", {"check_base(1000)": "check_base(784)"}, "a power of ten"),
        ],
        "check_kept": [
            ("cut off, not rounded", {"np.rint": "np.floor"}, "bits=8"),
            ("the last one forgotten", {"limit + 1": "limit"}, "limit=100"),
            ("one bit too few", {"fraction, bits": "fraction, bits - 1"}, "bits=8"),
        ],
    },
    "10_rotary_and_alibi": {
        "check_reach": [
            ("the number of heads", {"128": "8"}, "the last head subtracts 0.0312"),
            ("one power too far", {"128": "256"}, "the last head subtracts 1.0000"),
            ("the exponent", {"128": "7"}, "the last head subtracts 0.0273"),
        ],
        "check_peak": [
            ("the other way", {"-back": "back"}, "with back = 3 it peaks"),
            ("not moved", {"-back": "0"}, "with back = 3 it peaks 0 back"),
            ("transposed", {"len(query))": "len(query)).T"}, "with back = 3 it peaks"),
        ],
        "check_convert": [
            ("left as it is", {"blocks.transpose(2, 3)": "blocks"}, "in each head"),
            ("all heads at once", {"(1, (n_heads, -1, 2))": "(1, (1, -1, 2))"}, "in each head"),
            ("the way back", {"n_heads, -1, 2": "n_heads, 2, -1"}, "in each head"),
        ],
    },
    "11_does_it_help": {
        "instead": TRAINED_11,
        "check_noise": [
            ("the variance", "check_noise(0.25 / 100)", "the coins gave"),
            ("one toss", "check_noise(0.5)", "the coins gave"),
            ("the mean of 20 seeds", "check_noise(0.011)", "the coins gave"),
        ],
        "check_contender": [
            ("ALiBi itself", "check_contender('ALiBi')", "back: 0.29 on average"),
            ("no encoding", "check_contender('none')", "order: 0.52 on average"),
            ("not trained yet", "check_contender('shifted')", "to `compete` first"),
        ],
    },
    "12_conventions": {
        "check_ratio": [
            ("the other way around", {"100": "0.01"}, "the first by the second"),
            ("that of a wide table", {"check_ratio(100)": "check_ratio(1.0366)"}, "try i = 1"),
            ("that of pair 0", {"100": "1"}, "try i = 1"),
        ],
        "check_identify": [
            ("one denominator for all", {"int(np.argmin(errors))": "0"}, "d = 4"),
            ("the farther one", {"argmin": "argmax"}, "d = 4"),
            ("cosine first unknown", {'"cos, sin"}': '"sin, cos"}'}, "not Convention"),
        ],
    },
    "13_precision_and_speed": {
        "check_float16": [
            ("the last that is held", {"(2049, ": "(2048, "}, "the step becomes 2"),
            ("every second to the end", {"1024 + 1024": "3072"}, "what from there on"),
            ("nothing lost", {"2049 + 1024 + 1024": "8193"}, "what from there on"),
        ],
        "check_window": [
            ("the start forgotten", {"-1j * start": "-1j * 0"}, "which one comes first"),
            ("the other way", {"-1j * start": "1j * start"}, "which one comes first"),
            (
                "cast too early",
                {"rows = rows *": "rows = rows.astype('complex64') *"},
                "cast too early",
            ),
            ("not cast", {".astype(np.float32)": ""}, "not float32"),
            ("one row too few", {"view(float)": "view(float)[1:]"}, "the shape is"),
        ],
    },
    "14_bug_museum": {
        "check_alias": [
            ("the angle itself", {" - 2 * np.pi": ""}, "between -pi and pi"),
            ("degrees", {"4.6416 - 2 * np.pi": "-94.06"}, "between -pi and pi"),
            ("half a turn", {"2 * np.pi": "np.pi"}, "whole turns"),
            ("the sign lost", {"4.6416 - 2 * np.pi": "2 * np.pi - 4.6416"}, "whole turns"),
        ],
        "check_test": [
            ("all pass", {"return omega > 0 and": "return True or"}, "accepts base 1000"),
            (
                "none passes",
                {"return omega > 0 and": "return False and"},
                "rejects the right table",
            ),
            ("too tolerant", {"rtol=1e-3": "rtol=0.1"}, "accepts base 9900"),
            ("for one width", {"-d_model / (d_model - 2)": "-6 / 4"}, "the right table, d = 16"),
        ],
        "check_layer_test": [
            ("all pass", {"return": "return True or"}, "accepts the layer OneRow"),
            ("none passes", {"return": "return False and"}, "rejects the right layer"),
            ("one of the two is enough", {" and closest": " or closest"}, "accepts"),
            ("sentences not compared", {"rows == rows[0]": "rows == rows"}, "accepts"),
        ],
    },
    "15_longer_context": {
        "instead": TRAINED_15,
        "check_base": [
            ("the base times the factor", {"6400": "800"}, "the exponent is"),
            ("the wrong way", {"6400": "100 / 64"}, "0.8000, not 0.0125"),
            ("another exponent", {"6400": "3200"}, "0.0177, not 0.0125"),
        ],
        "check_unfinished": [
            ("a radian for a turn", {"2 * np.pi": "1"}, "18 pairs, not"),
            ("those that finish", {"wavelengths > length": "wavelengths <= length"}, "not 46"),
            ("dimensions for pairs", {"int(": "int(2 * "}, "18 pairs, not 36"),
        ],
        "check_rule": [
            ("nothing changed", "check_rule({})", "only 0.42 at 64 letters"),
            ("too small a factor", {"4.0": "1.0"}, "only 0.74 at 64 letters"),
            ("interpolation", {"dynamic": "linear"}, "0.95 at 16 letters isn't better"),
        ],
    },
    "16_batches_and_caches": {
        "check_positions": [
            ("columns", "check_positions([3, 4, 5, 6], 5)", "at position 0"),
            ("padding counted", "check_positions([0, 0, 0, 0, 1, 2, 3], 5)", "not the columns"),
            ("the first of the two", "check_positions([0, 1, 2, 3], 4)", "the first generated"),
            ("the column", "check_positions([0, 1, 2, 3], 8)", "where the real words end"),
        ],
        "check_forget": [
            ("not turned", {"rotate_pairs(rest, back)": "rest"}, "by how much"),
            ("the other way", {"-drop": "drop"}, "by how much"),
            (
                "the sinks turned",
                {"keys[:sinks],": "rotate_pairs(keys[:sinks], back[:sinks]),"},
                "the sinks",
            ),
            ("the sinks lost", {"keys[:sinks]": "keys[:0]"}, "which keys are to stay"),
        ],
        "check_test": [
            ("a prompt of one word", {"x, 4": "x, 1"}, "the prompt counted twice"),
            ("the same prompt", {"x, 4": "x, 9"}, "passes: stuck at 0"),
            ("all pass", {"return": "return True or"}, "passes: stuck at 0"),
            ("none passes", {"return": "return False and"}, "the right one fails"),
        ],
    },
    "17_images_and_axes": {
        "check_count": [
            ("order counted", {"20": "64"}, "(0, 1, 2) and (2, 1, 0)"),
            ("without repetition", {"20": "4"}, "count the ways"),
            ("sums of the indices", {"20": "10"}, "count the ways"),
        ],
        "check_scale": [
            ("corners for centers", {" + 0.5": "", " - 0.5": ""}, "their middle"),
            ("0.5 not taken back", {" - 0.5": ""}, "nothing should change"),
            ("the wrong way", {"trained / size": "size / trained"}, "their middle"),
            ("the trained number", {"np.arange(size)": "np.arange(trained)"}, "each patch"),
        ],
        "check_axes": [
            ("all pass", {"return": "return True or"}, "the swapped keys pass"),
            ("none passes", {"return": "return False and"}, "the right functions fail"),
            ("the diagonal", {"[3, 1], [1, 6]": "[3, 3], [6, 6]"}, "pass your test"),
        ],
    },
    "18_time_and_space": {
        "check_unit": [
            ("milliseconds", {"0.01, 2 * 3600 / 0.01": "10, 720_000"}, "1 is a second"),
            ("a second", {"0.01, 2 * 3600 / 0.01": "1, 7200"}, "the smallest gap"),
            ("the wavelength in seconds", {"(0.01, 2 * 3600 / 0.01": "(0.01, 7200"}, "too soon"),
            ("the span itself", {"(0.01, 2 * 3600 / 0.01": "(0.01, 3600 / 0.01"}, "twice the span"),
            ("far too long", {"(0.01, 2 * 3600": "(0.01, 2 * 3600 / 0.01**2"}, "hardly moves"),
        ],
        "check_calendar": [
            ("a year of 365 days", {"365.25": "365"}, "the year should repeat"),
            (
                "days for hours",
                {"24, 7 * 24, 365.25 * 24": "1, 7, 365.25"},
                "nothing should repeat",
            ),
            ("sines alone", {"axis=1)": "axis=1)[:, ::2]"}, "six columns"),
            ("transposed", {"axis=1)": "axis=1).T"}, "six columns"),
        ],
        "check_kept": [
            ("counted from 1", "check_kept(1000, 507)", "without a gap"),
            ("nothing lost", "check_kept(1001, 1001)", "count what it skips"),
            ("up to 256 alone", "check_kept(1001, 257)", "count what it skips"),
        ],
    },
    "20_what_models_use": {
        "check_buckets": [
            ("one side for both", {"10, 26": "10, 10"}, "16 buckets apart"),
            ("rounded up", {"10, 26": "11, 27"}, "rounded down"),
            ("a bucket for each place", {"10, 26": "20, 36"}, "rounded down"),
        ],
        "check_two_bases": [
            ("entries counted", {"len(bases) > 1": "len(ropes) > 1"}, "llama has one base"),
            ("kinds counted", {'r.get("rope_theta")': "id(r)"}, "with one base"),
            ("not sorted", {"sorted(found)": "sorted(found)[::-1]"}, "sorted"),
            ("none found", {"len(bases) > 1": "len(bases) > 2"}, "modernbert has two bases"),
        ],
        "check_shaw": [
            ("query minus key", {"offset, -clip": "-offset, -clip"}, "offset 1 is row 3"),
            (
                "around the end",
                {"np.clip(offset, -clip, clip) + clip": "(offset + clip) % len(table)"},
                "offset 5 takes the last row",
            ),
            ("the keys forgotten", {"keys + vectors": "vectors"}, "offset 1 is row 3"),
            ("one query for all", {"->km": "->k"}, "6 × 6 scores"),
        ],
    },
    "19_check_your_own": {
        "check_bound": [
            ("one rounding", "check_bound(2**17 * 2**-24)", "how many roundings"),
            ("the sine's error alone", "check_bound(2 * 2**-24)", "a share of the angle"),
            ("eps for u", {"2**-24": "2**-23"}, "2u + 5uθ"),
        ],
        "check_rotation": [
            (
                "counted from 1",
                {"(x, positions)\n\n\ncheck": "(x, positions + 1)\n\n\ncheck"},
                "identity",
            ),
            (
                "the first taken off",
                {"(x, positions)\n\n\ncheck": "(x, positions - positions[:1])\n\n\ncheck"},
                "steps",
            ),
            (
                "nothing mended",
                {"check_rotation(mended)": "check_rotation(decode)"},
                "start, steps",
            ),
        ],
    },
}
