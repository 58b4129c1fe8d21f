"""`read_config` reads files as transformers does, and its errors name the field."""

import io
import json
import runpy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc.config import read_config
from posenc.config.__main__ import main
from posenc.config.fields import RULES
from posenc.config.steps import CODE

ROOT = Path(__file__).parents[1]
RELEASED = json.loads(
    (ROOT / "notebooks" / "data" / "released.json").read_text(encoding="utf-8")
)
RECORD = ROOT / "tests" / "readings.txt"
*READINGS, SAID = [
    p.partition("\n")[::2] for p in RECORD.read_text("utf-8")[2:-1].split("\n\n# ")
]
PLAIN = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4}
PLAIN |= {"rope_theta": 10_000.0, "max_position_embeddings": 4096}


def number(value):
    if isinstance(value, tuple):
        some = (
            (len(value), value[0], value[-1]) if isinstance(value[0], float) else value
        )
        return "/".join(map(number, some))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def reading(head):
    """Return what is read, a line for each kind of layer, and the warnings apart from it."""
    name = head.removeprefix("print ")
    try:
        found = read_config(
            RELEASED[name]["config"] if name in RELEASED else name.encode()
        )
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}", set()
    if name != head:
        return str(found), set()
    lines, words = [], set()
    for part, each in {found.model_type: found, **found.parts}.items():
        lengths = each.length_before_scaling, each.intended_length, each.limit
        lines.append(f"{part} {number(lengths)}, {len(each.warnings)} warnings")
        words |= set(each.warnings)
        told = (vars(layers).items() for layers in each.layers)
        lines += [
            " ".join(f"{n}={number(v)}" for n, v in kind if v is not None)
            for kind in told
        ]
    return "\n".join(lines), words


@pytest.mark.parametrize(("head", "recorded"), READINGS)
def test_readings_are_the_recorded_ones(head, recorded):
    """To record an intended difference or a new row: `.venv/bin/python tests/test_config.py`."""
    found, words = reading(head)
    assert found == recorded
    assert words <= set(SAID[1].splitlines())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b'{"z": 0,\n"y": 0,\n"a": 1\n "b": 2}',
            "line 3, column 6: a comma is missing behind",
        ),
        (b'{"a": "x\ny"}', "line 1, column 8: Invalid control character"),
        (
            b'{"rope_theta": 1' + b"0" * 400 + b"}",
            "rope_theta must be a number, from 1e-09",
        ),
        (b'{"a": ' + b"9" * 5000 + b"}", "Exceeds the limit (4300 digits)"),
        (b"[" * 100_000, "the file isn't JSON: "),
        (b"\xff", "can't decode byte 0xff in position 0"),
        (b" " * 50_000_000, "over 8 MB"),
    ],
    ids=range(7),
)
def test_any_file_gives_a_sentence(content, words, tmp_path, capsys):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    assert main([str(file)]) == 2
    said = capsys.readouterr().err
    assert words in said[:400]
    assert said.count("\n") == 1


def test_no_more_warnings_are_collected_than_are_told():
    found = read_config({f"rope_{i}": 1 for i in range(300_000)})
    assert len(found.warnings) == 51
    assert found.warnings[-1] == "and at least 950 more warnings"


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
    ),
    max_leaves=9,
)
FIELDS = st.dictionaries(st.sampled_from([*RULES, "text_config", "vision_config"]), ODD)
TYPES = st.sampled_from(["cohere2", "deepseek_v3", "gemma3", "llama4", "unknown"])


@given(FIELDS, FIELDS, TYPES, st.sampled_from(["rope_scaling", "rope_parameters"]))
@settings(max_examples=200, deadline=None)
def test_wrong_types_in_every_field_are_named(outside, inside, kind, asked):
    try:
        said = str(
            read_config(PLAIN | {"model_type": kind} | outside | {asked: inside})
        )
    except (TypeError, ValueError) as error:
        said = str(error)
    assert any(
        str(each) in said for each in [*outside, *inside, *PLAIN, asked, "model type"]
    )


def test_the_command(tmp_path, capsys, monkeypatch):
    def run(*arguments):
        assert main([*map(str, arguments)]) == 0
        return capsys.readouterr().out

    file, other = tmp_path / "config.json", tmp_path / "other_config.json"
    file.write_text(
        json.dumps(PLAIN | {"rope_scaling": {"type": "linear", "factor": 2.0}})
    )
    other.write_text(
        json.dumps(PLAIN | {"rope_theta": 5e5, "max_position_embeddings": 8192})
    )
    assert json.loads(run(file, "--json"))["layers"][0]["rotated"] == 64
    assert [*json.loads(run(tmp_path, "--json"))] == [str(file), str(other)]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert run("-") == run(file) == f"{read_config(file)}\n"
    assert run(tmp_path)[:-1] == "\n\n".join(
        f"{one}\n{read_config(one)}" for one in (file, other)
    )
    told = run("--diff", file, other)
    assert "-intended length: 4 096\n-limit: 4 096\n+intended length: 8 192\n" in told
    assert "\n-  scaling: linear\n" in told
    with pytest.raises(SystemExit, match="2"):
        main(["--diff", str(file), str(file)])
    assert (
        run("--diff", file, f"{tmp_path}/./config.json") == "What runs is the same.\n"
    )
    with (
        pytest.raises(SystemExit),
        pytest.warns(RuntimeWarning, match="posenc.config.__main__"),
    ):
        runpy.run_module("posenc.config", run_name="__main__")


def test_the_page(site, visit):
    page = visit((site / "book" / "config.html").as_uri())
    choice, shown = page.locator("#config-choice"), page.locator("#config-shown")
    files = page.locator("#config-reader").get_attribute("data-files").split()
    assert len(files) > 9
    for name in files:
        found = read_config(RELEASED[name]["config"])
        drawn = [layers.scaling for layers in found.layers if layers.frequencies]
        assert choice.input_value() == name
        assert shown.locator("svg").count() == len(drawn)
        assert shown.locator("li").all_inner_texts() == list(found.warnings)
        assert ("longrope" in drawn) is (
            "moves 0 of 48 pairs, and 47 in " in shown.inner_text()
        )
        choice.press("ArrowDown")
    page.get_by_label("Find a type").fill("NEIGHBORS image")
    rows = page.locator("table.table tbody tr:visible")
    assert (
        0
        < rows.count()
        == rows.filter(has_text="neighbors").filter(has_text="image").count()
    )
    assert page.locator("output").inner_text() == f"{rows.count()} of {len(CODE)}"


if __name__ == "__main__":
    read = {head: reading(head) for head, _ in READINGS}
    rows = [f"# {head}\n{told}" for head, (told, _) in read.items()]
    words = sorted(set().union(*(words for _, words in read.values())))
    rows.append("\n".join([f"# {SAID[0]}", *words]))
    RECORD.write_text("\n\n".join(rows) + "\n", encoding="utf-8")
