"""People: voices by source and filter, breath, and what bodies do."""

import numpy as np

from makers.sounds.toolkit import (
    Draw,
    Formants,
    Sound,
    bandpass,
    click,
    curve,
    events,
    fade,
    hump,
    lowpass,
    noise,
    put,
    resonate,
    samples,
    sine,
    spells,
    steady,
    voiced,
    wander,
)

VOWELS = {
    "a": (730, 1090, 2440),
    "e": (530, 1840, 2480),
    "i": (270, 2290, 3010),
    "o": (570, 840, 2410),
    "u": (300, 870, 2240),
    "@": (500, 1500, 2500),
    "ae": (660, 1720, 2410),
}
"""Formants of a man's vowels in hertz (Peterson and Barney 1952)."""


def tract(draw: Draw, vowels: list[str], n: int, size: float) -> Formants:
    """A vocal tract that moves through vowels; size: 1 a man's, 1.17 a woman's, 1.4 a child's."""
    rows = np.array([VOWELS[each] for each in vowels]) * size
    made: list[tuple[float | Sound, float, float]] = []
    for column, (width, gain) in enumerate(((80, 1.0), (110, 0.6), (160, 0.3))):
        made.append((curve(n, *np.repeat(rows[:, column], 2)), width * size, gain))
    return [*made, (3500 * size, 250, 0.15), (4500 * size, 400, 0.08)]


