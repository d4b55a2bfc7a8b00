"""Birds: calls by source and filter, whistles, beaks and wings; insects and frogs by pulses."""

import numpy as np

from makers.sounds.animals import call
from makers.sounds.toolkit import (
    Draw,
    Sound,
    bandpass,
    curve,
    events,
    hump,
    noise,
    put,
    samples,
    sine,
    spells,
    steady,
    struck,
    tone,
    wander,
)


def rooster(draw: Draw) -> Sound:
    """Four notes, the third long and high, the last falling."""

    def crow() -> Sound:
        base, out, at = draw.scale(450, 900), np.zeros(samples(2.8)), 0.0
        formants = [(1100, 400, 1), (2200, 600, 0.9), (3600, 900, 0.5)]
        for ratio, length in (
            (0.75, 0.17),
            (1.0, 0.22),
            (1.25, 0.2),
            (1.3, draw.between(0.7, 1.4)),
        ):
            last = length > 0.5
            shape = (0.9, 1.1, 1.0, 0.95, 0.55) if last else (0.9, 1.1, 1.0)
            pitch = tuple(base * ratio * each for each in shape)
            put(out, at, call(draw, length, pitch, formants, (0.3, 60), -2, 0.08, 0.4))
            at += length + draw.between(0.02, 0.08)
        return out

    return events(draw, spells(draw, draw.n, (1, 2), (2, 3.5)), crow)


def hen(draw: Draw) -> Sound:
    """Short clucks in a row, some of them drawn out and rising."""
    size = draw.between(0.9, 1.3)
    formants = [(900 * size, 300, 1), (1800 * size, 500, 0.8), (3200 * size, 900, 0.3)]

    def cluck() -> Sound:
        base = draw.scale(250, 600)
        pitch: tuple[float, ...]
        if draw.chance(0.2):
            pitch = (base, 1.2 * base, 1.6 * base, 1.1 * base)
            return call(draw, draw.between(0.3, 0.8), pitch, formants, (0.4, 45), -2, 0.1)
        pitch = (1.3 * base, base, 0.7 * base)
        return call(draw, draw.between(0.05, 0.14), pitch, formants, (0.5, 80), -2, 0.25, 0.7)

    return events(draw, steady(draw, draw.n, draw.scale(1, 5), 0.25), cluck, 0.3)


def quacking(draw: Draw) -> Sound:
    """Nasal and rough, from a long narrow tract."""
    size, length = draw.between(0.8, 1.4), draw.scale(0.09, 0.4)

    def quack() -> Sound:
        base = draw.scale(170, 520)
        formants = [(1100 * size, 200, 1), (1900 * size, 300, 1), (3100 * size, 500, 0.7)]
        pitch = (1.1 * base, base, 0.8 * base)
        return call(
            draw,
            length * draw.between(0.8, 1.2),
            pitch,
            formants,
            (draw.between(0.3, 0.8), draw.between(60, 130)),
            -1,
            0.15,
            0.4,
            drive=2,
        )

    return events(draw, steady(draw, draw.n, draw.scale(1, 6), 0.15), quack, 0.4)


def songbirds(draw: Draw) -> Sound:
    """Motifs of quick whistled glides, each bird at its own pitch and distance."""
    out = np.zeros(draw.n)
    for _ in range(draw.count(1, 5)):
        base, near = draw.scale(1800, 6500), draw.scale(0.08, 1)
        motif = [
            (
                draw.scale(0.03, 0.25),
                base * draw.scale(0.7, 1.4),
                base * draw.scale(0.7, 1.4),
                base * draw.scale(0.7, 1.4),
                draw.between(0.01, 0.12),
                draw.chance(0.25),
            )
            for _ in range(draw.count(1, 6))
        ]
        at = draw.between(-0.5, 1.5)
        while at < draw.n / 32000:
            place = at
            for length, first, middle, last, pause, trill in motif:
                n = samples(length)
                f0 = curve(n, first, middle, last)
                if trill:
                    f0 = f0 * (1 + 0.08 * sine(draw.scale(20, 60), n))
                put(out, place, tone(f0, n, [1, draw.between(0, 0.15)]) * hump(n, 0.7), near)
                place += length + pause
            at = place + draw.scale(0.15, 2)
    return out


