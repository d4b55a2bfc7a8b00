"""What a new caption may be: one sentence in English about a sound, within the rules of the prompt.

A rule here may cost a good caption now and then; what it lets in is trained on. English has no
dictionary here: it must show by its own small words, verbs and nouns of sound, and a single small
word of another language is too many. The words of other languages that English captions hold as
well (die, pour, chat, door, on) stand in no list.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from triptych.audio.captions.settings import FIXED_TEXTS

SHORTEST_WORDS = 3
LONGEST_ECHO = 4
"""So many words in a row of the prompt's own are an echo of it."""

_REFUSAL = re.compile(
    r"^(?:unfortunately|apologies|i'm sorry|i am sorry|sorry\b|i apologi[sz]e|as an ai\b|"
    r"i (?:cannot|can't|am unable))|"
    r"\b(?:language model|as an ai|unable to (?:help|assist|comply|generate|provide)|"
    r"(?:can(?:no|')t|cannot) (?:help|assist|comply|generate|provide|fulfill)|"
    r"against (?:my|the) (?:policy|policies|guidelines)|content policy|"
    r"(?:not |im)possible to (?:describe|tell|determine|say|rephrase|generate)|"
    r"(?:not|no \w+ (?:was|is|were)) (?:given|provided))\b",
    re.IGNORECASE,
)

# The prompt forbids "heard" and "recorded"; their like are the other words by which a caption
# speaks of listening instead of the sound. "inaudible" (mumbling) and "record" (vinyl) say
# something about the sound and may stay.
_BANNED = re.compile(
    r"\b(?:heard|hear|hears|overheard|overhear|overhears|recorded|recording|recordings|audible|"
    r"audibly|listener|listeners)\b",
    re.IGNORECASE,
)
_DEVICE = re.compile(
    r"\b(?:microphones?|mics?|hydrophones?|dictaphones?|tascam|edirol|olympus|zoom h\d\w*|"
    r"h[1-6]n?|dr-?\d{2}|sm-?5[78]|r-?0[59])\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:\d{1,2}[:.]\d{2}|\d{1,2}\s*(?:[ap]\.?m\b|o'?clock)|(?:19|20)\d\d)", re.IGNORECASE
)

# A caption tells of sounds; who writes one tells of captions, of rules and of oneself.
_ABOUT_THE_TASK = re.compile(
    r"\b(?:captions?|captioning|sentences?|keywords?|tags?|(?:re|para)phras\w+|descriptions?|"
    r"prompts?|instructions?|guidelines?|requirements?|constraints?|synonyms?|wording|variations?|"
    r"outputs?|the (?:user|index|original|above|following|task|request|rules?|answer)|"
    r"(?:\d+|under|than|many|twenty|these|same|forbidden|banned) words|words? (?:count|limit)|"
    r"word choice|subject-verb\S*|active voice|passive voice|double-check|too long|too short|"
    r"names? of (?:a |any )?(?:person|people|cit(?:y|ies)|countr(?:y|ies)|places?)\w*)\b",
    re.IGNORECASE,
)
_THE_USER = re.compile(r"\bthe (?:user|prompt|request|task|instructions?)\b", re.IGNORECASE)
_TO_ONESELF = re.compile(
    r"\b(?:i|i'(?:m|ll|d|ve)|we|we'(?:re|ll|d|ve)|let's|let us|let me|my|me|you|your|you're|yours|"
    r"please)\b",
    re.IGNORECASE,
)
_THINKING = re.compile(
    r"^(?:(?:wait|hmm+|ok|okay|alright|but wait|so the|sure|certainly|thus|therefore|however|"
    r"for example|need to|must|should|avoid|ensure|make sure|identify|use|keep|mention|include|"
    r"write|generate|vary|replace|change|consider|focus|describe|note|remember|check|combine|add|"
    r"think|try|do not|don't|emphasi[sz]e|swap|reorder|start (?:with|each|by)|draft|end of)\b|"
    r"(?:well|actually|maybe|perhaps|yes|no|good|great|also|done)[,.!])",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"\b(?:mr|mrs|ms|dr|st|vs|etc|e\.g|i\.e|a\.m|p\.m)\.", re.IGNORECASE)
