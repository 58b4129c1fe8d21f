"""Pages that are templates: they include tables and a script that are written from data.

Of Jinja: ``{% include "ledger.md" %}`` in a page of `PAGES` is the table of all claims (claims.py),
``{% set document = "S3" %}{% include "mistakes.md" %}`` that of a document's mistakes. All that
can be included stands in ``book/_templates``.
"""

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from rjsmin import jsmin

from posenc.config import read_config
from posenc.config.fields import TYPES
from posenc.config.kinds import ENCODINGS

from .claims import judges, ledger

PAGES = ("book/claims", "book/config", "book/errata")
HERE = Path(__file__).parent
TEMPLATES = Environment(
    loader=FileSystemLoader([HERE.parents[1] / "_templates", HERE]),
    trim_blocks=True,  # a loop of rows is a table without blank lines
    keep_trailing_newline=True,
)
TEMPLATES.filters["minify"] = jsmin
TEMPLATES.policies["json.dumps_kwargs"] = {}  # fields stay in their order


def fill(app, docname, source):
    """Write into a page's source what it includes."""
    if docname in PAGES:
        released = app.srcdir / "notebooks" / "data" / "released.json"
        source[0] = TEMPLATES.from_string(source[0]).render(
            claims=ledger(app.srcdir),
            chapters=judges(app.srcdir),
            encodings=ENCODINGS,
            read_config=read_config,
            released=json.loads(released.read_text(encoding="utf-8")),
            types=TYPES,
        )