def twittering(draw: Draw) -> Sound:
    """Many short chirps with harmonics."""
    chirps = []
    for _ in range(10):
        n = samples(draw.scale(0.03, 0.12))
        base = draw.scale(2000, 5500)
        f0 = base * curve(n, draw.between(0.7, 1.3), 1.1, draw.between(0.6, 1.2))
        chirps.append(tone(f0, n, [1, 0.5, 0.2]) * hump(n, 0.6))
    out = np.zeros(draw.n)
    for at in steady(draw, draw.n, draw.scale(3, 18), 0.6):
        put(out, at, chirps[draw.count(0, 9)], draw.scale(0.1, 1))
    return out


def cawing(draw: Draw) -> Sound:
    """A harsh call of half a second, a few in a row."""
    size, length, base = draw.between(0.9, 1.25), draw.scale(0.15, 0.55), draw.scale(300, 650)

    def caw() -> Sound:
        formants = [(1300 * size, 450, 1), (2100 * size, 600, 0.8), (3500 * size, 900, 0.4)]
        pitch = (0.9 * base, 1.1 * base, base, 0.8 * base)
        return call(
            draw,
            length * draw.between(0.85, 1.15),
            pitch,
            formants,
            (draw.between(0.4, 0.9), draw.between(50, 110)),
            -1,
            draw.between(0.3, 1),
            0.35,
            drive=2.5,
        )

    times = np.concatenate(
        [
            at + (length + draw.between(0.08, 0.4)) * np.arange(draw.count(1, 4))
            for at in spells(draw, draw.n, (1, 3), (1, 2.2))
        ]
    )
    return events(draw, times, caw, 0.6)


def hooting(draw: Draw) -> Sound:
    """Soft low tones in a rhythm."""
    base, low = draw.scale(300, 850), draw.chance(0.4)
    pattern = [
        (draw.between(0.12, 0.6), draw.pick(1.0, 1.0, 0.8, 1.15), draw.between(0.05, 0.4))
        for _ in range(draw.count(1, 4))
    ]
    out, at = np.zeros(draw.n), draw.between(0, 0.8)
    while at < draw.n / 32000:
        for length, ratio, pause in pattern:
            n = samples(length)
            f0 = base * ratio * curve(n, 0.95, 1.03, 0.97)
            hoot = tone(f0, n, [1, 0.12, 0.06]) * hump(n, 0.6)
            if low:
                hoot *= 0.7 + 0.3 * sine(draw.between(15, 25), n)
            put(out, at, hoot + 0.02 * noise(draw, n, 200, 2000) * hump(n))
            at += length + pause
        at += draw.between(0.4, 2)
    return out


def gulls(draw: Draw) -> Sound:
    """Falling cries in series."""

    def cry() -> Sound:
        base = draw.scale(700, 2400)
        formants = [(1800, 700, 1), (3200, 900, 0.8), (5000, 1500, 0.3)]
        pitch = (0.8 * base, 1.25 * base, base, 0.75 * base)
        return call(
            draw,
            draw.between(0.15, 0.8),
            pitch,
            formants,
            (draw.between(0, 0.5), 60),
            -2,
            0.05,
            0.4,
        )

    out = events(draw, spells(draw, draw.n, (2, 9), (0.25, 0.9)), cry, 0.15)
    return out + draw.pick(0.0, 0.05) * noise(draw, draw.n, 80, 3000, -4)


def woodpecker(draw: Draw) -> Sound:
    """A drum roll of ten to twenty-five knocks a second."""
    peck = struck(draw, draw.scale(400, 1400), 5000, 6, 0.08, draw.scale(0.006, 0.02))
    rate, count = draw.scale(9, 26), draw.count(7, 22)
    times = np.concatenate(
        [at + np.arange(count) / rate for at in spells(draw, draw.n, (1, 3), (1, 2.5))]
    )
    return events(draw, times, lambda: peck, 0.7)