_QUOTES = "\"'\u2018\u2019\u201c\u201d"
_SENTENCE_ENDS = re.compile(rf"[.!?…]+[{_QUOTES})]*\s+(?=[\w{_QUOTES}(])|[.!?…](?=[A-Z])")
_MARKUP = re.compile(r"[\[\](){}<>|=*_#\\/`~^@→\"\u201c\u201d◁▷]|https?:|:|\s-\s\w+\W*$")
_ENDS_OPEN = re.compile(
    r"(?:\b(?:a|an|the|and|or|but|(?<!a )(?<!little )while|with|as|from|into|their|his|its|of|for|"
    r"because|when)|,|\.\.\.|…)\W*$",
    re.IGNORECASE,
)
_LABELLED = (
    ("refusal", _REFUSAL),
    ("banned word", _BANNED),
    ("device name", _DEVICE),
    ("time", _TIME),
    ("speaks of the task", _ABOUT_THE_TASK),
    ("speaks to somebody", _TO_ONESELF),
    ("a thought or an order", _THINKING),
    ("markup or a label", _MARKUP),
)


def words_of(caption: str) -> list[str]:
    """Lower-case words; "high-pitched" is one, "don't" is one."""
    return re.findall(r"[^\W_]+(?:['\u2019-][^\W_]+)*", caption.lower())


def is_thought(caption: str) -> bool:
    """Whether a text speaks of its own making: then its neighbours may be thoughts as well."""
    caption = caption.replace("\u2019", "'")
    return any(rule.search(caption) for rule in (_TO_ONESELF, _THINKING, _THE_USER))


def problem_of(caption: str, longest_words: int) -> str | None:
    """Why a text may not be trained on, or None.

    The rules are those of the prompt. Names of cities, countries and persons would need a
    gazetteer and are not looked for.
    """
    caption = caption.replace("\u2019", "'")
    words = words_of(caption)
    if _REFUSAL.search(caption):
        return "refusal"
    if len(set(words)) < SHORTEST_WORDS:
        return f"too short ({len(words)} words)"
    if len(words) > longest_words:
        return f"too long ({len(words)} words)"
    for what, rule in _LABELLED:
        found = rule.search(caption)
        if found:
            return f"{what} ({found[0].strip()})"
    if _SENTENCE_ENDS.search(_ABBREVIATION.sub("", caption)):
        return "more than one sentence"
    if caption.rstrip().endswith("?"):
        return "a question"
    if _ENDS_OPEN.search(caption):
        return "ends in the middle"
    if _is_list(caption):
        return "a list of words"
    if any(run in _echoes() for run in _runs(words)):
        return "echo of the prompt"
    sign = foreign_sign(words)
    return None if sign is None else "not an English sentence" + (f" ({sign})" if sign else "")


def _is_list(caption: str) -> bool:
    """Whether a text is keywords: of one word or two between commas, most of them of one."""
    lengths = [len(words_of(part)) for part in caption.split(",")]
    return len(lengths) > 2 and max(lengths) <= 2 and lengths.count(1) > len(lengths) / 2


@cache
def _echoes() -> frozenset[tuple[str, ...]]:
    return frozenset(run for text in FIXED_TEXTS for run in _runs(words_of(text)))


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(LONGEST_ECHO)), strict=False)


LEAST_ENGLISH = 0.2
LEAST_ENGLISH_ALONE = 0.25
"""Of a sentence's words, weak ones counting half: with a strong one, and without ("A toilet is
flushed")."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


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


_VERBS = _words("""
    accelerate applaud approach arrive babble bang bark beep begin blare blast bleat blow boil
    bounce break breathe brush bubble buzz cackle carry caw chant chat chatter cheep cheer chew
    chime chink chirp chop chug circle clack clang clank clap clatter clean click clink clop
    close cluck come continue converse coo cook cough count crack crackle crash crawl creak
    crinkle croak crow crumple crunch crush cry cut depart dial dig ding drag draw dribble drill
    drink drip drive drone drop eat echo empty end fall fill fizz flap flip flow flush flutter
    fly fold fry fumble gallop giggle go grind groan growl gurgle gush gust hammer hiss hit honk
    hoot hover howl hum idle jangle jingle jog jump kick knock land lap laugh leak lift lock
    make march meow mix moan moo move mow mumble murmur neigh occur oink open operate pace
    paddle pass patter pause peal peel peep ping place play pop pound pour pull pump purr push
    put putter quack race rake rap rattle read refill resonate resound rev reverberate ride ring
    rinse rip roar roll rotate rub ruffle rumble rummage run rush rustle saw scrape scratch
    scream screech scrub scuff shake shout shovel shuffle shut sigh sing sip sit sizzle sketch
    skip slam slap slice slosh slurp snap snarl sneeze snore sob sort spatter speak spill spin
    splash splatter spray sprinkle sputter squawk squeak squeal squeeze squelch squish stack
    stand start step stir stomp stop stream strike stroll swallow sweep swing swirl swish swoosh
    talk tap tear throw thrum thud thump tick tinkle toll toot toss travel tread trickle trill
    trot turn tweet twist type unlock use vibrate wail wait walk warble wash whimper whine whir
    whisper whistle whoosh wind wipe woof work write yap yell yelp
