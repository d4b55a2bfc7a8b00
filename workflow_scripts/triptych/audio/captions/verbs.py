"""Verbs and nouns of sound: their forms, and whether they are one or many."""

import re
from functools import lru_cache


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_DOUBLING = _words("""
    beg rev chat chop clap clip cut dig drip drop drum flap flip get grab hit hum jam jog knit lap
    nip pat plod pop put rap rip rub run scrub shut sip sit skid skip slam slip snap snip spin
    spit stir stop strum strut swat swim tap thud tip trot tug wag whip whir yap zap zip
""")
_IRREGULAR_PLURALS = _words("""
    cattle children cicadas feet folks geese kids men mice people police sheep teeth women
""")
_MASS = _words("""
    air ambience anyone applause audience bacon birdsong chatter construction conversation
    cutlery everyone everything feedback fire foliage food gas glass gravel hail laughter
    liquid machinery metal music nobody noise nothing oil paper rain rainfall sand silverware
    snow somebody someone something speech static steam surf thunder traffic water weather
    wind wood
""")
VERBS = _words("""
    accelerate applaud approach arrive babble bang bark beep begin blare blast bleat blow boil
    bounce break breathe brush bubble buzz cackle carry caw chant chat chatter cheep cheer
    chew chime chink chirp chop chug circle clack clang clank clap clatter clean click clink clop
    close cluck come continue converse coo cook cough count crack crackle crash crawl creak
    crinkle croak crow crumple crunch crush cry cut depart dial dig ding drag draw dribble
    drill drink drip drive drone drop eat echo empty end fall fill fizz flap flip flow flush
    flutter fly fold fry fumble gallop giggle go grind groan growl gurgle gush gust hammer
    hiss hit honk hoot hover howl hum idle jangle jingle jog jump kick knock land lap laugh
    leak lift lock make march meow mix moan moo move mow mumble murmur neigh occur oink open
    operate pace paddle pass patter pause peal peel peep ping place play pop pound pour pull
    pump purr push put putter quack race rake rap rattle read refill resonate resound rev
    reverberate ride ring rinse rip roar roll rotate rub ruffle rumble rummage run rush rustle
    saw scrape scratch scream screech scrub scuff shake shout shovel shuffle shut sigh sing
    sip sit sizzle sketch skip slam slap slice slosh slurp snap snarl sneeze snore sob sort
    spatter speak spill spin splash splatter spray sprinkle sputter squawk squeak squeal
    squeeze squelch squish stack stand start step stir stomp stop stream strike stroll swallow
    sweep swing swirl swish swoosh talk tap tear throw thud thump tick tinkle toll toot toss travel
    tread trickle trill trot turn tweet twist type unlock use vibrate wail wait walk warble
    wash whimper whine whir whisper whistle whoosh wind wipe woof work write yap yell yelp
""")
# Read as adjectives or adverbs (close by, an open door) unless they are inflected.
_NO_BARE_VERBS = _words("""
    close open clean empty dry slow race circle
""")
AUXILIARIES = _words("""
    are can could do does had has have is may might was were will would
""")
PAST = _words("""
    fell ran blew went came began sang rang drove flew broke spoke hit struck shook made got
""")
_IRREGULAR_PARTICIPLES = _words("""
    beaten blown broken cut drawn driven dug ground hit put read run rung sent set shaken shot
    shut split spun struck swept swung taken thrown torn worn wound written wrung
""")
# "is filled", "is crowded": nothing is done.
_STATES = _words("""
    accompanied based closed covered crowded enclosed excited filled finished followed
    interrupted located mixed muffled needed pitched stopped supposed tired
""")


def gerund(base: str) -> str:
    """bark -> barking, make -> making, run -> running."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        return base[:-1] + "ing"
    return base + (base[-1] if base in _DOUBLING else "") + "ing"


def third_person(base: str) -> str:
    """bark -> barks, pass -> passes, fly -> flies."""
    if base.endswith(("s", "sh", "ch", "x", "z")) or base in ("go", "do", "echo"):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


BY_GERUND = {gerund(base): base for base in VERBS}
BY_THIRD = {third_person(base): base for base in VERBS}
BASES = frozenset(VERBS) - frozenset(_NO_BARE_VERBS)


def is_participle(word: str) -> bool:
    """Whether "is <word>" tells that something is done to the subject."""
    return (word.endswith("ed") or word in _IRREGULAR_PARTICIPLES) and word not in _STATES


@lru_cache(maxsize=4096)
def number_of(noun_phrase: str) -> str | None:
    """ "one" or "many" of a noun phrase, None where that cannot be told."""
    head = re.split(r" (?:of|in|on|at|with|from|by|near|through|against|over|to|for) ", noun_phrase)
    words = re.findall(r"[\w'-]+", head[0].lower())
    if not words:
        return None
    if "and" in words:
        return "many"
    first, last = words[0], words[-1]
    if re.search(
        r"^(?:a number|a couple|a lot|a variety|a group|a crowd|a bunch|lots) of ", noun_phrase
    ):
        return "one" if noun_phrase.startswith(("a group", "a crowd", "a bunch")) else "many"
    if first in (
        "a",
        "an",
        "one",
        "someone",
        "somebody",
        "this",
        "each",
        "another",
        "it",
        "something",
    ):
        return "one"
    if first in ("several", "many", "two", "three", "four", "few", "multiple", "various", "these"):
        return "many"
    if first in ("they", "both", "numerous", "different", "some") and last not in _MASS:
        return "many"
    if last in _IRREGULAR_PLURALS:
        return "many"
    if last in _MASS or last in BY_GERUND:
        return "one"
    if last.endswith("s") and not last.endswith(("ss", "us", "is")):
        return "many"
    return "one" if first in ("the", "his", "her", "its", "their") else None
