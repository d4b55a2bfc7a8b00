"""The Markdown of docs/differences.md and the captions, as safe HTML.

Headings, paragraphs, bullet lists, tables, `code`, **bold**, *emphasis* and links; everything else,
HTML first of all, is shown as the text that it is.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markupsafe import Markup

_ELEMENTS = ("heading", "list", "table", "backticks", "emphasis", "link", "newline")
_KEPT_LINK = re.compile(r"https?://.+|[\w-]+\.html")


def inline(text: str) -> Markup:
    """One run of text: code, bold, emphasis, links. Of the relative links only those to a page in
    the same folder stay; the others keep their text alone, since the page stands by itself."""
    return Markup(_PARSER.renderInline(text.strip()))


def render(text: str) -> Markup:
    """A whole document. Its headings start at the third level, below those of the page."""
    return Markup(_PARSER.render(text))


def _fit_the_page(state: StateCore) -> None:
    """Headings two levels down, and links without those that lead nowhere."""
    for token in state.tokens:
        if token.type.startswith("heading"):
            token.tag = f"h{min(int(token.tag[1:]) + 2, 6)}"
        if not token.children:
            continue
        lines, inside = [], True
        for part in token.children:
            if part.type == "link_open":
                inside = _KEPT_LINK.fullmatch(str(part.attrGet("href"))) is not None
            if inside or part.type not in ("link_open", "link_close"):
                lines.append(part)
        token.children = lines


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"html": False}).enable(_ELEMENTS)
    parser.core.ruler.push("fit_the_page", _fit_the_page)
    opening = '<div class="scroll" tabindex="0"><table class="text">'
    parser.add_render_rule("table_open", lambda *_: opening)
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    return parser


_PARSER = _parser()
