"""Record the defaults of configuration classes for the fields about positions.

`python tools/models.py` instantiates every configuration class of the installed transformers and
writes these fields to ``notebooks/data/models.json``. `make bench` installs it in ``.venv/bench``.
"""

import json
import re
from contextlib import suppress
from datetime import date
from importlib.metadata import version
from pathlib import Path

DATA = Path(__file__).parents[1] / "notebooks" / "data"
TELLING = re.compile(
    r"position|relative|alibi|rotary|rope|num_buckets|^(?:head_dim|hidden_size|num_attention_heads)$"
)


def configurations():
    """Return each model type's fields about positions and the width of heads."""
    from transformers import CONFIG_MAPPING

    found = {}
    for name in sorted(CONFIG_MAPPING):
        with suppress(Exception):  # a class that needs arguments
            said = sorted(CONFIG_MAPPING[name]().to_dict().items())
            kept = {key: value for key, value in said if TELLING.search(key)}
            found[name] = {k: v for k, v in kept.items() if not isinstance(v, list | str | None)}
    return {name: kept for name, kept in found.items() if kept}


if __name__ == "__main__":
    made = {"made by": "tools/models.py", "transformers": version("transformers")}
    record = made | {"date": str(date.today()), "models": configurations()}
    text = json.dumps(record, indent=1, default=str, ensure_ascii=False)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), text)  # flat lists
    (DATA / "models.json").write_text(text + "\n", encoding="utf-8")
