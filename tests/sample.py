"""A sample of what is slow to test; CI tests all of it weekly."""

import os


def some(of, always=()):
    """All of these with WHOLE=1, as CI sets weekly; otherwise one in six, and those named."""
    whole = os.environ.get("WHOLE")
    return [each for n, each in enumerate(of) if whole or n % 6 == 0 or each in always]
