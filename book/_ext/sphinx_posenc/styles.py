"""Shrinks stylesheets: of all rules, `used_rules` keeps those that can match on the site's pages.

It goes by words, not by documents: a rule stays if each element, class and id that its selector
names stands in some tag of a page, or anywhere in a script. That keeps a few rules too
many. ``a.b:not(.c) [d]`` names ``a`` and ``b``. An animation stays if a script names it, even
where a rule does: no stylesheet runs one by itself.
"""

import hashlib
import re
from itertools import groupby

import tinycss2

COMMENT = re.compile(r"@charset [^;]*;|/\*.*?\*/", re.DOTALL)
PROPERTY = re.compile(r'(--[\w-]+):(?:"[^"]*"|[^";}])*;?')
CLEAN = {"skip_comments": True, "skip_whitespace": True}  # for tinycss2


def parsed(css):
    """The rules of a stylesheet; a ValueError if it has an error."""
    css = COMMENT.sub("", css)
    rules = tinycss2.parse_rule_list(css, **CLEAN)
    for rule in rules:
        if rule.type == "error":
            raise ValueError(f"line {rule.source_line}: {rule.message}")
    return rules


def serialized(tokens):
    """Serialize tokens, collapsing whitespace."""
    return re.sub(r"\s+", " ", tinycss2.serialize(tokens)).strip()


def names(selector):
    """The elements, classes and ids that a selector names; ``:not(.a)`` and ``[b]`` name none."""
    named, before = set(), None
    for token in selector:
        # ``:hover`` isn't an element.
        if token.type == "hash" or (token.type == "ident" and before != ":"):
            named.add(token.value)
        before = token
    return named


def matching(rule, words):
    """The selectors of a rule that can match."""
    parts = groupby(rule.prelude, lambda token: token == ",")
    selectors = [[*tokens] for is_comma, tokens in parts if not is_comma]
    return ",".join(serialized(one) for one in selectors if names(one) <= words)


def content(rule):
    """What a rule declares, and nested rules."""
    parts = tinycss2.parse_blocks_contents(rule.content, **CLEAN)
    return "".join(serialized([part]) for part in parts)


def matching_rules(rules, words):
    """The rules that name only these words; of at-rules, those that hold such rules."""
    css = []
    for rule in rules:
        # ``a, b { … }``: those of its selectors that can match.
        if rule.type == "qualified-rule":
            head, inside = matching(rule, words), content(rule)
        elif rule.at_keyword in {"media", "supports"}:
            inner = tinycss2.parse_rule_list(rule.content, **CLEAN)
            head = f"@{rule.at_keyword} {serialized(rule.prelude)}"
            inside = matching_rules(inner, words)
        elif "keyframes" in rule.at_keyword and serialized(rule.prelude) not in words:
            continue
        else:  # @layer, @property: as they are
            css.append(serialized([rule]))
            continue
        if head and inside:
            css.append(f"{head}{{{inside}}}")
    return "".join(css)


def used_rules(rules, words):
    """The rules that can match, by the words in tags and scripts, and the properties they read."""
    css = matching_rules(rules, words)
    read = words.union(re.findall(r"var\(\s*(--[\w-]+)", css))
    return PROPERTY.sub(lambda found: found[0] if found[1] in read else "", css)


def store(folder, name, suffix, content):
    """Write a file with a hash of its content in its name, and return the name."""
    path = folder / f"{name}.{hashlib.sha256(content).hexdigest()[:10]}{suffix}"
    path.write_bytes(content)
    return path.name
