"""Watch what the models of transformers run, and record what their code decides about positions.

`python tools/watch.py` builds a tiny model of every class whose code turns queries or keys, with
its default configuration cut small, runs it on a text (an image, a sound) in float64, and looks at
each product of queries and keys. The layers' inputs are made equal at all positions, so that what
differs between positions is the rotation. What it finds goes to ``src/posenc/config/models.json``;
``tests/test_transformers.py`` holds `posenc.read_config` to it. `make bench` installs transformers
in ``.venv/bench``. `python tools/watch.py TYPE …` prints what runs in some types. The defaults of
all configuration classes go to ``notebooks/data/models.json``, with fields about positions alone.
"""

import importlib
import inspect
import json
import re
import signal
import sys
import warnings
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import date
from itertools import product
from pathlib import Path

import numpy as np
import torch
import transformers
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from posenc import read_config
from posenc.config.fields import FIELD, Fields
from posenc.config.steps import alike, speaks
from posenc.layers import ROTARY

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "src" / "posenc" / "config" / "models.json"
DEFAULTS = ROOT / "notebooks" / "data" / "models.json"
HOME = Path(transformers.__file__).parent
LENGTH = 13  # positions of a text; no width of a layer
PRODUCTS = {
    torch.matmul,
    torch.Tensor.matmul,
    torch.Tensor.__matmul__,
    torch.bmm,
    torch.baddbmm,
}
SOFTMAX = {functional.softmax, torch.softmax, torch.Tensor.softmax}
WHOLE = {
    "dbrx",
    "phi4_multimodal",
}  # configurations with parts whose own fields are the text's
SAID = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
PATTERNS, SIZES, FIELDS, STEPS, APART, BY_HAND, CUTS, MORE = SAID.values()
TURNS, NORM, TABLE, OTHER, PLACE, TELLING = map(re.compile, PATTERNS.values())


class Watch(TorchFunctionMode):
    """Notes queries and keys of each softmax, by the module that multiplies them."""

    def __init__(self, model, still):
        super().__init__()
        self.names = {module: name for name, module in model.named_modules()}
        self.stack, self.held, self.found, self.leaves, self.norms = [], {}, [], {}, {}
        self.hooks = [
            model.get_submodule(name).register_forward_pre_hook(
                same_everywhere, with_kwargs=True
            )
            for name in still
        ]
        for module in self.names:  # not for those that a forward makes
            self.hooks.append(
                module.register_forward_pre_hook(lambda m, _: self.stack.append(m))
            )
            self.hooks.append(
                module.register_forward_hook(self.leave, always_call=True)
            )

    def __exit__(self, *error):
        for hook in self.hooks:
            hook.remove()
        return super().__exit__(*error)

    def leave(self, module, args, out):
        while self.stack and self.stack.pop() is not module:
            pass
        name = self.names[module]
        if isinstance(out, torch.Tensor) and not list(module.children()):
            self.leaves[name] = out.detach()
            if NORM.search(name):
                self.norms.setdefault(name, args[0].detach())

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        place = self.names.get(self.stack[-1], "") if self.stack else ""
        if func in PRODUCTS and out.ndim >= 3:
            query, key = args[1:3] if func is torch.baddbmm else args[:2]
            self.held[place] = query, key.transpose(-1, -2), query @ key
        if func in SOFTMAX and place in self.held:
            query, key, product = self.held.pop(place)
            scores = args[0] if args else kwargs["input"]
            sinks = scores.shape[-1] - product.shape[-1]
            alike = scores.shape[-2] == product.shape[-2] and 0 <= sinks <= 1
            if (alike or scores.numel() == product.numel()) and query.shape[
                -1
            ] == key.shape[-1]:
                self.found.append((place, query, key, product, scores))
        return out


def same_everywhere(module, args, kwargs):
    """Give a layer the input of its first position at every position."""

    def same(x):
        first = x[(slice(None), *[slice(1)] * (x.ndim - 2))] if x.ndim > 2 else x[:1]
        return first.expand_as(x).clone()

    if args and isinstance(args[0], torch.Tensor):
        return (same(args[0]), *args[1:]), kwargs
    names = ("hidden_states", "x", "query", "query_states", "inputs", "hidden_state")
    name = next((name for name in names if torch.is_tensor(kwargs.get(name))), None)
    return args, kwargs | ({name: same(kwargs[name])} if name else {})


