"""Bells, alarms, horns and instruments: what is made to be heard."""

import numpy as np

from makers.sounds.toolkit import (
    Draw,
    Sound,
    click,
    curve,
    dense,
    events,
    fade,
    hump,
    lowpass,
    noise,
    phase,
    poisson,
    put,
    resonate,
    ring,
    samples,
    sine,
    spells,
    steady,
    tone,
)

PARTIALS = np.array([0.5, 1.0, 1.19, 1.5, 2.0, 2.51, 2.66, 3.01, 4.1, 5.4, 6.8])
"""Of a church bell, of its prime: hum, prime, tierce, quint, nominal and so on."""


def _bell(draw: Draw, prime: float, length: float, fall: float) -> Sound:
    ratios = PARTIALS * draw.spread(0.985, 1.015, PARTIALS.size)
    gains = draw.spread(0.2, 1, PARTIALS.size) / (1 + 0.12 * np.arange(PARTIALS.size))
    made = ring(length, prime * ratios, fall / ratios**0.8, gains)
    made += 0.7 * ring(length, prime * ratios * 1.002, fall / ratios**0.8, 0.5 * gains)
    put(made, 0, click(draw, 0.05, 0.006, 500, 9000), 0.6)
    return made


def church_bells(draw: Draw) -> Sound:
    """One bell that tolls, or several that peal; what rang before still sounds."""
    primes = draw.scale(130, 620) * np.array([1, 1.122, 1.26, 1.335, 1.5, 1.68])[: draw.count(1, 6)]
    bells = [_bell(draw, each, 4.5, draw.scale(0.7, 3)) for each in primes]
    out, at, rate = np.zeros(draw.n), -draw.between(0, 3), draw.scale(0.5, 3.5)
    while at < draw.n / 32000:
        put(out, at, bells[draw.count(0, len(bells) - 1)], draw.between(0.6, 1))
        at += draw.between(0.8, 1.2) / rate
    return out


def small_bell(draw: Draw) -> Sound:
    """High partials, struck or shaken."""
    prime = draw.scale(500, 3200)
    strike = ring(
        1.5,
        prime * np.array([1, 2.0, 2.7, 4.2, 5.4]),
        draw.scale(0.08, 0.6),
        np.array([1, 0.7, 0.5, 0.4, 0.2]),
    )
    strike = strike / np.abs(strike).max() + 0.3 * np.pad(
        click(draw, 0.03, 0.003), (0, strike.size - 960)
    )
    times = draw.pick(
        spells(draw, draw.n, (1, 6), (0.2, 1.5)), steady(draw, draw.n, draw.scale(3, 10), 0.1)
    )
    return events(draw, times, lambda: strike, 0.4)


def gong(draw: Draw) -> Sound:
    """A dense cloud of modes that blooms."""
    modes = 60
    hertz = np.sort(
        np.exp(draw.spread(np.log(draw.scale(60, 400)), np.log(draw.scale(2500, 14000)), modes))
    )
    made = ring(
        4.0, hertz, draw.scale(0.3, 2) * (hertz[0] / hertz) ** 0.3, draw.spread(0.1, 1, modes)
    )
    made *= np.minimum(1, np.arange(made.size) / draw.scale(30, 4000))
    return events(draw, spells(draw, draw.n, (1, 2), (1.5, 3)), lambda: made)


def doorbell(draw: Draw) -> Sound:
    """Two to four notes that ring."""
    base = draw.scale(350, 1000)
    out = np.zeros(draw.n)
    for start in spells(draw, draw.n, (1, 2), (1.8, 3)):
        for number in range(draw.count(2, 4)):
            hertz = base * 2 ** (draw.pick(0, -4, 3, 5, 7, -3) / 12)
            note = ring(
                1.5,
                hertz * np.array([1, 2, 3, 4.2]),
                draw.scale(0.2, 0.6),
                np.array([1, 0.3, 0.3, 0.1]),
            )
            put(out, start + number * draw.between(0.3, 0.7), note)
    return out


def beeps(draw: Draw) -> Sound:
    """Groups of short tones, over and over."""
    hertz, length = draw.scale(600, 4200), draw.scale(0.04, 0.35)
    n = samples(length)
    gains = draw.pick([1.0], [1, 0, 0.33, 0, 0.2, 0, 0.14], [1, 0.5, 0.33, 0.25, 0.2])
    beep = tone(hertz, n, gains) * fade(n, 0.002, 0.004)
    group, pause = draw.count(1, 5), draw.pick(0.0, draw.between(0.2, 0.9))
    out, at, number = np.zeros(draw.n), draw.between(0, 0.5), 0
    while at < draw.n / 32000:
        put(out, at, beep)
        number += 1
        at += length * draw.pick(2.0) + (pause if number % group == 0 else 0)
    return out


