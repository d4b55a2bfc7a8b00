"""Words that may stand for one another, and a/an.

The synonyms are close enough that a true caption stays true; where a word has several meanings
(a tap, the tap) it is left out, and `_KEEP` names the phrases in which it must stay.
"""

import re
from functools import cache, lru_cache

from triptych.audio.captions.verbs import gerund, third_person


def _verb_pairs() -> dict[str, tuple[str, ...]]:
    """Inflected synonyms: yells -> shouts, yelling -> shouting."""
    same = {
        "tweet": ("chirp",), "talk": ("speak", "chat"), "speak": ("talk",), "chat": ("talk",),
        "converse": ("talk",), "yell": ("shout",), "shout": ("yell",), "creak": ("squeak",),
        "clatter": ("rattle",), "rattle": ("clatter",), "rush": ("gush",), "gush": ("rush",),
        "clank": ("clang",), "clang": ("clank",), "hoot": ("call",), "stroll": ("walk",),
        "jog": ("run",), "accelerate": ("speed up",), "close": ("shut",),
        "approach": ("come closer",), "continue": ("go on",), "toll": ("ring",),
        "jangle": ("jingle",), "clink": ("chink",), "reverberate": ("echo",), "bang": ("pound",),
        "pound": ("bang",), "thump": ("thud",), "utilize": ("use",), "toss": ("throw",),
    }  # fmt: skip
    pairs = {}
    for base, others in same.items():
        for form in (gerund, third_person):
            pairs[form(base)] = tuple(
                " ".join([form(other.split()[0]), *other.split()[1:]]) for other in others
            )
    return pairs


SYNONYMS: dict[str, tuple[str, ...]] = {
    **_verb_pairs(),
    "begins": ("starts",), "beginning to": ("starting to",), "starts to": ("begins to",),
    "starting to": ("beginning to",), "strikes": ("hits",), "striking": ("hitting",),
    "hitting": ("striking",), "passes by": ("goes by", "goes past"), "passing by": ("going past",),
    "drives by": ("drives past", "goes by"), "driving by": ("driving past", "going by"),
    "person": ("individual",), "someone": ("a person", "somebody"), "somebody": ("someone",),
    "children": ("kids",), "kids": ("children",), "child": ("kid",), "baby": ("infant",),
    "car": ("automobile",), "cars": ("automobiles",), "automobile": ("car",),
    "motorcycle": ("motorbike",), "airplane": ("plane", "aircraft"), "aeroplane": ("plane",),
    "plane": ("airplane", "aircraft"), "engine": ("motor",), "motor": ("engine",),
    "bugs": ("insects",), "insects": ("bugs",), "forest": ("woods",), "ocean": ("sea",),
    "sea": ("ocean",), "stream": ("brook",), "brook": ("stream",), "creek": ("brook",),
    "road": ("street",), "street": ("road",), "path": ("trail",), "rain": ("rainfall",),
    "rainfall": ("rain",), "phone": ("telephone",), "telephone": ("phone",), "television": ("TV",),
    "tv": ("television",), "footsteps": ("steps",), "faucet": ("tap",),
    "conversation": ("discussion",), "conversations": ("discussions",), "trash": ("garbage",),
    "sidewalk": ("pavement",), "bicycle": ("bike",), "infant": ("baby",), "truck": ("lorry",),
    "loudly": ("noisily", "at high volume"), "noisily": ("loudly",), "quickly": ("rapidly",),
    "rapidly": ("quickly",), "slowly": ("at a slow pace", "unhurriedly"),
    "at a slow pace": ("slowly",), "at a fast pace": ("quickly",),
    "at a steady pace": ("steadily",), "softly": ("gently", "quietly"), "quietly": ("softly",),
    "gently": ("softly",), "faintly": ("weakly", "softly"),
    "repeatedly": ("over and over", "again and again"),
    "over and over": ("repeatedly", "again and again"), "over and over again": ("repeatedly",),
    "again and again": ("repeatedly", "over and over"),
    "continuously": ("constantly", "without a break"),
    "constantly": ("continuously", "all the time"), "continually": ("continuously",),
    "steadily": ("evenly", "at a steady rate"),
    "occasionally": ("now and then", "from time to time"), "sometimes": ("now and then",),
    "now and then": ("from time to time", "occasionally"), "intermittently": ("on and off",),
    "nearby": ("close by",), "close by": ("nearby",), "far away": ("in the distance", "far off"),
    "in the distance": ("far away", "far off"), "from far away": ("from a distance",),
    "twice": ("two times",), "several times": ("a few times", "a number of times"),
    "a few times": ("several times",), "multiple times": ("several times",),
    "back and forth": ("to and fro",), "several": ("a number of",),
    "multiple": ("several", "a number of"), "various": ("different",), "numerous": ("many",),
    "many": ("lots of", "numerous"), "a lot of": ("plenty of", "lots of"),
    "a couple of": ("a few",), "large": ("big",), "big": ("large",), "small": ("little",),
    "constant": ("continuous",), "continuous": ("constant",), "distant": ("faraway",),
    "rapid": ("quick",), "faint": ("weak",), "busy": ("bustling",), "high pitched": ("shrill",),
    "high-pitched": ("shrill",), "outdoors": ("outside", "in the open air"),
    "outside": ("outdoors",), "indoors": ("inside",), "along with": ("together with",),
    "at the same time": ("simultaneously",), "different": ("various",), "nearly": ("almost",),
    "eventually": ("finally", "in the end"), "finally": ("in the end",),
    "gradually": ("little by little",), "in between": ("between",), "upon": ("on",),
    "onto": ("on to",), "a group of": ("some",), "heavily": ("hard",),
    "making noise": ("making noises",),
}  # fmt: skip

# In these the entry means something else, or sounds wrong when exchanged.
_KEEP = re.compile(
    r"(?:outside|outdoors|inside|indoors|nearby) (?!while|as|and|with|when|in|on|during)\w+|"
    r"loud(?:er)? and|closes? by|a (?:big|large) (?:number|variety)|variety of different|"
    r"(?:is|are) being (?:\w+ing|loud|noisy|quiet|very)|very (?:same|well)|many as|people's|"
    r"different (?:from|to)|stream of|streams? |loud(?: (?:enough|as))|as loud|on (?:and|the) road|"
    r"constant (?:speed|pace|rate|pitch|volume)|race cars?|"
    r"rain (?:drops?|forest|water|gutter|storm)|engine'?s|man made|sea ?gulls?|"
    r"sea (?:shore|side)|"
    r"car (?:horn|alarm|door|engine)|television set|heavy rain",
    re.IGNORECASE,
)


@cache
def synonym_pattern() -> re.Pattern[str]:
    """Matches any word or phrase of the table, the longest first."""
    phrases = sorted(SYNONYMS, key=len, reverse=True)
    return re.compile(
        rf"(?<![\w'-])(?:{'|'.join(map(re.escape, phrases))})(?![\w'-])", re.IGNORECASE
    )


@lru_cache(maxsize=1024)
def replaceable(text: str) -> list[re.Match[str]]:
    """Where a synonym may stand."""
    kept = [match.span() for match in _KEEP.finditer(text)]
    return [
        match
        for match in synonym_pattern().finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in kept)
    ]


_AN = re.compile(r"^(?:[aeio]|u(?!ni|se|su|ti|ro)|hour|honest)", re.IGNORECASE)


def fix_articles(text: str) -> str:
    """a/an by the first letter of the next word."""
    return re.sub(
        r"\b(a|an) (?=(\w+))",
        lambda match: f"{'an' if _AN.match(match[2]) and not match[2].startswith('one') else 'a'} ",
        text,
    )
