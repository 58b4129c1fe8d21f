"""Which numbers a text states, and which a cell shows.

A text is read in three steps: what holds no result is taken out (`NO_RESULT`), numbers are spelled
as Python spells them (`as_in_python`), and those are picked that are results (`stated_in`).
"""

import re
from decimal import Decimal

# What holds numbers that aren't results, taken out by one pass from left to right.
NO_RESULT = re.compile(
    r"""
      ^[ ]*(?:```|:::).*$                          # ```{figure} plot-12.svg
    | ^:\w+:.*$                                    # :width: 400
    | ^[ ]*\d+\.\s                                 # 12. Draw it.
    | (?P<ticks>`+)(?:(?!(?P=ticks)).)+(?P=ticks)  # `n = 50`
    | \[\([\d.]+\)\]\([^)]*\)                      # [(11.2)](11_x.ipynb#eq-a)
    | \[[^\]]*\]\(\#[^)]*\)                        # [12 dials](#fig-turn)
    | \]\([^)]*\)                                  # ](11_does_it_help.ipynb)
    | <[^>]*>                                      # <img width="12">
    | https?://\S+                                 # https://arxiv.org/list?skip=25
    | [Cc]hapters?\s+\d+(?:\s(?:and|to|or)\s\d+)?  # Chapters 11 to 15
    | (?:Figure|Table|(?i:equation|section|exhibit)|Exercise)\s\(?[\d.]+\)?  # Figure 11.
    | (?:Python|Llama|CC[ ]BY|\[version)\s\d+\.\d+ # Python 3.11
    | (?:fifteen\sminutes|Twenty\squestions)       # Twenty questions
    """,
    re.MULTILINE | re.VERBOSE,
)
# How texts spell numbers, and how Python does; in this order.
SPELLINGS = {
    r"(?i)\beleven\b": "11",
    r"(?i)\btwelve\b": "12",
    r"(?i)\bfifteen\b": "15",
    r"(?i)\bsixteen\b": "16",
    r"(?i)\btwenty\b": "20",
    r"(?i)\bfifty\b": "50",
    "−": "-",
    r"\{,\}": "",  # 10{,}000
    r"\\,|\u202f|\xa0": " ",  # 10\,000
    r"\b(\d\d+) million": r"\1e6",
    # 2.5 \cdot 10^{-3}
    r"(\d)\s*(?:\\cdot|·|×|\\times)\s*10\^\{?(-?\d+)\}?": r"\1e\2",
}
THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:[ ,]\d{3})+(?!\d)")  # 10 000, 1,234,567
# Not a part of a name, of an exponent or of a range: A-12, 10^{-12}, 3-12.
RESULT = re.compile(
    r"(?<![\w.,/^{])(?<![\w{}]-)\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w}/-]|\.\d|,\d)"
)
PERCENT = re.compile(r"\s?\\?%")  # behind a number
PRINTED = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def as_in_python(text):
    """Spell numbers such as twelve, 10 000, 10\\,000 and 1e−3 as Python does."""
    for written, plain in SPELLINGS.items():
        text = re.sub(written, plain, text)
    return THOUSANDS.sub(lambda number: re.sub("[ ,]", "", number[0]), text)


def is_small_or_year(number):
    return number.isdigit() and (int(number) < 10 or 1900 <= int(number) <= 2030)


def stated_in(text):
    """The numbers of a text that a cell must show, as written; percentages as ``19 %``."""
    text = as_in_python(NO_RESULT.sub(" ", text))
    for match in RESULT.finditer(text):
        number = match[0]
        if PERCENT.match(text, match.end()):
            yield f"{number} %"
        elif not is_small_or_year(number):
            yield number


def shown_by(cell):
    """The numbers in a cell's outputs, as text, and in its code, but for comments."""
    texts = [re.sub("#.*", "", cell.source).replace("_", "")]  # 10_000
    for output in cell.outputs:
        texts += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
    numbers = PRINTED.findall(as_in_python("\n".join(texts)))
    return {float(number) for number in numbers}


def is_shown(number, shown):
    """Whether a number is among those shown, or one rounds to it; a % may be shown as a share."""
    digits, percent, _ = number.partition(" %")
    # A text may round: 0.62 stands for 0.615 to 0.625, 19 % for 0.185 to 0.195.
    tolerance = 0.500001 * 10.0 ** Decimal(digits).as_tuple().exponent
    scales = (1, 100) if percent else (1,)
    distances = (
        abs(float(digits) - scale * value) for value in shown for scale in scales
    )
    return any(distance <= tolerance for distance in distances)
