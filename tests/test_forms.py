"""What can be taken along: text for programs, and the ledger as data."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

SITE = Path(__file__).parents[1] / "_build" / "html"
pytestmark = pytest.mark.skipif(not SITE.exists(), reason="no site was built: run `make book`")


def test_every_page_has_a_twin_in_markdown_that_llms_txt_lists():
    listed = re.findall(
        r"^- \[.+?\]\((?:https?://[^)]*?/)?([\w/.-]+\.md)\): \S",
        (SITE / "llms.txt").read_text(),
        re.M,
    )
    pages = [p for p in SITE.rglob("*.html") if 'rel="alternate"' in p.read_text("utf-8")]
    twins = sorted(p.relative_to(SITE).with_suffix(".md").as_posix() for p in pages)
    assert sorted(listed) == twins
    for page in listed:
        text = (SITE / page).read_text("utf-8")
        assert text.startswith("# ")
        for target in re.findall(r"\]\(([\w./-]+\.md)", text):
            assert (SITE / page).parent.joinpath(target).exists(), f"{page} leads to {target}"


def test_the_ledger_as_data_follows_its_schema_and_leads_to_its_places():
    ledger = json.loads((SITE / "book" / "claims.json").read_text("utf-8"))
    jsonschema.validate(ledger, json.loads((SITE / "book" / "claims.schema.json").read_text()))
    for row in ledger["claims"]:
        page, _, anchor = row["address"].rpartition("notebooks/")[2].partition("#")
        assert f'id="{anchor}"' in (SITE / "notebooks" / page).read_text("utf-8"), row["id"]
