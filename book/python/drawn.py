"""A backend of matplotlib for the page: figures are shown as SVG."""

from typing import Any

from kernel import show_figures
from matplotlib.backends.backend_svg import FigureCanvasSVG as FigureCanvas

__all__ = ["FigureCanvas", "show"]


def show(*args: Any, **kwargs: Any) -> None:
    """Show all open figures now."""
    show_figures()
