"""Animals: calls by source and filter, wings, and insects."""

import numpy as np

from makers.sounds.toolkit import (
    Draw,
    Formants,
    Sound,
    click,
    curve,
    events,
    fade,
    hump,
    noise,
    put,
    resonate,
    samples,
    sine,
    spells,
    steady,
    tone,
    voiced,
    wander,
)


def call(
    draw: Draw,
    length: float,
    pitch: tuple[float, ...],
    formants: Formants,
    rough: tuple[float, float] = (0.0, 0.0),
    tilt: float = -5.0,
    breath: float = 0.05,
    shape: float = 0.4,
    drive: float = 0.0,
) -> Sound:
    """One call, unit peak: a glottis or syrinx through resonances.

    pitch: hertz, evenly over the call; rough: how deep and how fast it is broken (hertz);
    breath: noise through the same resonances; drive: how much it is overdriven, 0 for not at all.
    """
    n = samples(length)
    f0 = curve(n, *pitch) * (1 + 0.01 * wander(draw, n, 20, -1, 1))
    made = voiced(f0, formants, tilt)
    if rough[0]:
        made = made * (
            1 - rough[0] * (0.5 + 0.5 * sine(rough[1] * wander(draw, n, 8, 0.9, 1.1), n))
        )
    air = resonate(noise(draw, n), [(float(np.mean(f)), b, g) for f, b, g in formants])
    made = made / max(np.abs(made).max(), 1e-9) + breath * air / max(np.abs(air).max(), 1e-9)
    made = made * hump(n, shape)
    return np.tanh(drive * made) if drive else made


def glide(draw: Draw, n: int, *values: float) -> Sound:
    """A formant that moves."""
    return curve(n, *values) * draw.between(0.92, 1.08)


def dog_barking(draw: Draw) -> Sound:
    """Short rough calls whose pitch rises and falls, one to six at a time."""
    size, base = draw.scale(0.7, 1.7), draw.scale(180, 900)
    hard = draw.between(0.2, 0.9)

    def bark() -> Sound:
        n = samples(length := draw.between(0.08, 0.26))
        formants: Formants = [
            (glide(draw, n, 500 * size, 950 * size, 600 * size), 250, 1.0),
            (glide(draw, n, 1100 * size, 1800 * size, 1300 * size), 350, 0.8),
            (3000 * size, 700, 0.3),
        ]
        pitch = (0.7 * base, 1.1 * base, 0.6 * base)
        made = call(
            draw,
            length,
            pitch,
            formants,
            (hard, draw.between(60, 140)),
            -4,
            draw.between(0.1, 0.6),
            0.6,
        )
        return np.tanh(3 * made)

    times = np.concatenate(
        [
            at + np.cumsum(draw.spread(0.22, 0.6, draw.count(1, 5))) - 0.22
            for at in spells(draw, draw.n, (1, 3), (0.8, 2))
        ]
    )
    return events(draw, times, bark, 0.7)


def howling(draw: Draw) -> Sound:
    """Long pure glides."""
    base, short = draw.scale(250, 900), draw.chance(0.3)

    def howl() -> Sound:
        length = draw.between(0.2, 0.6) if short else draw.between(1.2, 3.5)
        top = base * (2 if short else 1)
        formants = [(700, 250, 1), (1400, 400, 0.4), (2800, 600, 0.1)]
        pitch = (0.7 * top, 1.1 * top, top, 0.95 * top, 0.6 * top)
        return call(draw, length, pitch, formants, tilt=-9, breath=0.03)

    return events(draw, spells(draw, draw.n, (1, 4), (0.5, 2)), howl)


def growling(draw: Draw) -> Sound:
    """Low pitch, much roughness."""
    size = draw.scale(0.5, 1.2)

    def growl() -> Sound:
        base = draw.scale(45, 160)
        formants = [(400 * size, 200, 1), (900 * size, 350, 0.7), (2200 * size, 900, 0.25)]
        pitch = (0.8 * base, 1.2 * base, base, 0.7 * base)
        return call(
            draw,
            draw.between(0.7, 2.8),
            pitch,
            formants,
            (0.9, draw.between(18, 45)),
            -4,
            draw.between(0.2, 0.9),
            drive=2,
        )

    return events(draw, spells(draw, draw.n, (1, 3), (1, 2.5)), growl)