def electric_bell(draw: Draw) -> Sound:
    """A hammer on two small bells, fifteen to thirty times a second, in spells."""
    prime, rate = draw.scale(900, 3000), draw.scale(12, 32)
    pair = [
        ring(
            0.5,
            prime * ratio * np.array([1, 2.1, 2.9, 4.4]),
            draw.scale(0.05, 0.3),
            np.array([1, 0.7, 0.6, 0.3]),
        )
        for ratio in (1, draw.between(1.05, 1.3))
    ]
    period, on = draw.pick((9.0, 9.0), (3.0, 1.2), (6.0, 2.0), (1.2, 0.8))
    times = np.arange(draw.between(0, 0.3), draw.n / 32000, 1 / rate)
    times = times[(times + draw.between(0, 1)) % period < on]
    out = np.zeros(draw.n)
    for number, at in enumerate(times):
        put(out, at, pair[number % 2], draw.between(0.8, 1))
    return out


def siren(draw: Draw) -> Sound:
    """Wail, yelp or two tones."""
    how = draw.pick("wail", "yelp", "two", "two")
    time = np.arange(draw.n) / 32000 + draw.between(0, 3)
    if how == "two":
        low = draw.scale(360, 750)
        f0 = low * np.where(time * draw.scale(0.5, 2) % 1 < 0.5, 1, draw.between(1.2, 1.5))
    else:
        rate = draw.scale(0.12, 0.5) if how == "wail" else draw.scale(1.5, 5)
        swing = np.abs(2 * (time * rate % 1) - 1) if draw.chance(0.6) else time * rate % 1
        f0 = draw.scale(400, 800) * draw.between(1.6, 2.6) ** swing
    f0 = f0 * curve(draw.n, 1 + draw.between(0, 0.06), 1, 1 - draw.between(0, 0.06))
    made = tone(f0, draw.n, draw.spread(0.3, 1, 14) / np.arange(1, 15) ** draw.between(0.5, 1.4))
    return made * curve(draw.n, draw.between(0.1, 1), draw.between(0.4, 1), draw.between(0.1, 1))


def raid_siren(draw: Draw) -> Sound:
    """A slow rise and fall of a chopper of air."""
    f0 = draw.scale(250, 600) * curve(draw.n, *[draw.between(0.4, 1) for _ in range(3)])
    gains = 1 / np.arange(1, 21) ** 0.8
    return tone(f0, draw.n, gains) + 0.7 * tone(1.2 * f0, draw.n, gains)


def smoke_alarm(draw: Draw) -> Sound:
    """Piercing tones or sweeps in a steady pattern."""
    n, time = draw.n, np.arange(draw.n) / 32000
    rate = draw.scale(0.8, 9)
    if draw.chance(0.5):
        f0 = draw.scale(2300, 3600) * np.ones(n)
        gate = ((time * rate % 1) < draw.between(0.4, 0.8)).astype(float)
    else:
        f0, gate = (
            draw.scale(700, 2000) * (1 + draw.between(0.2, 0.9) * (time * rate % 1)),
            np.ones(n),
        )
    return tone(f0, n, [1, 0.4, 0.5, 0.2, 0.3, 0.1]) * gate


def car_horn(draw: Draw) -> Sound:
    """Two reeds a third apart, in short or long presses."""
    low, ratio = draw.scale(260, 560), draw.pick(1.19, 1.25, 1.26, 1.33, 1.0)
    gains = draw.spread(0.4, 1, 24) / np.arange(1, 25) ** draw.between(0.1, 0.8)

    def honk() -> Sound:
        n = samples(draw.scale(0.12, 2.5))
        made = (tone(low, n, gains) + tone(low * ratio, n, gains)) * fade(n, 0.015, 0.03)
        return made / max(np.abs(made).max(), 1e-9)

    out = events(draw, spells(draw, draw.n, (1, 6), (0.25, 1.5)), honk, 0.7)
    return out + draw.scale(0.002, 0.06) * noise(draw, draw.n, 40, 2000, -4)


