"""Stub for anywidget, which would pull in Jupyter."""

from traitlets import HasTraits as AnyWidget

__all__ = ["AnyWidget"]
