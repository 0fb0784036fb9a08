"""A module map as a picture: a row for each layer, an arrow for each dependency."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from findspot.research.module_map import Dependence, ModuleMap

_CHAR, _BOX_HEIGHT, _PAD = 7.2, 34, 14
_GAP_X, _GAP_Y, _MARGIN = 28, 86, 48
_MIN_WIDTH = 70
_ASIDE = 46
"""How far an arrow keeps to the side for each layer that it passes."""
_STYLE = (
    "text{font:12px ui-monospace,monospace;fill:#1b2733}"
    ".box{fill:#eef4fb;stroke:#5b7ea6}.edge{fill:none;stroke:#8aa0b8}"
    ".back{fill:none;stroke:#c0563f;stroke-dasharray:5 3}"
    "@media(prefers-color-scheme:dark){text{fill:#dbe6f2}.box{fill:#1d2a38;stroke:#6d93bf}}"
)

Box = tuple[float, float, float]
"""Left, top and width."""


def draw(modules: ModuleMap) -> str:
    """Return the map as SVG; arrows lead from importer to imported, and are dashed in cycles."""
    boxes, width, height = _placed(modules)
    level = {name: number for number, layer in enumerate(modules.layers) for name in layer}
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Modules and their dependencies">'
    )
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 8 4 0 8z" fill="#8aa0b8"/></marker></defs>'
    )
    arrows = (_arrow(boxes, d, level[d.target] - level[d.source]) for d in modules.dependences)
    return "\n".join(
        (head, f"<style>{_STYLE}</style>", marker, *arrows, *_boxes(boxes, modules), "</svg>", "")
    )


def _placed(modules: ModuleMap) -> tuple[dict[str, Box], float, float]:
    """Return each layer centred on its row."""
    rows = [[(name, _width(name)) for name in layer] for layer in modules.layers]
    lengths = [sum(width for _, width in row) + _GAP_X * (len(row) - 1) for row in rows]
    whole = max([*lengths, 0.0]) + 2 * _MARGIN
    boxes: dict[str, Box] = {}
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        left = (whole - length) / 2
        for name, width in row:
            boxes[name] = (left, _MARGIN + number * _GAP_Y, width)
            left += width + _GAP_X
    return boxes, whole, 2 * _MARGIN + max(len(rows) - 1, 0) * _GAP_Y + _BOX_HEIGHT


def _width(name: str) -> float:
    return max(_MIN_WIDTH, len(name) * _CHAR + 2 * _PAD)


def _boxes(boxes: dict[str, Box], modules: ModuleMap) -> Iterator[str]:
    for name, (left, top, width) in boxes.items():
        files = len(modules.files[name])
        middle = left + width / 2
        yield (
            f"<g><title>{escape(name)}: {files} file{'s' * (files != 1)}</title>"
            f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{_BOX_HEIGHT}" rx="6"/>'
            f'<text x="{middle:.1f}" y="{top + 21:.1f}" text-anchor="middle">{escape(name)}</text></g>'
        )


def _arrow(boxes: dict[str, Box], dependence: Dependence, levels: int) -> str:
    x1, y1, w1 = boxes[dependence.source]
    x2, y2, w2 = boxes[dependence.target]
    start, end, bend = (x1 + w1 / 2, y1 + _BOX_HEIGHT), (x2 + w2 / 2, y2), _GAP_Y / 2
    if levels <= 0:  # within a layer or upwards: out of the top, into the bottom
        start, end, bend = (x1 + w1 / 2, y1), (x2 + w2 / 2, y2 + _BOX_HEIGHT), -bend
    aside = _ASIDE * min(max(abs(levels) - 1, 0), 3) * (1 if start[0] <= end[0] else -1)
    title = f"{dependence.source} imports {dependence.target} ({dependence.count})"
    return (
        f'<path class="{"edge" if levels > 0 else "back"}" marker-end="url(#tip)" '
        f'd="M{start[0]:.1f} {start[1]:.1f}C{start[0] + aside:.1f} {start[1] + bend:.1f} '
        f'{end[0] + aside:.1f} {end[1] - bend:.1f} {end[0]:.1f} {end[1]:.1f}">'
        f"<title>{escape(title)}</title></path>"
    )
