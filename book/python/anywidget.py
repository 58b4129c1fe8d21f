"""Stands in for anywidget, which would bring Jupyter."""

from traitlets import HasTraits as AnyWidget

__all__ = ["AnyWidget"]
