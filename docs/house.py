"""docs/house.svg: which part of the library imports which, read from the imports themselves.

`make house` draws it anew; tests/test_house.py looks whether it is still true.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "workflow_scripts"

# Name, what it is, and where its box stands: column and row of a grid.
PARTS = {
    "scripts": ("one thin script a rule", 1, 0),
    "cli": ("the command triptych", 3, 0),
    "init": ("a folder of one's own", 4, 0),
    "doctor": ("what works on a machine", 0, 0),
    "demo": ("what stands in for downloads", 0, 1),
    "studies": ("the list of papers", 2, 1),
    "plan": ("what a run takes", 3, 1),
    "gpu": ("a GPU, measured", 4, 1),
    "style": ("style transfer", 1, 2),
    "audio": ("audio retrieval", 2, 2),
    "rl": ("offline RL", 3, 2),
    "report": ("tables, figures, verdicts, page", 2, 3),
    "core": ("jobs, files, the training loop, provenance, statistics: imported by all", 2, 4),
}
WIDTH, HEIGHT, GAP_X, GAP_Y = 168, 50, 26, 62


def imports() -> set[tuple[str, str]]:
    """Pairs of parts, the first of which imports the second."""
    found = set()
    for path in sorted(LIBRARY.rglob("*.py")):
        inside = path.relative_to(LIBRARY).parts
        part = "scripts" if len(inside) == 1 else inside[1].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "triptych":
                names = (node.module or "").split(".")[1:] or [each.name for each in node.names]
                found.add((part, names[0]))
    return {(one, other) for one, other in found if one != other and one != "__init__"}


def drawing() -> str:
    """The parts as boxes, an arrow from each to what it imports."""
    lines = []
    for one, other in sorted(imports()):
        if other == "core":  # of which all do
            continue
        (x0, y0), (x1, y1) = _place(one), _place(other)
        start, end = x0 + WIDTH / 2, x1 + WIDTH / 2
        if y1 > y0:
            low, high = y0 + HEIGHT, y1 - 5
            bend = (low + high) / 2
        elif y1 == y0:
            low, high, bend = y0, y1 - 5, y0 - GAP_Y / 2
        else:
            low, high = y0, y1 + HEIGHT + 5
            bend = (low + high) / 2
        path = f"M{start},{low} C{start},{bend} {end},{bend} {end},{high}"
        lines.append(
            f'<path d="{path}" fill="none" stroke="#6b7785" stroke-width="1.3" '
            'marker-end="url(#head)"/>'
        )
    for name, (what, _, _) in PARTS.items():
        x, y = _place(name)
        wide = WIDTH
        if name == "core":  # what all stand on
            x, wide = GAP_X, 5 * WIDTH + 4 * GAP_X
        wing = name in ("style", "audio", "rl")
        lines += [
            f'<rect x="{x}" y="{y}" width="{wide}" height="{HEIGHT}" rx="6" '
            f'fill="{"#e6f2fa" if wing else "#f5f7f9"}" stroke="#6b7785"/>',
            f'<text x="{x + wide / 2}" y="{y + 21}" font-weight="bold">{name}</text>',
            f'<text x="{x + wide / 2}" y="{y + 38}" font-size="10.5" fill="#52606d">{what}</text>',
        ]
    width, height = 5 * (WIDTH + GAP_X) + GAP_X, 5 * (HEIGHT + GAP_Y)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="14" text-anchor="middle" fill="#1f2933">',
            "<title>Which part of the library imports which</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            '<marker id="head" markerWidth="8" markerHeight="8" refX="4" refY="3" orient="auto">'
            '<path d="M0,0 L6,3 L0,6 z" fill="#6b7785"/></marker>',
            *lines,
            "</svg>\n",
        ]
    )


def _place(name: str) -> tuple[int, int]:
    _, column, row = PARTS[name]
    return GAP_X + column * (WIDTH + GAP_X), GAP_Y // 2 + row * (HEIGHT + GAP_Y)


if __name__ == "__main__":
    (ROOT / "docs" / "house.svg").write_text(drawing(), encoding="utf-8")
