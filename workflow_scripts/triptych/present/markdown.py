"""The little Markdown that docs/differences.md and the captions use, as safe HTML.

Headings, paragraphs, bullet lists, tables, `code`, **bold**, *emphasis* and links. All text
is escaped first, so that nothing in it can become an element of the page.
"""

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

_CODE = re.compile(r"``?([^`]+)``?")
_LINK = re.compile(r"\[([^\]]+)\]\((https?://[^)\s\"']+)\)")
_PAGE_LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+\.html)\)")
_LOCAL_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]*\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_EMPHASIS = re.compile(r"(?<!\*)\*([^*\s][^*]*)\*(?!\*)")


def inline(text: str) -> Markup:
    """One run of text: code, bold, emphasis, links. Of the relative links only those to a page in
    the same folder stay; the others keep their text alone, since the page stands by itself."""
    parts = []
    for i, piece in enumerate(_CODE.split(text)):
        safe = str(escape(piece))
        if i % 2:
            parts.append(f"<code>{safe}</code>")
            continue
        safe = _LINK.sub(r'<a href="\2">\1</a>', safe)
        safe = _PAGE_LINK.sub(r'<a href="\2">\1</a>', safe)
        safe = _LOCAL_LINK.sub(r"\1", safe)
        safe = _BOLD.sub(r"<strong>\1</strong>", safe)
        parts.append(_EMPHASIS.sub(r"<em>\1</em>", safe))
    return Markup("".join(parts))


def render(text: str) -> Markup:
    """A whole document. Its headings start at the third level, below those of the page."""
    return Markup("\n").join(_block(block) for block in _blocks(text))


def _blocks(text: str) -> Iterator[list[str]]:
    """Paragraphs, lists, tables and single headings, each as its lines."""
    block: list[str] = []
    for line in text.splitlines():
        heading = line.startswith("#")
        starts = heading or (_kind(line) != _kind(block[0]) if block and line.strip() else False)
        # A line that continues a list item is indented.
        if block and (not line.strip() or (starts and not line.startswith("  "))):
            yield block
            block = []
        if heading:
            yield [line]
        elif line.strip():
            block.append(line)
    if block:
        yield block


def _kind(line: str) -> str:
    if line.startswith("|"):
        return "table"
    return "list" if re.match(r"[-*] ", line) else "text"


def _block(lines: list[str]) -> Markup:
    if lines[0].startswith("#"):
        level = min(len(lines[0]) - len(lines[0].lstrip("#")) + 2, 6)
        return Markup(f"<h{level}>{inline(lines[0].lstrip('# '))}</h{level}>")
    kind = _kind(lines[0])
    if kind == "table" and len(lines) > 1:
        return _table(lines)
    if kind == "list":
        return _list(lines)
    return Markup("<p>{}</p>").format(inline(" ".join(line.strip() for line in lines)))


def _list(lines: list[str]) -> Markup:
    items: list[str] = []
    for line in lines:
        if _kind(line) == "list":
            items.append(line[2:].strip())
        else:
            items[-1] += " " + line.strip()
    return Markup("<ul>{}</ul>").format(
        Markup("").join(Markup("<li>{}</li>").format(inline(item)) for item in items)
    )


def _table(lines: list[str]) -> Markup:
    head, *body = [line for i, line in enumerate(lines) if i != 1]
    rows = Markup("").join(_row(line, "td") for line in body)
    return Markup(
        '<div class="scroll" tabindex="0"><table class="text"><thead>{}</thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(_row(head, "th"), rows)


def _row(line: str, cell: str) -> Markup:
    texts = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    cells = (
        f"<{cell}>{inline(text.strip().replace(chr(92) + '|', '|'))}</{cell}>" for text in texts
    )
    return Markup(f"<tr>{''.join(cells)}</tr>")
