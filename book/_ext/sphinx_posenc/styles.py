"""Shrinks stylesheets: of all rules, `used_rules` keeps those that can match on the site's pages.

It goes by words, not by documents: a rule stays if each element, class and id that its selector
names stands in some tag of a page, or anywhere in a script. That keeps a few rules too
many. ``a.b:not(.c) [d]`` names ``a`` and ``b``.
"""

import hashlib
import os
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import tinycss2

URL = re.compile(r"""url\(\s*("[^"]*"|'[^']*'|[^)"']*?)\s*\)""")
CLEAN = {"skip_comments": True, "skip_whitespace": True}  # for tinycss2


def read_style(path: Path, folder: Path) -> str:
    """A stylesheet with its URLs relative to a folder."""

    def address(url: re.Match[str]) -> str:
        target = url[1].strip("\"'")
        if target.startswith(("data:", "#")):
            return url[0]
        file = os.path.relpath(path.parent / target.partition("?")[0], folder)
        return f'url("{Path(file).as_posix()}")'

    css = re.sub(
        r"@charset [^;]*;|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S
    )
    return URL.sub(address, css)


def text(tokens: list[Any]) -> str:
    """Serialize tokens, collapsing whitespace."""
    return re.sub(r"\s+", " ", tinycss2.serialize(tokens)).strip()


def names(selector: list[Any]) -> set[str]:
    """The elements, classes and ids that a selector names; ``:not(.a)`` and ``[b]`` name none."""
    return {
        token.value
        for before, token in zip([None, *selector], selector, strict=False)
        if token.type == "hash" or (token.type == "ident" and before != ":")
    }


def matching(rule: Any, words: set[str]) -> list[str]:
    """The selectors of a rule that can match."""
    parts = groupby(rule.prelude, lambda token: token == ",")
    selectors = [[*tokens] for is_comma, tokens in parts if not is_comma]
    return [text(selector) for selector in selectors if names(selector) <= words]


def useful(rule: Any, read: set[str]) -> list[str]:
    """What a rule declares, and nested rules, without custom properties that nothing reads."""
    parts = tinycss2.parse_blocks_contents(rule.content, **CLEAN)
    return [
        text([part])
        for part in parts
        if part.type != "declaration" or part.name[:2] != "--" or part.name in read
    ]


def purge(rules: list[Any], words: set[str], read: set[str]) -> str:
    """Keep rules that name only these words, and custom properties and animations that are read."""
    css = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors, inside = matching(rule, words), useful(rule, read)
            if selectors and inside:
                css.append(f"{','.join(selectors)}{{{''.join(inside)}}}")
        elif rule.at_keyword in {"media", "supports"}:
            inner = tinycss2.parse_rule_list(rule.content, **CLEAN)
            if within := purge(inner, words, read):
                css.append(f"@{rule.at_keyword} {text(rule.prelude)}{{{within}}}")
        elif "keyframes" not in rule.at_keyword or text(rule.prelude) in read:
            css.append(text([rule]))
    return "".join(css)


def used_rules(rules: list[Any], words: set[str]) -> str:
    """The rules that can match, by the words in tags and scripts, and the properties they read."""
    # Twice: what only dropped rules would read goes in the second round.
    css = purge(
        rules, words, words | {*re.findall(r"--[\w-]+", tinycss2.serialize(rules))}
    )
    values = " ".join(re.findall(r"var\(\s*--[\w-]+|animation[\w-]*:[^;}]*", css))
    return purge(rules, words, words | {*re.findall(r"[\w-]+", values)})


def store(folder: Path, name: str, suffix: str, content: bytes) -> str:
    """Write a file with a hash of its content in its name, and return the name."""
    path = folder / f"{name}.{hashlib.sha256(content).hexdigest()[:10]}{suffix}"
    path.write_bytes(content)
    return path.name