def cat_meowing(draw: Draw) -> Sound:
    """Half a second to one and a half; pitch and mouth open and close."""
    base, size = draw.scale(350, 900), draw.between(1.3, 2)

    def meow() -> Sound:
        length = draw.between(0.35, 1.5)
        n = samples(length)
        formants: Formants = [
            (glide(draw, n, 450 * size, 1000 * size, 900 * size, 500 * size), 200, 1.0),
            (glide(draw, n, 1700 * size, 1500 * size, 1100 * size, 800 * size), 250, 0.8),
            (3800 * size, 600, 0.2),
        ]
        pitch = (0.85 * base, 1.15 * base, 1.1 * base, 0.95 * base, 0.7 * base)
        return call(
            draw,
            length,
            pitch,
            formants,
            (draw.between(0, 0.4), draw.between(25, 60)),
            -5,
            0.04,
            0.5,
        )

    return events(draw, spells(draw, draw.n, (1, 3), (0.9, 2.2)), meow)


def purring(draw: Draw) -> Sound:
    """About 25 pulses a second, in and out with the breath."""
    rate = draw.scale(20, 32)
    pulse = (0.5 + 0.5 * sine(rate, draw.n)) ** 3
    breath = 0.45 + 0.55 * np.abs(sine(draw.between(0.25, 0.6), draw.n))
    return noise(draw, draw.n, 40, draw.scale(400, 2500), -5, 1) * pulse * breath


def animal_hiss(draw: Draw) -> Sound:
    """A sharp breath, or a rattle."""
    if draw.chance(0.35):
        return (
            noise(draw, draw.n, 3000, 15000) * (0.5 + 0.5 * sine(draw.scale(40, 70), draw.n)) ** 4
        )

    def hiss() -> Sound:
        n = samples(draw.between(0.4, 1.6))
        return resonate(
            noise(draw, n), [(draw.scale(2000, 5000), 1500, 1), (7000, 3000, 1)]
        ) * curve(n, 0, 1, 0.7, 0)

    return events(draw, spells(draw, draw.n, (1, 4), (0.6, 2)), hiss)


def cow(draw: Draw) -> Sound:
    """One to three seconds, low, nasal, opening in the middle."""
    base, size = draw.scale(90, 290), draw.between(0.6, 0.9)

    def moo() -> Sound:
        length = draw.between(0.8, 2.8)
        n = samples(length)
        formants: Formants = [
            (glide(draw, n, 280 * size, 750 * size, 800 * size, 500 * size), 120, 1.0),
            (glide(draw, n, 800 * size, 1400 * size, 1300 * size), 200, 0.7),
            (2700 * size, 400, 0.3),
            (4000 * size, 700, 0.15),
        ]
        pitch = (0.7 * base, base, 1.1 * base, 1.05 * base, 0.75 * base)
        return call(
            draw,
            length,
            pitch,
            formants,
            (draw.between(0, 0.5), draw.between(20, 50)),
            -3,
            0.06,
            0.4,
        )

    return events(draw, spells(draw, draw.n, (1, 3), (1.5, 3)), moo)


def bleating(draw: Draw) -> Sound:
    """A voice broken seven to twelve times a second."""
    size = draw.between(0.9, 1.5)

    def bleat() -> Sound:
        base, length = draw.scale(130, 500), draw.between(0.45, 1.4)
        n = samples(length)
        shake = 1 - draw.between(0.35, 0.75) * (0.5 + 0.5 * sine(draw.between(6.5, 13), n))
        formants = [
            (650 * size, 180, 1),
            (1750 * size, 250, 0.9),
            (2700 * size, 400, 0.4),
            (4200, 900, 0.15),
        ]
        pitch = (0.9 * base, 1.1 * base, base, 0.85 * base)
        made = call(draw, length, pitch, formants, (0.3, 50), -3, 0.1, 0.3)
        return made * shake

    return events(draw, spells(draw, draw.n, (1, 4), (0.7, 2)), bleat)


def neighing(draw: Draw) -> Sound:
    """A long shaking glide down; or the donkey's in and out."""

    def neigh() -> Sound:
        length, base = draw.between(1.0, 2.2), draw.scale(500, 1100)
        n = samples(length)
        shake = 1 + 0.12 * sine(draw.between(8, 14), n) * np.linspace(0.3, 1, n)
        f0 = np.clip(base * curve(n, 0.8, 1.3, 1.2, 0.8, 0.4) * shake, 80, None)
        made = voiced(f0, [(900, 350, 1), (1900, 500, 0.7), (3200, 800, 0.4)], -3)
        return made / np.abs(made).max() * hump(n, 0.3) * (0.7 + 0.3 * shake)

    def bray() -> Sound:
        out = np.zeros(samples(3.2))
        for number in range(draw.count(2, 4)):
            formants = [(1200, 400, 1), (2500, 900, 0.6)]
            pitch = (700, 900, 800)
            put(out, 0.75 * number, call(draw, 0.35, pitch, formants, (0.7, 70), -2, 0.7))
            formants = [(600, 250, 1), (1300, 400, 0.8)]
            pitch = (260, 300, 220)
            put(out, 0.75 * number + 0.37, call(draw, 0.36, pitch, formants, (0.5, 40), -2, 0.3))
        return out

    how = draw.pick(neigh, neigh, bray)
    return events(draw, spells(draw, draw.n, (1, 2), (1.8, 3)), how)