def _utterance(draw: Draw, base: float, size: float, length: float) -> Sound:
    """Syllables with consonants, and a melody that falls."""
    n = samples(length)
    count = max(1, round(length * draw.between(3.5, 6)))
    vowels = [draw.pick(*VOWELS) for _ in range(count)]
    f0 = base * curve(n, draw.between(1, 1.3), *draw.spread(0.85, 1.25, max(1, count // 2)), 0.8)
    loud = np.clip(
        np.interp(
            np.linspace(0, count, n) % 1, [0, 0.12, 0.3, 0.7, 0.9, 1], [0, 0.1, 1, 0.9, 0.2, 0]
        ),
        0,
        1,
    )
    made = voiced(f0, tract(draw, vowels, n, size), draw.between(-11, -6)) * loud
    made = made / max(np.abs(made).max(), 1e-9)
    for number in range(count):
        if draw.chance(0.6):
            m = samples(draw.between(0.03, 0.11))
            low = draw.pick(400.0, 1500.0, 3000.0, 4500.0)
            put(
                made,
                number * length / count,
                noise(draw, m, low, 3 * low) * hump(m),
                draw.between(0.03, 0.15),
            )
    return made


def _talk(draw: Draw, base: float, size: float) -> Sound:
    out, at = np.zeros(draw.n), draw.between(0, 0.5)
    while at < draw.n / 32000:
        length = draw.between(0.6, 2.2)
        put(out, at, _utterance(draw, base, size, length))
        at += length + draw.between(0.1, 0.7)
    return out


def man_speaking(draw: Draw) -> Sound:
    """A low voice."""
    return _talk(draw, draw.scale(80, 150), draw.between(0.92, 1.08))


def woman_speaking(draw: Draw) -> Sound:
    """A higher voice."""
    return _talk(draw, draw.scale(160, 270), draw.between(1.1, 1.25))


def children(draw: Draw) -> Sound:
    """High voices, one or many."""
    voices = [
        draw.between(0.3, 1) * _talk(draw, draw.scale(240, 480), draw.between(1.3, 1.5))
        for _ in range(draw.count(1, 3))
    ]
    return np.sum(voices, axis=0)


def babble(draw: Draw) -> Sound:
    """Voices on top of each other until none can be followed."""
    voices = [_talk(draw, draw.scale(85, 260), draw.between(0.9, 1.25)) for _ in range(3)]
    out = np.zeros(draw.n)
    for each in voices:
        for _ in range(draw.count(2, 5)):
            out += draw.between(0.3, 1) * np.roll(each, draw.count(0, draw.n - 1))
    return lowpass(out, draw.scale(1500, 9000), 1) + 0.05 * noise(draw, draw.n, 100, 2000, -4)


def cheering(draw: Draw) -> Sound:
    """Many high voices that hold one vowel."""
    out = np.zeros(draw.n)
    for _ in range(7):
        n = samples(draw.between(0.8, 3))
        f0 = draw.scale(180, 700) * curve(n, 0.8, 1, 1.05, 0.8)
        made = voiced(
            f0,
            tract(
                draw, [draw.pick("a", "e", "u"), draw.pick("a", "e", "i")], n, draw.between(1, 1.3)
            ),
            -5,
        )
        made = made / np.abs(made).max() * hump(n, 0.5)
        for _ in range(3):
            put(out, draw.between(-1, 4), made, draw.between(0.2, 0.8))
    roar = resonate(noise(draw, draw.n), [(700, 500, 1), (1300, 700, 0.7), (2600, 1200, 0.3)])
    return out + draw.between(0.3, 2) * roar * wander(draw, draw.n, 1, 0.5, 1)


def laughing(draw: Draw) -> Sound:
    """Short breathy syllables, four to six a second, that fall in pitch and loudness."""

    def laugh() -> Sound:
        base, size = draw.scale(120, 520), draw.between(0.95, 1.4)
        rate, count = draw.between(3.8, 6.5), draw.count(3, 11)
        out = np.zeros(samples((count + 1) / rate))
        vowel, top = draw.pick("a", "e", "ae", "@", "i"), draw.between(1.1, 1.6)
        for number in range(count):
            n = samples(draw.between(0.4, 0.65) / rate)
            f0 = base * top ** (1 - number / count) * curve(n, 1.05, 1.1, 0.85)
            say = voiced(f0, tract(draw, [vowel, "@"], n, size), -7)
            say = say / np.abs(say).max() * hump(n, 0.6)
            m = samples(0.35 / rate)
            aspirate = resonate(
                noise(draw, m), [(900 * size, 400, 1), (1700 * size, 500, 0.7)]
            ) * hump(m)
            put(out, number / rate, say, draw.between(0.7, 1) * (1 - 0.6 * number / count))
            put(out, (number + 0.62) / rate, aspirate, draw.between(0.05, 0.4))
        return out

    return events(draw, spells(draw, draw.n, (1, 3), (1.2, 2.5)), laugh, 0.6)


def baby_crying(draw: Draw) -> Sound:
    """Cries of about a second at 350 to 600 Hz that rise and fall, a breath between them."""
    base, size, hard = draw.scale(320, 620), draw.between(1.4, 1.75), draw.chance(0.3)
    out, at = np.zeros(draw.n), draw.between(-0.4, 0.4)
    while at < draw.n / 32000:
        n = samples(draw.between(0.4, 1.5))
        f0 = base * curve(n, 0.8, draw.between(1, 1.25), draw.between(0.95, 1.15), 1, 0.75)
        f0 = f0 * (1 + 0.015 * sine(draw.between(5, 9), n) + 0.01 * wander(draw, n, 25, -1, 1))
        cry = voiced(f0, tract(draw, ["ae", "a", "ae", "@"], n, size), -3)
        if hard:
            cry = np.tanh(4 * cry / np.abs(cry).max() * (1 + 0.5 * sine(draw.between(50, 90), n)))
        put(out, at, cry / np.abs(cry).max() * curve(n, 0, 1, 1, 0.9, 0), draw.between(0.7, 1))
        at += n / 32000 + 0.05
        m = samples(draw.between(0.12, 0.3))
        breath = resonate(noise(draw, m), [(1500, 900, 1), (3500, 1500, 0.8)]) * hump(m)
        put(out, at, breath, draw.between(0.05, 0.25))
        at += m / 32000 + draw.between(0.02, 0.4)
    return out


def coughing(draw: Draw) -> Sound:
    """A burst through the throat, noise, and a voiced end."""
    size = draw.between(0.9, 1.35)
    throat = [
        (600 * size, 300, 1),
        (1300 * size, 400, 0.9),
        (2600 * size, 800, 0.6),
        (4000 * size, 1500, 0.3),
    ]

    def cough() -> Sound:
        n = samples(draw.between(0.2, 0.45))
        burst = (
            resonate(noise(draw, n), throat)
            * curve(n, 1, 0.7, 0.3, 0.15, 0)
            * np.minimum(1, np.arange(n) / draw.scale(60, 400))
        )
        f0 = draw.scale(100, 380) * curve(n, 1.2, 1, 0.7) * (1 + 0.1 * wander(draw, n, 60, -1, 1))
        tail = voiced(f0, tract(draw, ["@", "a"], n, size), -6) * curve(n, 0, 0.5, 0.8, 0.4, 0)
        return burst / np.abs(burst).max() + draw.between(0.05, 0.8) * tail / np.abs(tail).max()

    times = np.concatenate(
        [
            at + np.cumsum(draw.spread(0.25, 0.55, draw.count(1, 4))) - 0.25
            for at in spells(draw, draw.n, (1, 3), (1, 2.2))
        ]
    )
    return events(draw, times, cough)


def sneezing(draw: Draw) -> Sound:
    """A breath in, a voiced start, and a sharp hiss."""

    def sneeze() -> Sound:
        size = draw.between(0.9, 1.35)
        out = np.zeros(samples(2.2))
        n = samples(draw.between(0.3, 0.9))
        breath = resonate(noise(draw, n), [(1200 * size, 800, 1), (2800, 1200, 0.6)]) * curve(
            n, 0, 0.5, 1, 0.2
        )
        put(out, 0, breath / np.abs(breath).max(), draw.between(0.05, 0.4))
        m = samples(draw.between(0.1, 0.25))
        voice = voiced(
            draw.scale(120, 400) * curve(m, 0.9, 1.2), tract(draw, ["a", "i"], m, size), -6
        )
        at = n / 32000 + draw.between(0, 0.15)
        put(out, at, voice / np.abs(voice).max() * hump(m, 0.5), draw.between(0.2, 1))
        k = samples(draw.between(0.2, 0.5))
        hiss = noise(draw, k, draw.scale(700, 2500), draw.scale(6000, 15000), -1) * curve(
            k, 1, 0.6, 0.25, 0.1, 0
        )
        put(out, at + m / 32000 * 0.9, hiss / np.abs(hiss).max(), 1)
        if draw.chance(0.5):
            tail = voiced(
                draw.scale(120, 350) * curve(k, 1.1, 0.8), tract(draw, ["u"], k, size), -6
            )
            put(
                out,
                at + m / 32000 + 0.1,
                tail / np.abs(tail).max() * hump(k),
                draw.between(0.1, 0.6),
            )
        return out

    return events(draw, spells(draw, draw.n, (1, 2), (1.5, 2.5)), sneeze)


def snoring(draw: Draw) -> Sound:
    """Fluttering breath: pulses of 25 to 90 a second through the throat; then the breath out."""
    out, at = np.zeros(draw.n), draw.between(-0.5, 0.6)
    size, rate = draw.between(0.8, 1.2), draw.scale(22, 95)
    body = [
        (250 * size, 150, 1),
        (600 * size, 250, 0.7),
        (1400 * size, 600, 0.4),
        (2600, 1200, 0.15),
    ]
    while at < draw.n / 32000:
        n = samples(draw.between(0.8, 1.9))
        flutter = (0.5 + 0.5 * sine(rate * wander(draw, n, 3, 0.8, 1.2), n)) ** draw.between(2, 6)
        snore = resonate(noise(draw, n, 50, 9000, -2) * flutter, body) * hump(n, 0.6)
        put(out, at, snore / np.abs(snore).max())
        m = samples(draw.between(0.6, 1.4))
        sigh = noise(draw, m, 300, 5000, -4) * hump(m)
        put(out, at + n / 32000 + 0.2, sigh / np.abs(sigh).max(), draw.between(0.02, 0.35))
        at += n / 32000 + m / 32000 + draw.between(0.3, 0.8)
    return out


def breathing(draw: Draw) -> Sound:
    """In, brighter; out, darker; over and over."""
    out, at, rate = np.zeros(draw.n), draw.between(-0.4, 0.4), draw.scale(0.3, 2.2)
    size, high = draw.between(0.9, 1.3), draw.scale(4000, 14000)
    while at < draw.n / 32000:
        for base, share in ((1700, 0.42), (1000, 0.5)):
            n = samples(share / rate * draw.between(0.85, 1.1))
            raw = noise(draw, n, 150, high, -1)
            breath = (
                resonate(raw, [(base * size, 500, 1), (2.3 * base * size, 900, 0.6)]) + 0.3 * raw
            )
            put(out, at, breath * hump(n, draw.between(0.7, 1.5)), draw.between(0.5, 1))
            at += n / 32000 + draw.between(0, 0.15) / rate
    return out


def screaming(draw: Draw) -> Sound:
    """A loud high voice with roughness."""

    def scream() -> Sound:
        n = samples(draw.between(0.4, 2))
        f0 = draw.scale(250, 1100) * curve(n, 0.7, 1.05, 1, 1, 0.8)
        made = voiced(
            f0, tract(draw, [draw.pick("a", "e", "ae"), "a"], n, draw.between(1, 1.4)), -2
        )
        rough = 1 + draw.between(0, 0.8) * sine(draw.between(40, 90), n)
        return np.tanh(3 * made / np.abs(made).max() * rough) * hump(n, 0.3)

    return events(draw, spells(draw, draw.n, (1, 4), (0.7, 2)), scream, 0.7)


def singing(draw: Draw) -> Sound:
    """Held vowels with vibrato, one voice or several."""
    out, base, size = np.zeros(draw.n), draw.scale(100, 450), draw.between(0.95, 1.25)
    at, voices = 0.0, draw.pick(1, 1, 4)
    while at < draw.n / 32000:
        n = samples(draw.scale(0.25, 1.6))
        pitch = base * 2 ** (draw.pick(0, 2, 4, 5, 7, 9, 12) / 12)
        vowels = [draw.pick(*VOWELS), draw.pick(*VOWELS)]
        for _ in range(voices):
            f0 = pitch * draw.between(0.99, 1.01) * (1 + 0.012 * sine(draw.between(4.8, 6.5), n))
            made = voiced(f0, tract(draw, vowels, n, size), -8) * fade(n, 0.05, 0.06)
            put(out, at, made / max(np.abs(made).max(), 1e-9))
        at += n / 32000
    return out


def whispering(draw: Draw) -> Sound:
    """Speech whose source is breath."""
    out, at, size = np.zeros(draw.n), draw.between(0, 0.4), draw.between(1, 1.25)
    while at < draw.n / 32000:
        n = samples(draw.between(0.1, 0.28))
        formants = VOWELS[draw.pick(*VOWELS)]
        made = resonate(
            noise(draw, n), [(hertz * size, 150 + 0.1 * hertz, 1) for hertz in formants]
        )
        put(out, at, made * hump(n), draw.between(0.4, 1))
        if draw.chance(0.5):
            m = samples(0.08)
            put(out, at + n / 32000, noise(draw, m, 3500, 10000) * hump(m), draw.between(0.1, 0.5))
        at += n / 32000 + (draw.between(0.2, 0.7) if draw.chance(0.15) else 0.04)
    return out


def burping(draw: Draw) -> Sound:
    """Slow irregular pulses through an open throat; or through water."""

    def burp() -> Sound:
        n = samples(draw.between(0.3, 1.4))
        f0 = draw.scale(35, 130) * wander(draw, n, draw.between(8, 30), 0.6, 1.4)
        made = voiced(f0, tract(draw, ["o", "a", "@"], n, draw.between(0.8, 1.1)), -5)
        made = made / np.abs(made).max() * wander(draw, n, 20, 0.3, 1)
        return made * hump(n, 0.4)

    return events(draw, spells(draw, draw.n, (1, 3), (0.8, 2)), burp)


def small_mouth_sounds(draw: Draw) -> Sound:
    """Smacks and squeaks of the mouth."""
    squeak = draw.chance(0.4)

    def smack() -> Sound:
        n = samples(draw.between(0.06, 0.18))
        if squeak:
            made = voiced(
                draw.scale(200, 600) * curve(n, 0.8, 1.3), tract(draw, ["i", "@"], n, 1.2), -6
            )
            return made / np.abs(made).max() * hump(n, 0.4)
        base = draw.scale(800, 3000)
        made = resonate(noise(draw, n), [(base, 300, 1), (2 * base, 800, 0.5)]) * curve(
            n, 0.1, 0.4, 1, 0
        )
        put(made, 0.7 * n / 32000, click(draw, 0.03, 0.004, 800, 9000), np.abs(made).max())
        return made / np.abs(made).max()

    return events(draw, spells(draw, draw.n, (1, 6), (0.3, 1.5)), smack)


def sniffing(draw: Draw) -> Sound:
    """Short breaths through the nose."""

    def sniff() -> Sound:
        n = samples(draw.between(0.1, 0.5))
        made = resonate(noise(draw, n), [(draw.scale(900, 2500), 700, 1), (5000, 2500, 0.7)])
        return made / np.abs(made).max() * curve(n, 0, 0.7, 1, 0)

    return events(draw, steady(draw, draw.n, draw.scale(0.5, 2.2), 0.2), sniff)


def radio_voice(draw: Draw) -> Sound:
    """A voice through a narrow band."""
    voice = _talk(draw, draw.scale(85, 250), draw.between(0.95, 1.2))
    narrow = bandpass(voice / np.abs(voice).max(), 350, draw.scale(2500, 4000), 3)
    return np.tanh(draw.between(1, 5) * narrow) + draw.scale(0.003, 0.08) * noise(
        draw, draw.n, 300, 4000
    )
