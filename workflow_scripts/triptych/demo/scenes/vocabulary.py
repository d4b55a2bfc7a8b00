"""The words for each class of sound: subjects and verbs of captions and of paraphrases, tags."""

from dataclasses import dataclass

from triptych.audio.captions.rules import gerund, third_person
from triptych.demo.scenes.foregrounds import WITH_COUNT, WITH_TEMPO

# Of each class subjects, verbs, further subjects and verbs for paraphrases alone, and tags. A verb
# is in its base form, or "finite/participle".
_TABLE = """
rain
    rain, a steady rain, heavy rain
    fall, pour down, patter on the ground
    rainfall, a rain shower, a downpour
    come down, drum on the ground, beat down
    rain, weather
wind
    the wind, a strong wind, a gusty wind
    blow, howl, gust
    a stiff wind, moving air, a gust of wind
    whistle, sweep past, rush by
    wind, gust
waves are
    waves, ocean waves, sea waves
    crash on the shore, roll in, break on the beach
    breakers, rolling waves, waves of the sea
    wash ashore, tumble onto the sand, splash on the shore
    waves, ocean, beach
engine
    an engine, a motor, a truck engine
    run, idle, rumble
    a heavy engine, a diesel motor, the engine of a vehicle
    chug along, throb, turn over
    engine, motor
static
    radio static, static on a radio, an untuned radio
    hiss, crackle, fizz
    a badly tuned radio, radio interference, white noise from a radio
    sizzle, rustle, sputter
    static, radio
crickets are
    crickets, several crickets, insects
    chirp, trill, stridulate
    field crickets, house crickets, grasshoppers
    sing, call, buzz in the grass
    crickets, insects
crowd
    a crowd, a group of people, a room full of people
    talk, chatter, murmur
    an audience, a busy crowd, a gathering of people
    convers, babble, speak all at once
    crowd, people, voices
buzz
    an electric transformer, a power line, an electric wire
    buzz, hum, drone
    a transformer, an electrical cable, a high voltage line
    thrum, vibrate, give off a hum
    buzz, electricity, hum
stream
    a stream, a small brook, a creek
    flow, babble, trickle over stones
    a rivulet, a little river, running water
    gurgle, ripple along, splash over rocks
    stream, water
fan
    a fan, a ventilation fan, an air conditioner
    whir, spin, blow air
    a blower, an electric fan, a ventilator
    rotate, turn, move the air
    fan, ventilation
bird
    a bird, a small bird, a songbird
    chirp, sing, tweet
    a little bird, a wild bird, some kind of bird
    whistle, warble, call out
    bird, birdsong
clock
    a clock, a wall clock, an old clock
    tick, tick tocks/tick tocking, tick away
    a timepiece, a mechanical clock, a pendulum clock
    click, click away, go tick tock
    clock, tick
footsteps
    a person, someone, a man
    walk, walk on a hard floor, step along a path
    somebody, a pedestrian, a walker
    take steps, pace about, tread on firm ground
    footsteps, walking
hammer
    a hammer, a heavy hammer, a blacksmith
    strike metal, pound on steel, hit an iron plate
    a smith, a metalworker, a sledgehammer
    hammer on iron, bang on metal, hit steel
    hammer, metal
typing
    a person, someone, an office worker
    type on a keyboard, press computer keys, type a letter
    somebody, a typist, a clerk
    work at a keyboard, tap on computer keys, write on a keyboard
    typing, keyboard
clapping
    a person, someone, a spectator
    clap, clap with both hands, applaud
    somebody, a guest, one person
    give applause, beat both palms together, smack two hands together
    clapping, hands
frog
    a frog, a toad, a bullfrog
    croak, call from a pond, ribbit
    a little frog, a pond frog, an amphibian
    call out, sing by the water, make croaks
    frog, amphibian
siren
    a siren, an emergency siren, an ambulance siren
    wail, sound, blare
    a warning siren, an emergency vehicle, the siren of an ambulance
    howl, scream, go off
    siren, emergency
dog
    a dog, a big dog, a hound
    bark, woof, yelp
    a canine, a large dog, a guard dog
    yap, bay, give a bark
    dog, bark
bell
    a bell, a church bell, a metal bell
    ring, toll, chime
    a chapel bell, a heavy bell, a large bell
    clang, peal, sound
    bell, chime
knock
    a person, someone, a visitor
    knock on a door, rap on wood, knock on a wooden door
    somebody, a caller, one person
    tap on a door, bang on the door, pound on wood
    knock, wood
phone
    a telephone, a phone, an old telephone
    ring, trill, ring on a desk
    a landline phone, a telephone set, a desk phone
    jingle, go off, sound its bell
    telephone, ring
horn
    a car, a vehicle, an impatient driver
    honk, honk the horn, toot the horn
    a motorist, an automobile, a driver in a car
    sound the horn, blow the horn, beep the horn
    horn, car
beep
    an electronic device, a machine, an alarm
    beep, bleep, let out a beep
    an electronic gadget, a device, an appliance
    ping, give a beep, make a high tone
    beep, electronic
door
    a door, a heavy door, a wooden door
    slam, slam shut, bang shut
    a front door, a big door, the door of a room
    be thrown shut, crash shut, fall shut
    door, slam
glass
    a glass, a wine glass, a glass bottle
    clink, be tapped, chink
    a drinking glass, a piece of glassware, a glass vessel
    tinkle, ring, be struck
    glass, clink
"""

JUNK = (
    "field-recording", "H4n", "ambience", "stereo", "Zoom", "noise", "sound-effect", "foley",
    "binaural", "owi", "Sony", "atmosphere", "foundsound", "2011", "raw", "loop",
)  # fmt: skip
"""What else stands among the keywords of Freesound."""


@dataclass(frozen=True)
class Verb:
    """A verb in agreement with its subjects."""

    finite: str
    participle: str


@dataclass(frozen=True)
class Words:
    """How people name a class; every subject goes with every verb."""

    event: str
    copula: str
    """is or are"""
    subjects: tuple[str, ...]
    verbs: tuple[Verb, ...]
    other_subjects: tuple[str, ...]
    """Which paraphrases alone use; so are other_verbs."""
    other_verbs: tuple[Verb, ...]
    tags: tuple[str, ...]
    """Keywords; the first is the plainest."""

    @property
    def has_tempo(self) -> bool:
        """Whether it can be slow or fast."""
        return self.event in WITH_TEMPO

    @property
    def is_counted(self) -> bool:
        """Whether it happens once, twice or several times."""
        return self.event in WITH_COUNT


def _read(block: list[str]) -> Words:
    """The words of a class from its six lines."""
    event, _, copula = block[0].partition(" ")
    copula = copula or "is"
    subjects, verbs, other_subjects, other_verbs, tags = (
        tuple(each.strip() for each in line.split(",")) for line in block[1:]
    )
    of, others = (tuple(_verb(each, copula) for each in bases) for bases in (verbs, other_verbs))
    return Words(event, copula, subjects, of, other_subjects, others, tags)


def _verb(base: str, copula: str) -> Verb:
    """In agreement with "is" or "are": "fall down" is Verb("falls down", "falling down")."""
    if "/" in base:
        return Verb(*base.split("/"))
    first, blank, rest = base.partition(" ")
    if first == "be":
        return Verb(f"{copula} {rest}", f"being {rest}")
    finite = third_person(first) if copula == "is" else first
    return Verb(finite + blank + rest, gerund(first) + blank + rest)


_LINES = _TABLE.strip().splitlines()
VOCABULARY = {
    words.event: words
    for words in (_read(_LINES[start : start + 6]) for start in range(0, len(_LINES), 6))
}