""")
_DOUBLING = _words("""
    beg rev chat chop chug clap clip cut dig drip drop drum flap flip get grab hit hum jam jog
    knit lap let nip pat plod pop put rap rip rub run scrub shut sip sit skid skip slam slip
    snap snip spin spit step stir stop strum strut swat swim tap throb thrum thud tip trot tug
    wag whip whir yap zap zip
""")

# Frequent in captions of sounds, and in no other language a frequent word.
_ENGLISH = (
    _words(
        """
    the and while when with without from by into onto through along across around behind before
    after against near nearby inside outside outdoors indoors between during until then than that
    which who whose there here it its his you your they their them someone something somebody
    another other each every several many multiple some few two three four five both very are
    were be being been has have had does did gets get getting goes make can could will would not
    more up down out off like several loud loudly quiet soft softly sound sounds noise noises
    background foreground distance man men woman women people person child children kids baby
    dog dogs cat bird birds horse animal car cars vehicle vehicles truck train engine motor water
    rain wind thunder wave waves stream music voice voices footsteps door bell bells machine
    metal wood wooden glass paper metallic object surface room street road floor tone tones siren
    sirens applause laughter speech crowd give gives giving gun gunshot gunshots explosion
    somewhere twice once away far press presses pressing computer keys
    """
    )
    | _VERBS
    | {form(verb) for verb in _VERBS for form in (gerund, third_person)}
)
_WEAK = _words("a an in on is as of at for to over under he she all was or but one")
_ENGLISH_ENDINGS = ("ing", "ed", "ly")

_OTHERS = {
    "German": """der das dem den des ein eine einen einem einer eines und oder aber ist sind wird
        werden nicht mit von im auf aus bei nach vor durch über unter während sich ihr sein zwei
        laut neben wenn hund vögel straße wasser jemand mann frau regen zum zur""",
    "French": """de le la les une du des et est sont dans avec sur sous pendant que qui aux ce cette
        il elle ils tandis alors près deux chien homme femme oiseaux eau bruit fois aboie""",
    "Spanish": """el los las una unos unas es están está con por mientras cerca dos perro hombre
        mujer agua ladra pájaros lluvia ruido alguien sonido del""",
    "Italian": """il lo gli una di è sono nel nella nei con mentre che alla vicino cane uomo donna
        acqua abbaia uccelli pioggia rumore qualcuno della delle""",
    "Portuguese": """um uma são está estão com enquanto na nos nas da das em ao cão cachorro
        homem mulher água chuva alguém perto dois duas""",
    "Dutch": """het een zijn wordt op bij naar terwijl dat te er aan hond vogels mensen iemand
        langs twee straat blaft blaffen vlakbij""",
    "Scandinavian": """og et som på med av til det att är och ett hund hunden fuglene mens medan
        nära vej väg bjeffer skäller gøer""",
    "Polish, Czech": "się jest są że podczas gdy przez oraz je se při když",
    "Turkish": "bir ve ile iken çok iki kez",
    "Finnish, Hungarian": "ja kun kanssa az egy és",
    "Romanian": "și în pe lângă este sunt",
    "Indonesian, Malay": "yang dengan dari sedang sebuah seekor dan di dekat",
    "Vietnamese": "một con và đang của trong",
    "Hindi, Urdu in Latin letters": "ek hai aur ke ka ki mein",
    "Swahili": "na ya wa kwa katika",
    "Tagalog": "ang ng mga sa",
}  # fmt: skip
_FOREIGN = frozenset(word for words in _OTHERS.values() for word in words.split())


def foreign_sign(words: Sequence[str]) -> str | None:
    """What shows that lower-case words are no English sentence: a word, or "" for no sign of
    English; None if they are one."""
    for word in words:
        if word in _FOREIGN or not all(map(_is_latin, word)):
            return word
    strong = sum(word in _ENGLISH for word in words)
    weak = sum(word in _WEAK or word.endswith(_ENGLISH_ENDINGS) for word in words)
    least = LEAST_ENGLISH if strong else LEAST_ENGLISH_ALONE
    return None if strong + weak / 2 >= least * len(words) else ""


def _is_latin(letter: str) -> bool:
    return not letter.isalpha() or unicodedata.name(letter, "").startswith("LATIN")