def wings(draw: Draw) -> Sound:
    """Soft swishes, ten a second."""

    def flight() -> Sound:
        n = samples(draw.between(0.5, 2))
        beat = (0.5 + 0.5 * sine(draw.scale(6, 18) * curve(n, 1.2, 1, 0.9), n)) ** 3
        return noise(draw, n, 150, draw.scale(2000, 8000), -3, 1) * beat * curve(n, 0.6, 1, 0)

    return events(draw, spells(draw, draw.n, (1, 3), (0.8, 2)), flight)


def crickets(draw: Draw) -> Sound:
    """Tones of 2.5 to 7 kHz in trains of pulses, several animals at a time."""
    out, base = np.zeros(draw.n), draw.scale(2500, 6500)
    for _ in range(draw.count(1, 4)):
        f0, rate = base * draw.between(0.93, 1.07), draw.scale(22, 70)
        chirp = draw.scale(0.6, 5) if draw.chance(0.75) else 0.0
        time = np.arange(draw.n) / 32000 + draw.between(0, 1)
        gate = np.clip(np.sin(2 * np.pi * rate * time), 0, 1)
        if chirp:
            gate = gate * ((time * chirp % 1) < draw.between(0.25, 0.7))
        out += tone(f0, draw.n, [1, 0.08]) * gate * draw.scale(0.15, 1)
    return out + draw.scale(0.003, 0.08) * noise(draw, draw.n, 200, 10000, -2)


def cicadas(draw: Draw) -> Sound:
    """Broad bands of 4 to 12 kHz, finely and slowly modulated."""
    low = draw.scale(2800, 8000)
    made = bandpass(noise(draw, draw.n), low, low * draw.between(1.2, 1.8), 3)
    made *= (0.5 + 0.5 * sine(draw.scale(40, 300), draw.n)) ** draw.between(0.5, 2)
    swell = 0.6 + 0.4 * sine(draw.scale(0.2, 6), draw.n)
    return made * swell


def buzzing_insect(draw: Draw) -> Sound:
    """Wing beats of 100 to 700 Hz that waver as the insect turns."""
    out = np.zeros(draw.n)
    base = draw.scale(110, 650)
    for _ in range(draw.pick(1, 1, 2, 6)):
        f0 = (
            base * draw.between(0.85, 1.15) * wander(draw, draw.n, draw.between(1.5, 6), 0.85, 1.15)
        )
        near = wander(draw, draw.n, draw.between(0.6, 2.5)) ** draw.between(1, 3)
        gains = draw.spread(0.2, 1, 30) / np.arange(1, 31) ** draw.between(0.4, 1.3)
        out += tone(f0, draw.n, gains) * near * wander(draw, draw.n, 20, 0.7, 1)
    return out


def frogs(draw: Draw) -> Sound:
    """Trains of pulses with one or two resonances, alone or in chorus."""
    out = np.zeros(draw.n)
    for _ in range(draw.pick(1, 1, 2, 6)):
        base, rate, length = draw.scale(200, 3200), draw.scale(12, 140), draw.scale(0.06, 0.8)
        near, gap = draw.scale(0.2, 1), draw.scale(0.15, 1.6)
        at = draw.between(-0.3, 1)
        while at < draw.n / 32000:
            n = samples(length * draw.between(0.9, 1.1))
            beat = np.clip(sine(rate, n), 0, 1) ** 2
            f0 = base * curve(n, 0.95, 1, 1.05)
            made = (tone(f0, n, [1, 0.5, 0.25, 0.1]) + 0.2 * noise(draw, n, base, 3 * base)) * beat
            put(out, at, made * hump(n, 0.5), near)
            at += length + gap * draw.between(0.85, 1.15)
    return out