def tiny(kind, **more):
    """Return a class's default configuration, cut small; widths of heads stay."""
    said, spelled, new = kind().to_dict(), getattr(kind, "attribute_map", {}), {}
    whole = {name: value for name, value in said.items() if type(value) is int}
    hidden, heads = (
        next((name for name in (spelled.get(names[0]), *names) if name in whole), None)
        for names in (SIZES["hidden"], SIZES["heads"])
    )
    if hidden and heads:
        width, count = said[hidden] // said[heads], min(said[heads], 4)
        new = {heads: count, hidden: max(width // 8 * 8, 8) * count}
        new |= {"out_hidden_size": new[hidden]} if "out_hidden_size" in said else {}
        for name in whole.keys() & SIZES["key heads"]:
            new[name] = count if said[name] == said[heads] else min(said[name], 2)
    for name in whole.keys() - new.keys():
        most = [most for pattern, most in CUTS.items() if re.search(pattern, name)]
        new |= {name: min(said[name], most[0])} if most else {}
        if name.endswith("token_id") and said[name] >= 64:
            new[name] = 0 if name.startswith("pad") else 1
        if name == "image_size":
            new[name] = 4 * whole.get("patch_size", 14)
    return kind(**new | more)


def inputs(config):
    """Yield arguments by name: a text, an image, patches of one, a sound."""
    ids, rand = torch.arange(3, 3 + LENGTH).remainder(30)[None], torch.rand
    patch, time = (
        getattr(config, "patch_size", 14),
        getattr(config, "temporal_patch_size", 1),
    )
    patch = patch if isinstance(patch, int) else patch[0]
    size = getattr(config, "image_size", None)
    size, channels = (
        size if isinstance(size, int) else 56,
        getattr(config, "num_channels", 3),
    )
    mel, hidden = (
        getattr(config, "num_mel_bins", 80),
        getattr(config, "hidden_size", 64),
    )
    yield {"input_ids": ids}
    yield {"input_ids": ids, "use_cache": False}
    yield {"input_ids": ids, "decoder_input_ids": ids}
    for name in ("inputs_embeds", "hidden_states"):
        yield {name: rand(1, LENGTH, hidden).double()}
    yield {"pixel_values": rand(1, channels, size, size).double()}
    places = torch.cartesian_prod(torch.arange(4), torch.arange(4))
    grid = {"grid_thw": torch.tensor([[1, 4, 4]]), "merge_sizes": torch.tensor([1])}
    grid |= {"image_grid_thw": grid["grid_thw"], "pixel_position_ids": places[None]}
    square = (16, 3, patch, patch)
    for shape in (
        (16, 3 * time * patch**2),
        (1, 16, 3 * patch**2),
        square,
        (1, *square),
    ):
        patches = rand(shape).double()
        yield {"pixel_values": patches, "hidden_states": patches, **grid}
    for shape in (
        (1, mel, 60),
        (1, 60, mel),
        (1, 4000),
        (1, 1, 4000),
        (1, 60, 2 * mel),
    ):
        sound = rand(shape).double()
        yield {"input_values": sound, "input_features": sound, "decoder_input_ids": ids}


def run(kind, **more):
    """Return a tiny configuration, and facts of each product of queries and keys."""
    config = tiny(kind.config_class, **more)
    config._attn_implementation = config._experts_implementation = "eager"
    torch.manual_seed(0)
    model, errors = kind(config).double().eval(), []
    wanted = inspect.signature(model.forward).parameters
    trained = [each for each in model.named_parameters() if each[1].requires_grad]
    for name, weight in trained:  # not a table of sinusoids
        if weight.ndim >= 2:
            torch.nn.init.normal_(weight, std=0.9 / weight.shape[-1] ** 0.5)
        elif name.endswith(
            "weight"
        ):  # equal weights let a norm commute with the rotation
            torch.nn.init.normal_(weight, 1, 0 if NORM.search(name[:-7]) else 0.2)
    for pool in inputs(config):
        given = {name: value for name, value in pool.items() if name in wanted}
        given, still = given or {next(iter(wanted)): next(iter(pool.values()))}, ()
        try:
            for _ in range(2):
                with Watch(model, still) as watch, torch.no_grad():
                    model(**given)
                still = dict.fromkeys(place for place, *_ in watch.found)
            if watch.found:
                return config, [facts(watch, *each) for each in watch.found]
        except Exception as error:  # this call doesn't suit this model
            errors.append(f"{type(error).__name__}: {error}"[:100])
    raise RuntimeError(f"no call suits it: {sorted(set(errors), key=len)[:3]}")


def matrix(x):
    """Return the first head's rows, by position."""
    return x.reshape(-1, *x.shape[-2:])[0].double().numpy()


def facts(watch, place, query, key, product, scores):
    """Return what one layer does with positions."""
    x, layer = matrix(key), PLACE.search(place)
    found = {"layer": layer and int(layer[1]), "width": x.shape[-1]}
    spread, most = np.ptp(x, axis=0), np.abs(x).max()
    moved = np.flatnonzero(spread > 1e-12 * most)
    found["turned"] = bool(spread.max() > 1e-6 * most)
    if found["turned"]:
        half = len(moved) // 2
        options = {"halves": (moved[:half], moved[half : 2 * half])}
        options["neighbors"] = (moved[0 : 2 * half : 2], moved[1 : 2 * half : 2])
        circles = {name: x[:, a] + 1j * x[:, b] for name, (a, b) in options.items()}
        errors = {
            n: np.abs(np.abs(z) / np.abs(z[0]) - 1).max() for n, z in circles.items()
        }
        pairing = min(errors, key=errors.get)
        angles = np.angle(circles[pairing] / circles[pairing][0])
        straight = np.exp(1j * np.outer(np.arange(len(x)), angles[1]))
        found["line"] = bool(np.abs(np.exp(1j * angles) - straight).max() < 1e-3)
        found |= {"first": int(moved[0]), "frequencies": np.abs(angles[1]).tolist()}
        circle = errors[pairing] < 1e-4 and len(moved) % 2 == 0
        ordered = circle and before(watch, place, x[0], options[pairing])
        found["pairing"] = ordered or (pairing if circle else "other")
    for name, each in watch.norms.items():
        axis = next((axis for axis, n in enumerate(each.shape) if n == len(x)), None)
        if name.startswith(place):
            later = (
                axis is not None
                and np.ptp(each.double().numpy(), axis=axis).max() > 1e-6
            )
            found["norm"] = (
                "after" if later or found.get("norm") == "after" else "before"
            )
    if scores.shape[-2] == product.shape[-2]:
        plain, asked = matrix(product), matrix(scores)[:, : product.shape[-1]]
        found["scale"] = float(asked[0, 0] / plain[0, 0])
        if len(asked) == asked.shape[1] and not np.triu(asked > -1e8, 1).any():
            found["sees"] = (asked > -1e8).argmax(1).tolist()
    return found


def before(watch, place, row, pairs):
    """Return the pairing in the order of the weights, if the code permutes dimensions."""
    for out in (out for name, out in watch.leaves.items() if name.startswith(place)):
        source = matrix(out)[0] if out.ndim > 1 else np.array(())
        hits = [
            np.flatnonzero(np.abs(source - row[d]) < 1e-10) for d in np.ravel(pairs)
        ]
        if all(len(each) == 1 for each in hits):
            a, b = np.reshape(hits, (2, -1))
            return {(1,): "neighbors", (len(a),): "halves"}.get(tuple(np.unique(b - a)))
    return None


def classes(words=TURNS):
    """Yield a type and model classes of it, for each modeling file that has some words."""
    for file in sorted((HOME / "models").glob("*/modeling_*.py")):
        name, found = (
            f"transformers.models.{file.parent.name}.{file.stem}",
            defaultdict(list),
        )
        spoken = words.search(file.read_text(encoding="utf-8"))
        for kind in vars(importlib.import_module(name)).values() if spoken else ():
            ours = inspect.isclass(kind) and kind.__module__ == name
            if (
                ours
                and issubclass(kind, transformers.PreTrainedModel)
                and kind.config_class
            ):
                found[kind.config_class].append(kind)
        for config, kinds in found.items():
            plain = [
                k
                for k in kinds
                if not re.search("For[A-Z]|PreTrained|Head", k.__name__)
            ]
            single = inspect.isclass(config) and config.model_type
            if single and (not config.sub_configs or config.model_type in WHOLE):
                yield (
                    config.model_type,
                    sorted(plain or kinds, key=lambda k: len(k.__name__))[:2],
                )


def differences(kind, config, layers):
    """Yield where `read_config` differs from what runs, layer by layer."""
    said = json.loads(json.dumps(config, default=str)) | {"model_type": kind}
    read = {i: each for each in read_config(said).layers for i in each.indices or ()}
    for runs in (each for each in layers if each["layer"] is not None):
        told = read.get(runs["layer"])
        if told is None or (told.where == ROTARY) != runs["turned"]:
            yield f"{runs['layer']}: turned {runs['turned']}, read {told and told.where}"
            continue
        turning = [each for each in told.frequencies or () if each]
        pairs = {
            "width": (runs["width"], told.head_dim),
            "first": (runs.get("first"), told.first),
            "frequencies": ((runs.get("line") and runs["frequencies"]) or [], turning),
            "norm": (runs.get("norm"), told.norm),
            "pairing": (runs.get("pairing"), told.pairing),
        }
        if runs.get("pairing") == "other":
            del pairs["pairing"]
        if told.score_scale and "scale" in runs:
            pairs["scale"] = runs["scale"], told.score_scale
        if "sees" in runs:
            rows = np.arange(len(runs["sees"]))
            after = rows + 1 - (told.window or 1e9)
            first = rows // told.chunk * told.chunk if told.chunk else after
            pairs["sees"] = runs["sees"], np.maximum(first, 0).tolist()
        for name, (seen, ours) in pairs.items() if runs["turned"] else ():
            some = isinstance(seen, float | list) and np.shape(seen) == np.shape(ours)
            near = 1e-2 if isinstance(seen, float) else 2e-3  # soft caps
            if not (np.allclose(ours, seen, near, 3e-7) if some else seen == ours):
                yield f"{runs['layer']}: {name} {seen}, read {ours}"


def watched(only=()):
    """Yield each type with its model's class, configuration and facts, or with an error."""
    signal.signal(
        signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("too slow"))
    )
    warnings.simplefilter("ignore")
    for kind, models in classes():
        for model in models if not only or kind in only else ():
            signal.alarm(120)
            try:
                yield (kind, model, *run(model, **MORE.get(kind, {})))
                break
            except Exception as error:  # needs arguments, or packages
                yield kind, model, None, f"{type(error).__name__}: {error}"[:200]
            finally:
                signal.alarm(0)


def turning(layers):
    """Return the layers whose queries and keys turn in circles."""
    return [each for each in layers if each["turned"] and each["pairing"] != "other"]


def decided(model, config, layers):
    """Return what a type's code decides, as it was seen."""
    turned, said, found = turning(layers), config.to_dict(), described(model)
    source = (HOME / found["file"]).read_text(encoding="utf-8")
    if "rope_interleave" not in said:
        found["pairing"] = Counter(each["pairing"] for each in turned).most_common(1)[
            0
        ][0]
    sections = re.search(r'"mrope_section", (\[[\d, ]+\])', source)
    if not all(each["line"] for each in turned):
        found["axes"] = "image"
    elif re.search(r"mrope_section\[\w+\] \* 3", source):
        found["axes"] = "interleaved"
    if sections and found.get("axes") != "image":
        found["sections"] = json.loads(sections[1])
    states = defaultdict(set)
    for i, name in enumerate(
        said.get("layer_types") or said.get("layers_block_type") or ()
    ):
        states[name] |= {each["turned"] for each in layers if each["layer"] == i} or {
            None
        }
    for name, state in states.items():
        if True not in state and len(state) == 1:
            found["kinds"][name]["still" if False in state else "recurrent"] = True
    if said.get("no_rope_layers") and {False} not in states.values():
        found["fields"].setdefault("no_rope_layer_interval", 4)
    norms = {each["norm"] for each in turned if "norm" in each}
    found["norm"] = max(norms, key=["before", "after"].index, default=None)
    for name in said.keys() & {"use_qk_norm", "qk_layernorm"}:
        found["fields"][name] = bool(said[name])
        found |= {"normed": name, "norm": found["norm"] or "before"}
    unlimited = all("sees" in each and not any(each["sees"]) for each in turned)
    ignored = said.get("sliding_window") == 5 and not states and unlimited
    if ignored or "sliding_window" not in map(FIELD.get, said):
        found["window"] = False
    near = {"query_pre_attn_scalar": (said.get("query_pre_attn_scalar") or 1e9) ** -0.5}
    near["attention_multiplier"] = said.get("attention_multiplier") or 0
    near = {name: value for name, value in near.items() if name in source}
    near |= {"head_dim": turned[0]["width"] ** -0.5, 1.0: 1.0}
    scale = next((each["scale"] for each in turned if each.get("scale")), 0)
    found["scale"] = next(
        (n for n, v in near.items() if abs(scale - v) < 5e-3 * v), None
    )
    based = "base" in found or any("base" in own for own in found["kinds"].values())
    if not based and len(rows := turned[0]["frequencies"]) > 2 and 0 < rows[1] < 1:
        found["base"] = float(f"{rows[1] ** -len(rows):.1g}")
    return found | {"rotates": True, "mscale": "mscale_all_dim" in source}


def described(model):
    """Return a model's file, the defaults of its configuration, and its kinds of layers."""
    kind, kinds = model.config_class, defaultdict(dict)
    said, plain = kind().to_dict(), getattr(kind, "__dataclass_fields__", {})
    told = {n: each for n, each in said.items() if isinstance(each, int | float | str)}
    told = {
        n: each
        for n, each in told.items()
        if each is not False or n == "rope_interleave"
    }
    told = {
        n: each
        for n, each in told.items()
        if n not in plain or plain[n].default is not None
    }
    spoken = {n for n in told if FIELD.get(n) in FIELDS or (speaks(n) and not alike(n))}
    told = {n: told[n] for n in told if n in spoken}
    one = {name: field for field, name in Fields(told).spelled.items()}
    told = {
        one.get(name, name): told[name]
        for name in told
        if name in one or name not in FIELD
    }
    found = {"file": f"models/{model.__module__.split('.', 2)[2].replace('.', '/')}.py"}
    found |= {"fields": told, "layers": pattern(kind), "kinds": kinds}
    rope = said.get("rope_parameters") or {}
    nested = {name: each for name, each in rope.items() if isinstance(each, dict)}
    for name, each in (nested or {"": rope}).items():
        for key, field in (("base", "rope_theta"), ("share", "partial_rotary_factor")):
            if each.get(field) not in (None, 1.0):
                (kinds[name] if name else found)[key] = each[field]
    if len(nested) > 1 and not {"local_rope_theta", "global_rope_theta"} & said.keys():
        linear, asked = {"rope_type": "linear", "factor": 4.0}, {}
        with suppress(Exception):  # refuses one mapping for all layers
            asked = kind(rope_scaling=linear, rope_theta=12_345.0).rope_parameters
        for name, each in asked.items():
            if isinstance(each, dict) and "factor" not in each:
                kinds[name]["unscaled"] = True
            if isinstance(each, dict) and each["rope_theta"] != 12_345.0:
                kinds[name]["own_base"] = True
    return found


def pattern(kind):
    """Return rules of a class's `layer_types`: every so many layers, one differs."""
    number = getattr(kind, "attribute_map", {}).get(
        "num_hidden_layers", "num_hidden_layers"
    )

    def fitted(count=48, **more):
        names = []
        with suppress(Exception):  # has no such field, or refuses the value
            names = list(kind(**{number: count}, **more).layer_types or ())
        ones = sorted(dict.fromkeys(names), key=names.count)
        for one, others in (ones, ones[::-1]) if len(ones) == 2 else ():
            for step, at in product(range(2, 13), (0, -1)):
                rule = [
                    one if (i - at) % step == 0 else others for i in range(len(names))
                ]
                if rule[:-1] == names[:-1]:
                    last = {} if rule == names else {"last": names[-1]}
                    return {"step": step, "one": one, "others": others, "at": at} | last
        return {}

    if not (found := fitted()):
        return []
    found |= {name: value for name, value in fitted(47).items() if name == "last"}
    step = 5 if found["step"] == 3 else 3
    name = next(
        (name for name in STEPS if fitted(**{name: step}).get("step") == step), None
    )
    flags = {"field": "no_rope_layers", "one": found["others"], "others": found["one"]}
    found = ({"field": name} if name else {}) | found
    return [flags, found] if name == "no_rope_layer_interval" else [found]


def tables(model, **changes):
    """Return tables of positions in a model built without its numbers: learned or not, and rows."""
    with torch.device("meta"):
        built = model(model.config_class(**changes))
    return {
        name.removesuffix(".weight"): (table.requires_grad, table[..., 0].numel())
        for name, table in [*built.named_parameters(), *built.named_buffers()]
        if TABLE.search(name) and not OTHER.search(name) and table.ndim > 1
    }


def tabled(model, turns):
    """Return what a type's code decides of tables that its input gets, and the defaults of these.

    Their rows are those that a field says, or an image's patches, and up to two more: so it is in
    the default model and in one whose field is twice as large. A fixed table of a type that turns
    may be that of its angles.
    """
    said, found, fields = model.config_class().to_dict(), {}, {}
    patch = said.get("patch_size")
    whole = {name: n for name, n in said.items() if type(n) is int and n > 8}
    for name, (learned, rows) in tables(model).items():
        if turns and not learned:
            continue
        found[name] = {"kind": "learned" if learned else "fixed"}
        for field, value in whole.items():
            square = field == "image_size" and type(patch) is int
            now, twice = (
                (n // patch) ** 2 if square else n for n in (value, 2 * value)
            )
            more = rows - now
            if (
                0 <= more <= 2
                and tables(model, **{field: 2 * value})[name][1] - more == twice
            ):
                found[name] |= {"rows": "patches" if square else field, "more": more}
                fields |= {field: value} | ({"patch_size": patch} if square else {})
                break
    return found, fields


def every_tabled(found):
    """Yield types with tables, as `tabled` describes them."""
    for kind, (model, *_) in classes(TABLE):
        with suppress(Exception):  # needs arguments, or packages
            seen, fields = tabled(model, "rotates" in found.get(kind, {}))
            if seen:
                yield kind, model, seen, fields


def composites():
    """Return the types of each type's parts, as in its default configuration."""
    found = defaultdict(dict)
    for kind in transformers.CONFIG_MAPPING:
        default = model = transformers.CONFIG_MAPPING[kind]
        with suppress(Exception):  # a class that needs arguments
            default = model()
        for name, each in getattr(model, "sub_configs", {}).items():
            types = (
                getattr(x, "model_type", None)
                for x in (getattr(default, name, None), each)
            )
            if part := next(filter(None, types), None):
                found[kind][name] = part
    return found


def defaults():
    """Return each type's defaults of fields about positions and the width of heads."""
    found = {}
    for name in sorted(transformers.CONFIG_MAPPING):
        with suppress(Exception):  # a class that needs arguments
            said = sorted(transformers.CONFIG_MAPPING[name]().to_dict().items())
            kept = {key: value for key, value in said if TELLING.search(key)}
            found[name] = {
                k: v for k, v in kept.items() if not isinstance(v, list | str | None)
            }
    return {name: kept for name, kept in found.items() if kept}


def record():
    """Write the defaults of all types, and what each type's code decides."""
    made = {"made by": "tools/watch.py", "transformers": transformers.__version__}
    made |= {"date": str(date.today()), "models": defaults()}
    text = json.dumps(made, indent=1, default=str, ensure_ascii=False)
    text = re.sub(
        r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), text
    )  # flat lists
    DEFAULTS.write_text(text + "\n", encoding="utf-8")
    about = {"source": f"transformers {transformers.__version__}, {date.today()}"}
    found, apart = {"about": about}, {}
    for kind, model, config, layers in watched():
        print(
            kind, model.__name__, layers if config is None else len(layers), flush=True
        )
        if config is None:
            apart.setdefault(kind, layers)
        elif turning(layers):
            found.setdefault(
                kind, decided(model, config, layers) | BY_HAND.get(kind, {})
            )
        else:
            apart[kind] = "nothing turns in circles"
            if kind in BY_HAND:
                found[kind] = described(model) | BY_HAND[kind]
    found = BY_HAND | found  # some have no code that turns
    for kind, model, seen, fields in every_tabled(found):
        entry = found.setdefault(kind, described(model))
        entry |= {"fields": entry["fields"] | fields, "tables": seen}
    inner = composites()
    for kind, parts in inner.items():
        if any(name in found or name in inner for name in parts.values()):
            found[kind] = found.get(kind, {}) | {"parts": parts}
    unseen = {n for n in apart if "rotates" not in found.get(n, {}) or n in BY_HAND}
    about["not watched"] = {n: each for n, each in apart.items() if n in unseen}
    lines = []
    for kind, each in sorted(found.items()):
        told = {
            name: value for name, value in each.items() if value not in ({}, [], None)
        }
        lines.append(f" {json.dumps(kind)}: {json.dumps(told)}")
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    for kind, _, config, layers in watched(sys.argv[1:]) if sys.argv[1:] else ():
        apart = () if config is None else differences(kind, config.to_dict(), layers)
        print(kind, layers, *apart)
    if not sys.argv[1:]:
        record()