def pig(draw: Draw) -> Sound:
    """Snorts of rough low pulses, now and then a squeal."""
    size = draw.between(0.7, 1.1)

    def grunt() -> Sound:
        base = draw.scale(50, 160)
        formants = [(350 * size, 180, 1), (1100 * size, 400, 0.7), (2400 * size, 900, 0.4)]
        pitch = (base, 1.2 * base, 0.8 * base)
        return call(
            draw,
            draw.between(0.12, 0.5),
            pitch,
            formants,
            (0.8, draw.between(20, 60)),
            -2,
            draw.between(0.3, 1.2),
            0.5,
            drive=2,
        )

    def squeal() -> Sound:
        base = draw.scale(600, 1600)
        formants = [(1500, 600, 1), (3200, 900, 0.8)]
        pitch = (0.7 * base, 1.2 * base, base)
        return call(
            draw, draw.between(0.3, 1.2), pitch, formants, (0.6, draw.between(50, 100)), -1, 0.2
        )

    out = events(draw, spells(draw, draw.n, (2, 9), (0.25, 0.9)), grunt, 0.4)
    return out + (
        events(draw, spells(draw, draw.n, (1, 2), (1, 2)), squeal) if draw.chance(0.35) else 0
    )


def monkeys(draw: Draw) -> Sound:
    """Hoots and screeches in accelerating series."""
    out, at, gap = np.zeros(draw.n), draw.between(0, 0.6), draw.between(0.25, 0.5)
    while at < draw.n / 32000:
        base = draw.scale(300, 1400)
        formants = [(800, 300, 1), (1800, 500, 0.8), (3000, 900, 0.4)]
        pitch = (0.8 * base, 1.3 * base, base)
        put(
            out,
            at,
            call(draw, draw.between(0.08, 0.3), pitch, formants, (0.5, 70), -3, 0.3),
            draw.between(0.4, 1),
        )
        at, gap = at + gap, max(0.12, gap * 0.93)
        if draw.chance(0.08):
            at, gap = at + draw.between(0.4, 1), draw.between(0.25, 0.5)
    return out


def elephant(draw: Draw) -> Sound:
    """A brassy scream."""

    def trumpet() -> Sound:
        base = draw.scale(280, 700)
        formants = [(900, 500, 1), (2000, 900, 1), (3800, 1500, 0.6)]
        pitch = (0.8 * base, 1.2 * base, 1.15 * base, 0.9 * base)
        return call(
            draw,
            draw.between(0.5, 1.8),
            pitch,
            formants,
            (0.5, draw.between(30, 70)),
            0,
            0.3,
            drive=3,
        )

    return events(draw, spells(draw, draw.n, (1, 2), (1.5, 3)), trumpet)


def sea_mammals(draw: Draw) -> Sound:
    """Long glides with echoes; or clicks and whistles; or barks."""
    if draw.chance(0.3):

        def bark() -> Sound:
            return call(
                draw, 0.3, (200, 300, 220), [(500, 200, 1), (1200, 400, 0.7)], (0.7, 55), -2, 0.3
            )

        return events(draw, steady(draw, draw.n, draw.scale(1, 2.5), 0.1), bark)
    out, base = np.zeros(draw.n), draw.scale(120, 5000)
    for at in spells(draw, draw.n, (2, 6), (0.5, 1.6)):
        n = samples(draw.between(0.3, 1.8))
        song = tone(base * curve(n, *draw.spread(0.6, 1.8, 3)), n, [1, 0.4, 0.2, 0.1]) * hump(
            n, 0.6
        )
        for echo in range(3):
            put(out, at + 0.3 * echo, song, 0.4**echo)
    if base > 1500:
        snap = click(draw, 0.02, 0.001, 3000, 15500)
        out += 0.4 * events(draw, steady(draw, draw.n, draw.scale(8, 60), 0.1), lambda: snap)
    return out


def squeaking(draw: Draw) -> Sound:
    """Tiny high calls."""

    def squeak() -> Sound:
        n = samples(draw.scale(0.04, 0.3))
        f0 = draw.scale(900, 6000) * curve(n, draw.between(0.7, 1), 1.2, draw.between(0.7, 1))
        return tone(f0, n, [1, 0.5, 0.3, 0.15]) * fade(n, 0.005, 0.02)

    return events(draw, spells(draw, draw.n, (2, 10), (0.12, 0.7)), squeak, 0.3)
