"""A caption said in other ways, before any word is exchanged.

It is split at what relates its events (while, as, and then, followed by, before, after, with ...
in the background); the parts are put together in the other ways that English has for the same
relation, so "a dog barks and then a bell rings" may become "a bell rings after a dog barks", never
"a dog barks after a bell rings". What is not understood is left as it stands.
"""

import re

from triptych.audio.captions.clauses import (
    INNER,
    absolute,
    as_clause,
    is_clause,
    leans,
    named,
    other_tense,
    parse_clause,
    passive,
    simple,
)

_PLACE = (
    r"in the (?:background|distance|foreground)|nearby|close by|far away|outside|outdoors|overhead|"
    r"in the (?:woods|forest|city|street|park|rain|kitchen|room)|from (?:far away|a distance)"
)
_TRAILING_PLACE = re.compile(rf"^(?P<rest>.+?),? (?P<place>{_PLACE})$")
_LEADING_PLACE = re.compile(rf"^(?P<place>{_PLACE}),? (?P<rest>.+)$")
_TRAILING_PHRASE = re.compile(
    r"^(?P<rest>.+?) (?P<place>"
    r"(?:in|on|at|near|inside|under|across|through|along|down|from|against) "
    r"(?:a|an|the) [\w-]+(?: [\w-]+)?|over and over|again and again|several times|throughout|"
    r"slowly|repeatedly|continuously|constantly|steadily|occasionally|quickly|loudly|softly|quietly)$"
)


def frames_of(text: str) -> list[str]:
    """Everything that the caption may be turned into before words are exchanged."""
    for read in (_read_fronted, _read_sequence, _read_background, _read_while, _read_order):
        frames = read(text)
        if frames:
            return list(dict.fromkeys(frames))
    return list(dict.fromkeys(_single(text)))


def _read_fronted(text: str) -> list[str]:
    match = re.match(r"^(while|as|after|before|when) (.+?), (.+)$", text)
    if not match:
        return []
    relation, side, main = match.groups()
    if not as_clause(side) or not is_clause(main):
        frames = (
            [text, f"once {side}, {main}"] if relation == "after" and is_clause(side) else [text]
        )
        turned = not leans(main) and "," not in main and not main.startswith("and ")
        return [*frames, f"{main} {relation} {side}"] if turned else frames
    if relation in ("while", "as"):
        return _while(main, side)
    if relation == "when":
        return [text] if leans(main) else [text, f"{main} when {side}"]
    return _then(side, main) if relation == "after" else _then(main, side)


def _read_sequence(text: str) -> list[str]:
    match = re.match(r"^(.+?),?(?: is| are)? followed (?:closely |shortly )?by (.+)$", text)
    if match:
        return _followed(*match.groups())
    text = re.sub(r"^first,? ", "", text)
    match = re.match(
        r"^(.+?),? (?:(?:and|before) )?(?:then|afterwards|after that|next) (.+)$", text
    )
    if not match or re.search(r"\b(?:and|than|back|now|every|right)$", match[1]):
        return []
    first, second = match.groups()
    if not is_clause(first):
        return _after_sound(first, second) if named(first) else []
    if is_clause(second):
        return _then(first, second)
    ways = ("then", "and then", "and afterwards", "and after that", "and next")
    return [f"{first}, {way} {second}" for way in ways] + [f"first {first}, and then {second}"]


def _read_background(text: str) -> list[str]:
    match = re.match(r"^(.+?),? with (.+?) in the (background|distance|foreground)$", text)
    if match:
        main, sound, place = match.groups()
    else:
        match = re.match(r"^with (.+?) in the (background|distance|foreground), (.+)$", text)
        if not match:
            return []
        sound, place, main = match.groups()
    if leans(sound):
        return [text]
    frames = [text]
    clause = as_clause(sound) if is_clause(main) else None
    if clause:
        frames += [f"{main} while {clause} in the {place}",
                   f"in the {place}, {clause} while {main}",
                   f"{main}, and in the {place} {clause}",
                   f"{clause} in the {place} as {main}"]  # fmt: skip
    elif is_clause(main):
        frames += [f"with {sound} in the {place}, {main}",
                   f"{main}, and in the {place} is the sound of {sound}",
                   f"{main}, accompanied by {sound} in the {place}",
                   f"{other_tense(main)} with {sound} in the {place}"]  # fmt: skip
    else:
        frames += [f"the sound of {main} goes along with {sound} in the {place}",
                   f"there is the sound of {main}, with {sound} in the {place}",
                   f"{main}, accompanied by {sound} in the {place}",
                   f"with {sound} in the {place}, there is the sound of {main}"]  # fmt: skip
    return frames


def _read_while(text: str) -> list[str]:
    match = re.match(r"^(.+?),? (while|whilst|as) (.+)$", text)
    if not match:
        return []
    main, relation, side = match.groups()
    if relation == "as" and (
        re.search(
            r"\b(?:such|same|as|so|just|sounds?|well|far|long|soon|much|used|described|like)$", main
        )
        or (
            re.match(r"(?:well|if|a|an|though|it gets|many|much|loud|far) ", side)
            and not is_clause(side)
        )
    ):
        return []
    main = as_clause(main) or ""
    if not main:
        return []
    clause = as_clause(side) if not re.match(r"\w+ing\b", side) else None
    if clause:
        return _while(main, clause)
    if re.match(r"\w+ing\b", side) and not leans(side):
        other = other_tense(main)
        return [
            f"while {side}, {main}",
            f"{other} while {side}",
            f"while {side}, {other}",
            f"{main}, all the while {side}",
        ]
    return []


