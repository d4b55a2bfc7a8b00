"""What a reasoning model wrote before it answered is no answer: it is taken off here.

Models mark their reasoning in many ways, and a server may pass the marks on: a block whose opening
stands in the model's own template and never in the text, one that the limit on tokens cut before
its end, channels, headings. What can't be told from an answer is dropped: a caption that is lost
costs a second request, a thought that is let in spoils the data.
"""

import html
import re

_NAMES = (
    r"(?:seed:|antml:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|"
    r"inner_monologue|planning|cot|chain_of_thought)"
)
_OPENING = rf"""
    <{_NAMES}(?:\s[^<>]*)?> | \[{_NAMES}\] | ◁{_NAMES}▷ | <\|?{_NAMES}\|>
  | <\|begin_of_thought\|> | <\|start_thinking\|> | <unused94>
"""
_CLOSING = rf"""
    </{_NAMES}\s*> | \[/{_NAMES}\] | ◁/{_NAMES}▷ | <\|?/{_NAMES}\|>
  | <\|end_of_thought\|> | <\|end_thinking\|> | <unused95>
"""
_MARK = re.compile(rf"(?P<open>{_OPENING})|(?P<close>{_CLOSING})", re.IGNORECASE | re.VERBOSE)
_ANSWER = re.compile(
    r"<(answer|final|final_answer|response|output|captions|solution)>(.*?)(?:</\1>|$)",
    re.IGNORECASE | re.DOTALL,
)
# gpt-oss: with its special tokens, or with these taken off by the server.
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*<\|message\|>", re.IGNORECASE)
_BARE_CHANNEL = re.compile(r"^analysis(?=[A-Z])(?:.*assistant\s*final)?", re.DOTALL)
_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|<(?:end|start)_of_turn>", re.IGNORECASE)

_HEADING = r"^[\s#*_>-]*(?:(?:here(?:'s| is)|my|the|step \d+[.:])\s+)*"
_THOUGHT_HEADING = re.compile(
    _HEADING + r"(?:(?:thinking|thought|reasoning|planning)(?: process)?|thoughts|analysis|"
    r"explanations?|rationale|notes?|drafts?|scratchpad|chain of thought|let'?s think[^:\n]*|"
    r"word counts?|self[- ]check)[\s*_]*(?::.*|[*_.\s]*)$",
    re.IGNORECASE,
)
_ANSWER_HEADING = re.compile(
    _HEADING + r"(?:(?:final|new|rephrased|resulting|five|5) )*"
    r"(?:answers?|captions?|outputs?|response|list|versions?|sentences)[\s*_]*:?[\s*_]*$",
    re.IGNORECASE,
)


def names_reasoning(name: str) -> bool:
    """Whether what stands under a name in a JSON answer is thought, not said."""
    return re.fullmatch(rf"{_NAMES}|steps|notes|plan|drafts?|rationale", name.lower()) is not None


def without_reasoning(text: str) -> str:
    """An answer without what was thought before, between or after; "" if it is nothing else."""
    if "&lt;" in text:
        text = html.unescape(text)
    channels = list(_CHANNEL.finditer(text))
    if channels:
        last = channels[-1]
        text = text[last.end() :] if last[1].lower() == "final" else ""
    text = _BARE_CHANNEL.sub("", text) if "assistant" in text else text
    text = _outside_blocks(text)
    answers = _ANSWER.findall(text)
    text = answers[-1][1] if answers else text
    return _outside_headings(_SPECIAL.sub("\n", text)).strip()


def _outside_blocks(text: str) -> str:
    """What stands in no block of thoughts.

    All before an end without a beginning is thought as well, and all after a beginning without an
    end.
    """
    kept: list[str] = []
    depth, start = 0, 0
    for mark in _MARK.finditer(text):
        if mark["open"]:
            if depth == 0:
                kept.append(text[start : mark.start()])
            depth += 1
        else:
            if depth == 0:
                kept.clear()
            depth = max(0, depth - 1)
            start = mark.end()
    return "\n".join([*kept, text[start:] if depth == 0 else ""])


def _outside_headings(text: str) -> str:
    """What stands under no heading of thoughts: neither before the last heading of an answer nor
    from a later heading of thoughts on."""
    lines = text.splitlines()
    answers = [number for number, line in enumerate(lines) if _ANSWER_HEADING.match(line)]
    if answers and any(line.strip() for line in lines[answers[-1] + 1 :]):
        lines = lines[answers[-1] + 1 :]
    for number, line in enumerate(lines):
        if _THOUGHT_HEADING.match(line):
            return "\n".join(lines[:number])
    return "\n".join(lines)
