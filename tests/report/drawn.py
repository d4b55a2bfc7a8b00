"""Where the texts of a figure come to lie."""

from collections.abc import Iterator
from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text


def misplaced(figure: Figure) -> list[str]:
    """Texts and legends that leave the figure, and titles, names of axes and legends that cover
    each other."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    beyond = {id(text) for axes in figure.axes for text in _unseen(axes)}
    boxes = {
        text.get_text(): text.get_window_extent(canvas.get_renderer())
        for text in figure.findobj(Text)
        if text.get_text().strip() and text.get_visible() and id(text) not in beyond
    }
    legends = {f"legend {n}": its.get_window_extent() for n, its in enumerate(figure.legends)}
    width, height = figure.bbox.size
    wrong = [
        name
        for name, box in (boxes | legends).items()
        if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    titles = {axes.get_title(loc=place) for axes in figure.axes for place in ("left", "right")}
    names = {axes.get_ylabel() for axes in figure.axes}
    heads = {name: box for name, box in boxes.items() if name in titles | names} | legends
    pairs = combinations(heads.items(), 2)
    return wrong + [f"{one} over {other}" for (one, a), (other, b) in pairs if a.overlaps(b)]


def _unseen(axes) -> Iterator[Text]:
    """Labels of ticks beyond the ends of their axes."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)