def _read_order(text: str) -> list[str]:
    match = re.match(r"^(.+?),? (before|after) (.+)$", text)
    if not match or not is_clause(match[1]):
        return []
    main, relation, side = match.groups()
    if is_clause(side):
        return _then(main, side) if relation == "before" else _then(side, main)
    if re.match(r"(?:being )?\w+ing\b", side):
        other = other_tense(main)
        return [
            f"{relation} {side}, {main}",
            f"{other} {relation} {side}",
            f"{relation} {side}, {other}",
        ]
    return []


def _while(main: str, side: str) -> list[str]:
    """Two things at once."""
    frames = [f"{main} while {side}", f"{main} as {side}", f"{main}, and at the same time {side}",
              f"{other_tense(main)} while {other_tense(side)}", f"as {main}, {side}"]  # fmt: skip
    accompanying = absolute(side)
    if accompanying and not leans(side):
        frames += [f"{main} with {accompanying}", f"{other_tense(main)}, with {accompanying}"]
    if not leans(side):
        frames += [f"{side} while {main}", f"while {side}, {main}", f"as {side}, {main}",
                   f"{side}, and at the same time {main}"]  # fmt: skip
        placed = _TRAILING_PLACE.match(side)
        if placed:
            frames.append(f"{placed['place']}, {placed['rest']} while {main}")
    return frames


def _then(first: str, second: str) -> list[str]:
    """One thing after another; the first stays the first however it is said."""
    one, two = simple(first), simple(second)
    frames = [f"{first}, and then {second}", f"first {first}, then {second}",
              f"{first}, and afterwards {second}", f"{first}, and after that {second}"]  # fmt: skip
    if not re.search(r"\b(?:is|are) \w+ing\b", one):
        frames += [f"after {one}, {two}", f"{one} before {two}", f"once {one}, {two}"]
        if not leans(second):
            frames += [f"{two} after {one}", f"before {two}, {one}"]
    return frames


def _after_sound(first: str, second: str) -> list[str]:
    """ "Footsteps, then a door closes": the first is a noun phrase."""
    if not is_clause(second):
        return _followed(first, second)
    frames = [f"{first}, and then {second}", f"first {first}, then {second}",
              f"{first}, and afterwards {second}", f"after {first}, {second}"]  # fmt: skip
    if leans(second):
        return frames
    return [*frames, f"{second} after {first}",
            f"there is the sound of {first} before {simple(second)}"]  # fmt: skip


def _followed(first: str, second: str) -> list[str]:
    """`second` is a noun phrase: "footsteps", "a bell ringing"."""
    clause = as_clause(second) if not leans(second) else None
    if is_clause(first) and clause:
        return [f"{first}, followed by {second}", *_then(first, clause)]
    frames = [f"{first}, followed by {second}", f"first {first}, then {second}"]
    if is_clause(first):
        return [*frames, f"{first}, with {second} afterwards",
                f"{first}, and next is the sound of {second}",
                f"after {simple(first)}, there is the sound of {second}"]  # fmt: skip
    return [*frames, f"the sound of {first} is followed by {second}",
            f"there is the sound of {first}, and then of {second}",
            f"the sound of {first} comes before that of {second}"]  # fmt: skip


def _single(text: str) -> list[str]:
    """One event: another tense, another place for the place, "there is", "the sound of"."""
    frames = [text]
    leading = _LEADING_PLACE.match(text)
    if leading and is_clause(leading["rest"]):
        place, rest = leading["place"], leading["rest"]
        frames += [f"{place}, {other_tense(rest)}"]
        if not INNER.search(rest):
            frames += [f"{rest} {place}", f"{other_tense(rest)} {place}"]
    trailing = _TRAILING_PLACE.match(text) or _TRAILING_PHRASE.match(text)
    if trailing and is_clause(trailing["rest"]) and not INNER.search(text):
        place, rest = trailing["place"], trailing["rest"]
        frames += [f"{place}, {rest}", f"{place}, {other_tense(rest)}"]
    joined = _joined_clauses(text)
    if joined:
        one, two = joined
        return [*frames, f"{one}, and {two}", f"{other_tense(one)} and {two}",
                f"{one}, and {other_tense(two)}", f"{other_tense(one)}, and {other_tense(two)}",
                f"{one}; {two}"]  # fmt: skip
    clause = parse_clause(text)
    if clause is None:
        made = as_clause(text)
        clause = parse_clause(made) if made else None
        if clause is None:
            return [*frames, *(passive(text) if is_clause(text) else named(text))]
    frames += [clause.simple(), clause.progressive()]
    existential = clause.existential()
    if existential:
        frames.append(existential)
    sound = clause.absolute()
    if sound and not leans(clause.who) and not INNER.search(text):
        frames += [f"the sound of {sound} is present", f"this is the sound of {sound}",
                   f"one can make out the sound of {sound}"]  # fmt: skip
    return frames


def _joined_clauses(text: str) -> tuple[str, str] | None:
    """The two clauses of "a tap is turned on and water runs"."""
    for match in re.finditer(r",? and ", text):
        one, two = text[: match.start()], text[match.end() :]
        if is_clause(one) and is_clause(two):
            return one, two
    return None