def air_horn(draw: Draw) -> Sound:
    """A chord of deep or loud reeds, long."""
    base = draw.scale(70, 420)
    ratios = draw.pick((1.0,), (1, 1.19, 1.5), (1, 1.25, 1.5, 1.67), (1, 1.12))

    def blast() -> Sound:
        n = samples(draw.scale(0.5, 3.5))
        f0 = base * curve(n, 0.96, 1, 1, 1, 0.97)
        gains = 1 / np.arange(1, 31) ** draw.between(0.2, 1)
        made = sum(tone(f0 * ratio, n, gains) for ratio in ratios) * fade(n, 0.06, 0.15)
        return made / np.abs(made).max() + 0.05 * noise(draw, n, 100, 5000, -3)

    return events(draw, spells(draw, draw.n, (1, 3), (1, 2.5)), blast)


def tones(draw: Draw) -> Sound:
    """Pairs of pure tones, keyed."""
    rows, columns = (697, 770, 852, 941), (1209, 1336, 1477)
    out, at, length = np.zeros(draw.n), draw.between(0, 0.5), draw.scale(0.05, 0.5)
    single = draw.pick(0.0, 0.0, draw.scale(400, 1200))
    while at < draw.n / 32000:
        n = samples(length * draw.pick(1, 1, 3))
        made = (
            sine(single, n) if single else sine(draw.pick(*rows), n) + sine(draw.pick(*columns), n)
        )
        put(out, at, made * fade(n, 0.003, 0.003))
        at += n / 32000 + length * draw.between(0.5, 1.5)
    return out


def bleeps(draw: Draw) -> Sound:
    """Square waves, quick melodies and sweeps."""
    out, at, step = np.zeros(draw.n), draw.between(0, 0.6), draw.scale(0.05, 0.25)
    base = draw.scale(250, 1200)
    while at < draw.n / 32000:
        n = samples(step * draw.pick(1, 1, 2))
        glide = draw.pick(1.0, 1.0, 1.0, draw.scale(0.4, 2.5))
        f0 = base * 2 ** (draw.pick(0, 3, 5, 7, 10, 12, 15) / 12) * curve(n, 1, glide)
        put(
            out,
            at,
            tone(f0, n, draw.pick([1, 0, 0.33, 0, 0.2, 0, 0.14], [1, 0.3], [1.0]))
            * fade(n, 0.002, 0.01),
        )
        at += n / 32000 + (draw.between(0.3, 1.2) if draw.chance(0.06) else 0)
    return out


def plucked(draw: Draw) -> Sound:
    """Plucked strings: harmonics, the high ones dying first."""
    out, at, base = np.zeros(draw.n), 0.0, draw.scale(70, 350)
    bright, step, place = draw.between(0.7, 1.5), draw.scale(0.12, 0.7), draw.between(0.1, 0.4)
    numbers = np.arange(1, 22)
    gains = np.abs(np.sin(np.pi * numbers * place)) / numbers**bright
    stiff = numbers * np.sqrt(1 + 3e-4 * numbers**2)
    strings = [
        ring(1.2, base * 2 ** (semitones / 12) * stiff, 0.8 / numbers**0.7, gains)
        for semitones in draw.rng.choice([0, 3, 4, 5, 7, 9, 12, 16, 19], 5, replace=False)
    ]
    while at < draw.n / 32000:
        for number in range(draw.pick(1, 1, draw.count(3, 5))):
            put(out, at + 0.02 * number, draw.pick(*strings))
        at += step * draw.pick(1, 1, 2)
    return out


def piano(draw: Draw) -> Sound:
    """Hammered strings or bars."""
    out, at, base, step = np.zeros(draw.n), 0.0, draw.scale(110, 800), draw.scale(0.12, 0.7)
    bars = draw.chance(0.3)
    while at < draw.n / 32000:
        for _ in range(draw.pick(1, 1, 2, 3)):
            hertz = base * 2 ** (draw.pick(0, 2, 4, 5, 7, 9, 11, 12, -12) / 12)
            harmonics = np.arange(1, 16)
            if bars:
                note = ring(
                    0.9,
                    hertz * 2 * np.array([1, 3.9, 9.2]),
                    np.array([0.3, 0.1, 0.03]),
                    np.array([1, 0.4, 0.2]),
                )
            else:
                note = ring(
                    1.8,
                    hertz * harmonics * np.sqrt(1 + 4e-4 * harmonics**2),
                    1.0 / harmonics**0.5,
                    1 / harmonics**1.2,
                )
            put(out, at, note, draw.between(0.5, 1))
        at += step * draw.pick(1, 1, 2, 0.5)
    return out


