"""The words for each class of sound: subjects and verbs of captions and of paraphrases, tags."""

from dataclasses import dataclass

from triptych.demo.scenes.foregrounds import WITH_COUNT, WITH_TEMPO


@dataclass(frozen=True)
class Verb:
    """A verb in agreement with its subjects."""

    finite: str
    participle: str


@dataclass(frozen=True)
class Words:
    """How people name a class; every subject goes with every verb."""

    event: str
    subjects: tuple[str, ...]
    verbs: tuple[Verb, ...]
    other_subjects: tuple[str, ...]
    """Which paraphrases alone use; so are other_verbs."""
    other_verbs: tuple[Verb, ...]
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


def _words(
    event: str,
    subjects: str,
    verbs: str,
    other_subjects: str,
    other_verbs: str,
    tags: str,
    copula: str = "is",
) -> Words:
    """Each separated by commas; a verb is "finite/participle"."""
    return Words(
        event,
        tuple(subjects.split(", ")),
        _verbs(verbs),
        tuple(other_subjects.split(", ")),
        _verbs(other_verbs),
        tuple(tags.split(", ")),
        copula,
    )


def _verbs(text: str) -> tuple[Verb, ...]:
    return tuple(Verb(*verb.split("/")) for verb in text.split(", "))


VOCABULARY = {
    words.event: words
    for words in [
        _words(
            "rain",
            "rain, a steady rain, heavy rain",
            "falls/falling, pours down/pouring down, patters on the ground/pattering on the ground",
            "rainfall, a rain shower, a downpour",
            "comes down/coming down, drums on the ground/drumming on the ground, "
            "beats down/beating down",
            "rain, weather",
        ),
        _words(
            "wind",
            "the wind, a strong wind, a gusty wind",
            "blows/blowing, howls/howling, gusts/gusting",
            "a stiff wind, moving air, a gust of wind",
            "whistles/whistling, sweeps past/sweeping past, rushes by/rushing by",
            "wind, gust",
        ),
        _words(
            "waves",
            "waves, ocean waves, sea waves",
            "crash on the shore/crashing on the shore, roll in/rolling in, "
            "break on the beach/breaking on the beach",
            "breakers, rolling waves, waves of the sea",
            "wash ashore/washing ashore, tumble onto the sand/tumbling onto the sand, "
            "splash on the shore/splashing on the shore",
            "waves, ocean, beach",
            "are",
        ),
        _words(
            "engine",
            "an engine, a motor, a truck engine",
            "runs/running, idles/idling, rumbles/rumbling",
            "a heavy engine, a diesel motor, the engine of a vehicle",
            "chugs along/chugging along, throbs/throbbing, turns over/turning over",
            "engine, motor",
        ),
        _words(
            "static",
            "radio static, static on a radio, an untuned radio",
            "hisses/hissing, crackles/crackling, fizzes/fizzing",
            "a badly tuned radio, radio interference, white noise from a radio",
            "sizzles/sizzling, rustles/rustling, spits and pops/spitting and popping",
            "static, radio",
        ),
        _words(
            "crickets",
            "crickets, several crickets, insects",
            "chirp/chirping, trill/trilling, stridulate/stridulating",
            "field crickets, house crickets, grasshoppers",
            "sing/singing, call/calling, buzz in the grass/buzzing in the grass",
            "crickets, insects",
            "are",
        ),
        _words(
            "crowd",
            "a crowd, a group of people, a room full of people",
            "talks/talking, chatters/chattering, murmurs/murmuring",
            "an audience, a busy crowd, a gathering of people",
            "converses/conversing, babbles/babbling, speaks all at once/speaking all at once",
            "crowd, people, voices",
        ),
        _words(
            "buzz",
            "an electric transformer, a power line, an electric wire",
            "buzzes/buzzing, hums/humming, drones/droning",
            "a transformer, an electrical cable, a high voltage line",
            "thrums/thrumming, vibrates/vibrating, gives off a hum/giving off a hum",
            "buzz, electricity, hum",
        ),
        _words(
            "stream",
            "a stream, a small brook, a creek",
            "flows/flowing, babbles/babbling, trickles over stones/trickling over stones",
            "a rivulet, a little river, running water",
            "gurgles/gurgling, ripples along/rippling along, "
            "splashes over rocks/splashing over rocks",
            "stream, water",
        ),
        _words(
            "fan",
            "a fan, a ventilation fan, an air conditioner",
            "whirs/whirring, spins/spinning, blows air/blowing air",
            "a blower, an electric fan, a ventilator",
            "rotates/rotating, turns/turning, moves the air/moving the air",
            "fan, ventilation",
        ),
        _words(
            "bird",
            "a bird, a small bird, a songbird",
            "chirps/chirping, sings/singing, tweets/tweeting",
            "a little bird, a wild bird, some kind of bird",
            "whistles/whistling, warbles/warbling, calls out/calling out",
            "bird, birdsong",
        ),
        _words(
            "clock",
            "a clock, a wall clock, an old clock",
            "ticks/ticking, tick tocks/tick tocking, ticks away/ticking away",
            "a timepiece, a mechanical clock, a pendulum clock",
            "clicks/clicking, clicks away/clicking away, goes tick tock/going tick tock",
            "clock, tick",
        ),
        _words(
            "footsteps",
            "a person, someone, a man",
            "walks/walking, walks on a hard floor/walking on a hard floor, "
            "steps along a path/stepping along a path",
            "somebody, a pedestrian, a walker",
            "takes steps/taking steps, paces about/pacing about, "
            "treads on firm ground/treading on firm ground",
            "footsteps, walking",
        ),
        _words(
            "hammer",
            "a hammer, a heavy hammer, a blacksmith",
            "strikes metal/striking metal, pounds on steel/pounding on steel, "
            "hits an iron plate/hitting an iron plate",
            "a smith, a metalworker, a sledgehammer",
            "hammers on iron/hammering on iron, bangs on metal/banging on metal, "
            "hits steel/hitting steel",
            "hammer, metal",
        ),
        _words(
            "typing",
            "a person, someone, an office worker",
            "types on a keyboard/typing on a keyboard, "
            "presses computer keys/pressing computer keys, types a letter/typing a letter",
            "somebody, a typist, a clerk",
            "works at a keyboard/working at a keyboard, "
            "taps on computer keys/tapping on computer keys, "
            "writes on a keyboard/writing on a keyboard",
            "typing, keyboard",
        ),
        _words(
            "clapping",
            "a person, someone, a spectator",
            "claps/clapping, claps with both hands/clapping with both hands, applauds/applauding",
            "somebody, a guest, one person",
            "gives applause/giving applause, "
            "beats both palms together/beating both palms together, "
            "smacks two hands together/smacking two hands together",
            "clapping, hands",
        ),
        _words(
            "frog",
            "a frog, a toad, a bullfrog",
            "croaks/croaking, calls from a pond/calling from a pond, ribbits/ribbiting",
            "a little frog, a pond frog, an amphibian",
            "calls out/calling out, sings by the water/singing by the water, "
            "makes croaks/making croaks",
            "frog, amphibian",
        ),
        _words(
            "siren",
            "a siren, an emergency siren, an ambulance siren",
            "wails/wailing, sounds/sounding, blares/blaring",
            "a warning siren, an emergency vehicle, the siren of an ambulance",
            "howls/howling, screams/screaming, goes off/going off",
            "siren, emergency",
        ),
        _words(
            "dog",
            "a dog, a big dog, a hound",
            "barks/barking, woofs/woofing, yelps/yelping",
            "a canine, a large dog, a guard dog",
            "yaps/yapping, bays/baying, gives a bark/giving a bark",
            "dog, bark",
        ),
        _words(
            "bell",
            "a bell, a church bell, a metal bell",
            "rings/ringing, tolls/tolling, chimes/chiming",
            "a chapel bell, a heavy bell, a large bell",
            "clangs/clanging, peals/pealing, sounds/sounding",
            "bell, chime",
        ),
        _words(
            "knock",
            "a person, someone, a visitor",
            "knocks on a door/knocking on a door, raps on wood/rapping on wood, "
            "knocks on a wooden door/knocking on a wooden door",
            "somebody, a caller, one person",
            "taps on a door/tapping on a door, bangs on the door/banging on the door, "
            "pounds on wood/pounding on wood",
            "knock, wood",
        ),
        _words(
            "phone",
            "a telephone, a phone, an old telephone",
            "rings/ringing, trills/trilling, rings on a desk/ringing on a desk",
            "a landline phone, a telephone set, a desk phone",
            "jingles/jingling, goes off/going off, sounds its bell/sounding its bell",
            "telephone, ring",
        ),
        _words(
            "horn",
            "a car, a vehicle, an impatient driver",
            "honks/honking, honks the horn/honking the horn, toots the horn/tooting the horn",
            "a motorist, an automobile, a driver in a car",
            "sounds the horn/sounding the horn, blows the horn/blowing the horn, "
            "beeps the horn/beeping the horn",
            "horn, car",
        ),
        _words(
            "beep",
            "an electronic device, a machine, an alarm",
            "beeps/beeping, bleeps/bleeping, lets out a beep/letting out a beep",
            "an electronic gadget, a device, an appliance",
            "pings/pinging, gives a beep/giving a beep, makes a high tone/making a high tone",
            "beep, electronic",
        ),
        _words(
            "door",
            "a door, a heavy door, a wooden door",
            "slams/slamming, slams shut/slamming shut, bangs shut/banging shut",
            "a front door, a big door, the door of a room",
            "is thrown shut/being thrown shut, crashes shut/crashing shut, falls shut/falling shut",
            "door, slam",
        ),
        _words(
            "glass",
            "a glass, a wine glass, a glass bottle",
            "clinks/clinking, is tapped/being tapped, chinks/chinking",
            "a drinking glass, a piece of glassware, a glass vessel",
            "tinkles/tinkling, rings/ringing, is struck/being struck",
            "glass, clink",
        ),
    ]
}

JUNK = (
    "field-recording", "H4n", "ambience", "stereo", "Zoom", "noise", "sound-effect", "foley",
    "binaural", "owi", "Sony", "atmosphere", "foundsound", "2011", "raw", "loop",
)  # fmt: skip
"""What else stands among the keywords of Freesound."""
