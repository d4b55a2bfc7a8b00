"""Which keywords name a sound, what to call it in a sentence, and whether a caption has it."""

import re
from collections.abc import Sequence

# Groups of keywords with the stems by which a caption already speaks of them; a phrase stands
# behind "=" where it differs from the keyword. Keywords that are no sounds (places, moods,
# recording devices, names) are simply not in the table.
_TABLE = """
people person someone somebod man men wom crowd talk speak voice chat convers child kid laugh
  discuss individual baby infant cry toddler : people, voices, crowd=a crowd, talking=people
  talking, children, kids=children, laughter, laughing=laughter, chatter, conversation=a
  conversation, shouting, applause, clapping, audience=an audience, baby=a baby
car cars traffic vehicle engine motor truck automobile driv bus : traffic, car=a car, cars,
  truck=a truck, bus=a bus, engine=an engine, motor=a motor, motorcycle=a motorcycle, vehicle=a
  vehicle
water stream river creek brook sea ocean wave rain liquid fountain drip splash faucet tap shower
  shore beach flow pour : water, rain, raining=rain, stream=a stream, river=a river, creek=a
  creek, brook=a brook, sea=the sea, ocean=the ocean, waves, waterfall=a waterfall, fountain=a
  fountain, splash=splashing, drip=dripping water, dripping=dripping water, surf=the surf
walk step foot feet shoe heel run tread boot pace : footsteps, steps=footsteps,
  walking=footsteps, walk=footsteps
bell chime ring ding toll : bell=a bell, bells, chime=a chime, chimes
bird chirp tweet caw quack squawk crow gull owl duck geese rooster : birds, bird=a bird,
  birdsong, bird-song=birdsong, crows, crow=a crow, seagulls, duck=a duck, geese
insect cricket cicada bug chirp locust grasshopper buzz : crickets, cricket=a cricket, insects,
  cicadas, bees
noise static hum hiss buzz drone whir : static, hum=a hum, humming=a hum, hiss=a hiss, buzz=a
  buzz, buzzing=a buzz, white-noise=white noise
storm thunder rain lightning : thunder, storm=a storm, thunderstorm=a thunderstorm
music song sing instrument melod piano guitar drum tune : music, singing, piano=a piano,
  guitar=a guitar, drum=a drum, drums, song=a song
wind breez gust blow : wind, windy=wind, breeze=a breeze
dog bark puppy growl : dog=a dog, dogs, barking=a barking dog
cat meow purr kitten : cat=a cat, meow=a cat
frog croak toad : frog=a frog, frogs
clock tick : clock=a clock, ticking, tick=ticking
siren alarm police ambulance emergency : siren=a siren, sirens, alarm=an alarm, ambulance=a
  siren
horn honk beep : horn=a horn, honk=a horn, beep=beeping, beeping
phone ring : phone=a phone, telephone=a telephone
fan ventilat air : fan=a fan, ventilation
machine motor engine : machine=a machine, machinery, machines
train locomotive rail subway : train=a train, locomotive=a locomotive, subway=a train
plane aircraft jet : airplane=an airplane, plane=a plane, jet=a jet
helicopter chopper : helicopter=a helicopter
fire flame crackl burn : fire=a fire, crackling, fireworks
radio static station : radio=a radio
hammer pound bang : hammer=hammering, hammering
knock tap rap : knock=knocking, knocking
door gate : door=a door
keyboard typ click : typing, keyboard=a keyboard
horse gallop hoo : horse=a horse, horses
glass clink bottle : glass=clinking glass, glasses
leaves leaf rustl : leaves=rustling leaves, rustling
gun shot explo : gunshot=a gunshot, gunshots, explosion=an explosion
drill saw : drill=a drill, drilling, saw=a saw
"""


def _read(table: str) -> list[tuple[tuple[str, ...], dict[str, str]]]:
    groups = []
    for line in re.sub(r"\n  ", " ", table).strip().splitlines():
        stems, _, phrases = line.partition(" : ")
        pairs = (phrase.partition("=") for phrase in phrases.split(", "))
        groups.append((tuple(stems.split()), {one: two or one for one, _, two in pairs}))
    return groups


_GROUPS = _read(_TABLE)


def missing_sounds(caption: str, keywords: Sequence[str]) -> list[str]:
    """What the keywords name that the caption does not, as phrases; in the keywords' order."""
    words = re.findall(r"[a-z]+", caption.lower())
    found: list[str] = []
    for keyword in keywords:
        for stems, phrases in _GROUPS:
            phrase = phrases.get(keyword.strip().lower())
            if phrase and phrase not in found and not _speaks_of(words, stems):
                found.append(phrase)
    return found


def _speaks_of(words: Sequence[str], stems: Sequence[str]) -> bool:
    return any(
        word == stem or (len(stem) > 2 and word.startswith(stem))
        for word in words
        for stem in stems
    )