def brass(draw: Draw) -> Sound:
    """Harmonics that open as the note swells."""
    out, at, base = np.zeros(draw.n), draw.between(0, 0.4), draw.scale(90, 500)
    while at < draw.n / 32000:
        n = samples(draw.scale(0.15, 1.2))
        f0 = base * 2 ** (draw.pick(0, 4, 5, 7, 12, 2, -5) / 12) * curve(n, 0.98, 1, 1, 1)
        note = tone(f0, n, 1 / np.arange(1, 25) ** draw.between(0.4, 1.2)) * fade(n, 0.04, 0.06)
        dull = lowpass(note, 3 * float(f0[-1]))
        put(out, at, dull + (note - dull) * hump(n, 0.5))
        at += n / 32000 + draw.pick(0.0, 0.05, 0.3)
    return out


def organ(draw: Draw) -> Sound:
    """Sustained chords of reeds or pipes."""
    out, at, base = np.zeros(draw.n), 0.0, draw.scale(80, 400)
    gains = draw.spread(0, 1, 16) / np.arange(1, 17) ** 0.5
    while at < draw.n / 32000:
        n = samples(draw.scale(0.25, 2))
        root = base * 2 ** (draw.pick(0, 2, 5, 7, -5) / 12)
        for ratio in draw.pick((1, 1.26, 1.5), (1, 1.19, 1.5), (1, 2), (1, 1.5)):
            put(
                out,
                at,
                tone(root * ratio * (1 + 0.002 * sine(5, n)), n, gains) * fade(n, 0.03, 0.05),
            )
        at += n / 32000
    return out


def band(draw: Draw) -> Sound:
    """A beat, a bass line and chords."""
    beat, out = 1 / draw.scale(1.4, 2.6), np.zeros(draw.n)
    n = samples(0.25)
    kick = np.sin(2 * np.pi * phase(curve(n, 160, 55, 48), n)) * np.exp(-np.arange(n) / 3000)
    hat, snare = click(draw, 0.1, 0.02, 6000, 15000), click(draw, 0.25, 0.06, 300, 11000)
    root = draw.scale(80, 160)
    for number in range(int(draw.n / 32000 / beat * 2) + 1):
        at = number * beat / 2
        if number % 2 == 0:
            put(out, at, kick)
        if number % 4 == 2:
            put(out, at, snare, 0.7)
        put(out, at, hat, 0.25)
        m = samples(beat / 2)
        put(
            out,
            at,
            tone(root * 2 ** (draw.pick(0, 0, 3, 5, 7) / 12), m, 1 / np.arange(1, 9))
            * fade(m, 0.005, 0.04),
            0.4,
        )
        if number % 4 == 0:
            m = samples(2 * beat)
            for ratio in (2, 2.4, 3):
                put(out, at, tone(root * ratio, m, 1 / np.arange(1, 12)) * fade(m, 0.02, 0.1), 0.12)
    return lowpass(out, draw.scale(3000, 15000))


def effects(draw: Draw) -> Sound:
    """Sweeps, wobbles and whooshes that nothing in nature makes."""
    out = np.zeros(draw.n)
    for at in spells(draw, draw.n, (1, 6), (0.3, 1.5)):
        n = samples(draw.scale(0.15, 2))
        f0 = (
            draw.scale(150, 3000)
            * curve(n, 1, draw.scale(0.2, 5))
            * (1 + draw.between(0, 0.2) * sine(draw.scale(4, 40), n))
        )
        made = tone(f0, n, 1 / np.arange(1, draw.count(2, 14)))
        if draw.chance(0.4):
            made = resonate(noise(draw, n), [(draw.scale(300, 4000), 300, 1)]) * hump(n, 2) * 3
        put(out, at, made * hump(n, 0.4))
    return out


def servo(draw: Draw) -> Sound:
    """Small geared motors that start and stop."""
    out = np.zeros(draw.n)
    for at in spells(draw, draw.n, (1, 7), (0.3, 1.4)):
        n = samples(draw.scale(0.1, 1.6))
        f0 = draw.scale(150, 1800) * curve(n, 0.5, 1, 1, 1, 0.6)
        made = tone(f0, n, draw.spread(0.05, 1, 20) / np.arange(1, 21) ** 0.7) * hump(n, 0.2)
        made += 0.2 * noise(draw, n, 1000, 10000) * hump(n, 0.2)
        put(out, at, made)
    clicks = [click(draw, 0.03, 0.003, 600, 9000) for _ in range(3)]
    return out + draw.between(0, 1) * dense(draw, poisson(draw, draw.n, 2), clicks)
