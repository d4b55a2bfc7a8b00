"""The words for each class of sound: subjects, verbs, tags."""

from dataclasses import dataclass

from triptych.demo.scenes.foregrounds import WITH_COUNT, WITH_TEMPO


@dataclass(frozen=True)
class Verb:
    """A verb in agreement with its subjects."""

    finite: str
    participle: str


@dataclass(frozen=True)
class Wording:
    """How people name a class; every subject goes with every verb."""

    event: str
    subjects: tuple[str, ...]
    verbs: tuple[Verb, ...]
    tags: tuple[str, ...]
    """Keywords; the first is the plainest."""
    copula: str = "is"

    @property
    def has_tempo(self) -> bool:
        """Whether it can be slow or fast."""
        return self.event in WITH_TEMPO

    @property
    def is_counted(self) -> bool:
        """Whether it happens once, twice or several times."""
        return self.event in WITH_COUNT


def _wording(event: str, subjects: str, verbs: str, tags: str, copula: str = "is") -> Wording:
    """Subjects and tags separated by commas; verbs likewise, each "finite/participle"."""
    split = [tuple(verb.split("/")) for verb in verbs.split(", ")]
    return Wording(
        event,
        tuple(subjects.split(", ")),
        tuple(Verb(finite, participle) for finite, participle in split),
        tuple(tags.split(", ")),
        copula,
    )


WORDINGS = {
    wording.event: wording
    for wording in [
        _wording(
            "rain",
            "rain, a steady rain, heavy rain",
            "falls/falling, pours down/pouring down, patters on the ground/pattering on the ground",
            "rain, weather",
        ),
        _wording(
            "wind",
            "the wind, a strong wind, a gusty wind",
            "blows/blowing, howls/howling, gusts/gusting",
            "wind, gust",
        ),
        _wording(
            "waves",
            "waves, ocean waves, sea waves",
            "crash on the shore/crashing on the shore, roll in/rolling in, "
            "break on the beach/breaking on the beach",
            "waves, ocean, beach",
            "are",
        ),
        _wording(
            "engine",
            "an engine, a motor, a truck engine",
            "runs/running, idles/idling, rumbles/rumbling",
            "engine, motor",
        ),
        _wording(
            "static",
            "radio static, static on a radio, an untuned radio",
            "hisses/hissing, crackles/crackling, fizzes/fizzing",
            "static, radio",
        ),
        _wording(
            "crickets",
            "crickets, several crickets, insects",
            "chirp/chirping, trill/trilling, stridulate/stridulating",
            "crickets, insects",
            "are",
        ),
        _wording(
            "crowd",
            "a crowd, a group of people, a room full of people",
            "talks/talking, chatters/chattering, murmurs/murmuring",
            "crowd, people, voices",
        ),
        _wording(
            "buzz",
            "an electric transformer, a power line, an electric wire",
            "buzzes/buzzing, hums/humming, drones/droning",
            "buzz, electricity, hum",
        ),
        _wording(
            "stream",
            "a stream, a small brook, a creek",
            "flows/flowing, babbles/babbling, trickles over stones/trickling over stones",
            "stream, water",
        ),
        _wording(
            "fan",
            "a fan, a ventilation fan, an air conditioner",
            "whirs/whirring, spins/spinning, blows air/blowing air",
            "fan, ventilation",
        ),
        _wording(
            "bird",
            "a bird, a small bird, a songbird",
            "chirps/chirping, sings/singing, tweets/tweeting",
            "bird, birdsong",
        ),
        _wording(
            "clock",
            "a clock, a wall clock, an old clock",
            "ticks/ticking, tick tocks/tick tocking, ticks away/ticking away",
            "clock, tick",
        ),
        _wording(
            "footsteps",
            "a person, someone, a man",
            "walks/walking, walks on a hard floor/walking on a hard floor, "
            "steps along a path/stepping along a path",
            "footsteps, walking",
        ),
        _wording(
            "hammer",
            "a hammer, a heavy hammer, a blacksmith",
            "strikes metal/striking metal, pounds on steel/pounding on steel, "
            "hits an iron plate/hitting an iron plate",
            "hammer, metal",
        ),
        _wording(
            "typing",
            "a person, someone, an office worker",
            "types on a keyboard/typing on a keyboard, "
            "presses computer keys/pressing computer keys, types a letter/typing a letter",
            "typing, keyboard",
        ),
        _wording(
            "clapping",
            "a person, someone, a spectator",
            "claps/clapping, claps with both hands/clapping with both hands, applauds/applauding",
            "clapping, hands",
        ),
        _wording(
            "frog",
            "a frog, a toad, a bullfrog",
            "croaks/croaking, calls from a pond/calling from a pond, ribbits/ribbiting",
            "frog, amphibian",
        ),
        _wording(
            "siren",
            "a siren, an emergency siren, an ambulance siren",
            "wails/wailing, sounds/sounding, blares/blaring",
            "siren, emergency",
        ),
        _wording(
            "dog",
            "a dog, a big dog, a hound",
            "barks/barking, woofs/woofing, yelps/yelping",
            "dog, bark",
        ),
        _wording(
            "bell",
            "a bell, a church bell, a metal bell",
            "rings/ringing, tolls/tolling, chimes/chiming",
            "bell, chime",
        ),
        _wording(
            "knock",
            "a person, someone, a visitor",
            "knocks on a door/knocking on a door, raps on wood/rapping on wood, "
            "knocks on a wooden door/knocking on a wooden door",
            "knock, wood",
        ),
        _wording(
            "phone",
            "a telephone, a phone, an old telephone",
            "rings/ringing, trills/trilling, rings on a desk/ringing on a desk",
            "telephone, ring",
        ),
        _wording(
            "horn",
            "a car, a vehicle, an impatient driver",
            "honks/honking, honks the horn/honking the horn, toots the horn/tooting the horn",
            "horn, car",
        ),
        _wording(
            "beep",
            "an electronic device, a machine, an alarm",
            "beeps/beeping, bleeps/bleeping, lets out a beep/letting out a beep",
            "beep, electronic",
        ),
        _wording(
            "door",
            "a door, a heavy door, a wooden door",
            "slams/slamming, slams shut/slamming shut, bangs shut/banging shut",
            "door, slam",
        ),
        _wording(
            "glass",
            "a glass, a wine glass, a glass bottle",
            "clinks/clinking, is tapped/being tapped, chinks/chinking",
            "glass, clink",
        ),
    ]
}

JUNK = (
    "field-recording",
    "H4n",
    "ambience",
    "stereo",
    "Zoom",
    "noise",
    "sound-effect",
    "foley",
    "binaural",
    "owi",
    "Sony",
    "atmosphere",
    "foundsound",
    "2011",
    "raw",
    "loop",
)
"""What else stands among the keywords of Freesound."""
