"""New captions without a language model: clauses are reordered, words exchanged, keywords added.

For the demo and for work without a network. `frames` says a caption in other ways; here these get
synonyms and keywords, and as many as are asked for are chosen.
"""

import hashlib
import random
import re
from collections.abc import Iterator

from triptych.audio.captions.answers import same_words
from triptych.audio.captions.clauses import is_clause, named
from triptych.audio.captions.frames import frames_of
from triptych.audio.captions.keywords import missing_sounds
from triptych.audio.captions.rules import words_of
from triptych.audio.captions.wording import SYNONYMS, fix_articles, replaceable

FEWEST_WORDS, MOST_WORDS = 8, 20
"""Clotho's captions have 8 to 20 words."""

_ENDS_HERE = re.compile(r"$|[,;]| (?:while|as|and|in|on|at|before|after|with|then)\b")
_OPENINGS = ("here,", "in this scene,", "at this point,", "in this place,", "now")

Draw = random.Random


def template_captions(caption: str, keywords: list[str], count: int, seed: int) -> list[str]:
    """`count` distinct captions that say the same, a function of caption, keywords and seed.

    8 to 20 words each where that can be had; none of a caption without words. About two of five
    name a sound that is among the keywords and not in the caption.
    """
    draw = random.Random(_number(seed, caption, *keywords))
    text = _clean(caption)
    if not text:
        return []
    frames = frames_of(text)
    draw.shuffle(frames)
    sounds = missing_sounds(caption, keywords)
    places = re.search(r"\b(?:background|distance|foreground)\b", text)
    seen = {same_words(caption)}
    chosen: list[str] = []
    spare: list[str] = []
    for number, frame in enumerate(_endless(frames, text, draw)):
        if len(chosen) == count or number >= 60:
            break
        add = sounds and len(chosen) % 5 in (1, 3)
        new = _with_sound(frame, sounds, bool(places), draw) if add else frame
        new = _finish(_vary(new, draw))
        if same_words(new) in seen:
            continue
        length = len(words_of(new))
        if length > MOST_WORDS or (length < FEWEST_WORDS and number < 2 * len(frames)):
            spare.append(new)
            continue
        seen.add(same_words(new))
        chosen.append(new)
    spare.sort(key=lambda each: abs(len(words_of(each)) - (FEWEST_WORDS + MOST_WORDS) / 2))
    for new in spare:
        if len(chosen) < count and same_words(new) not in seen:
            seen.add(same_words(new))
            chosen.append(new)
    return chosen


def _number(*key: int | str) -> int:
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big")


def _endless(frames: list[str], text: str, draw: Draw) -> Iterator[str]:
    """The frames, each with other synonyms at each turn; then with words that add nothing."""
    for _ in range(3):
        yield from frames
    # "A tap is turned on" has few other forms: say that it is here, which adds nothing.
    said = f"there is the sound of {text}" if not is_clause(text) and named(text) else text
    yield from (f"{opening} {said}" for opening in _OPENINGS)
    while True:
        yield draw.choice(frames)


def _clean(caption: str) -> str:
    """One line, no full stop, lower case at the start, nobody listening."""
    text = " ".join(caption.split()).strip(" .!;,\"'")
    text = re.sub(r",? (?:can|could) be (?:\w+ly )?heard\b", "", text)
    text = re.sub(r",? (?:is|are|was|were) (?:\w+ly )?(?:heard|audible)\b", "", text)
    text = re.sub(r" heard (?=in|from|on|at|over|outside|nearby)", " ", text)
    first = text.split(" ", 1)[0]
    if first[1:] == first[1:].lower() and first != "I":
        text = text[:1].lower() + text[1:]
    return text


def _finish(text: str) -> str:
    text = re.sub(r"\s+", " ", fix_articles(text)).strip(" ,")
    return text[:1].upper() + text[1:] + "."


def _vary(text: str, draw: Draw) -> str:
    """Exchange up to three words; a long text does not get longer."""
    tight = text.count(" ") >= MOST_WORDS - 4
    sites = replaceable(text)
    chosen = draw.sample(sites, min(len(sites), draw.choice((1, 2, 2, 3))))
    for site in sorted(chosen, key=lambda match: -match.start()):
        choices = SYNONYMS[site[0].lower()]
        if tight:
            choices = tuple(each for each in choices if each.count(" ") <= site[0].count(" "))
        if not choices:
            continue
        new = draw.choice(choices)
        article = re.search(r"\b(?:a|an) $", text[: site.start()])
        start = site.start()
        if " " in new and site[0].endswith("ly") and not _ENDS_HERE.match(text[site.end() :]):
            continue
        if article and new.split()[0] in ("a", "lots", "plenty", "some", "on", "without", "at"):
            continue
        text = text[:start] + new + text[site.end() :]
    return text


def _with_sound(text: str, sounds: list[str], placed: bool, draw: Draw) -> str:
    sound = draw.choice(sounds)
    ways = [", along with {}", ", together with the sound of {}"]
    if not placed:
        ways = [", with {} in the background", " with the sound of {} in the background"]
    return text + draw.choice(ways).format(sound)
