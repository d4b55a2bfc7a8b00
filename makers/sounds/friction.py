"""Solids that rub, scrape, tear and squeal."""

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
    poisson,
    pulses,
    put,
    resonate,
    samples,
    spells,
    steady,
    struck,
    tone,
    wander,
)


def _strokes(draw: Draw, rate: float, low: float, high: float, slope: float, both: float) -> Sound:
    """Noise to and fro: each stroke a swell, the way back `both` times as loud and a bit duller."""
    out, there = np.zeros(draw.n), True
    at = draw.between(0, 0.3)
    while at < draw.n / 32000:
        length = draw.between(0.85, 1.15) / (2 * rate)
        n = samples(0.95 * length)
        shift = 1.0 if there else draw.between(0.75, 1)
        grain = noise(draw, n, low * shift, high * shift, slope, 2) * hump(
            n, draw.between(0.4, 1.2)
        )
        put(out, at, grain, 1.0 if there else both)
        at, there = at + length, not there
    return out


def creaking(draw: Draw) -> Sound:
    """Stick and slip: pulses whose rate glides, through wooden resonances."""
    body = [
        (draw.scale(300, 900), 120, 1.0),
        (draw.scale(900, 2200), 200, 0.8),
        (draw.scale(2000, 5000), 400, 0.5),
    ]

    def creak() -> Sound:
        n = samples(draw.between(0.3, 2.2))
        rate = draw.scale(25, 500) * 2 ** wander(draw, n, draw.between(1.5, 6), -0.9, 0.9)
        made = resonate(pulses(rate, n) * wander(draw, n, 12, 0.3, 1), body) * hump(n, 0.4)
        return made / max(np.abs(made).max(), 1e-9)

    return events(draw, spells(draw, draw.n, (1, 4), (0.5, 2)), creak, 0.4)


def sawing(draw: Draw) -> Sound:
    """Teeth over wood, to and fro."""
    rate = draw.scale(0.8, 3.5)
    made = _strokes(
        draw, rate, draw.scale(300, 1500), draw.scale(4000, 13000), -2, draw.between(0.2, 1)
    )
    teeth = resonate(
        pulses(
            draw.scale(60, 300) * (0.4 + np.abs(np.sin(np.pi * rate * np.arange(draw.n) / 32000))),
            draw.n,
        ),
        [(draw.scale(500, 2500), 300, 1), (draw.scale(2500, 6000), 900, 0.6)],
    )
    return made + draw.between(0, 3) * teeth


def scrubbing(draw: Draw) -> Sound:
    """Quick strokes of many bristles."""
    rate = draw.scale(1.5, 5.5)
    made = _strokes(
        draw, rate, draw.scale(500, 4000), draw.scale(6000, 15000), 2, draw.between(0.5, 1)
    )
    return made * (0.3 + wander(draw, draw.n, 0.8))


def scraping(draw: Draw) -> Sound:
    """Rough friction, now and then a groan."""
    out = np.zeros(draw.n)
    for at in spells(draw, draw.n, (1, 6), (0.3, 1.5)):
        n = samples(draw.between(0.2, 1.4))
        rough = np.abs(noise(draw, n, 5, draw.scale(30, 200)))
        body = [(draw.scale(200, 4000), draw.scale(60, 600), 1.0) for _ in range(4)]
        made = resonate(noise(draw, n) * rough, body) * hump(n, 0.5)
        put(out, at, made / np.abs(made).max(), draw.between(0.4, 1))
    return out


def squeal(draw: Draw) -> Sound:
    """High tones that waver."""
    n = samples(draw.between(0.7, 3))
    base = (
        draw.scale(700, 4500)
        * (1 + 0.04 * wander(draw, n, 9, -1, 1))
        * curve(n, 1, 1, draw.between(0.8, 1.05))
    )
    made = tone(base, n, [1, 0.5, 0.35, 0.2, 0.1]) * (0.4 + wander(draw, n, 15)) * hump(n, 0.4)
    made += draw.between(0.1, 0.8) * noise(draw, n, 500, 6000) * hump(n, 0.5)
    out = np.zeros(draw.n)
    put(out, draw.between(0, 1.5), made)
    return out


def writing(draw: Draw) -> Sound:
    """Short soft strokes."""
    out, low = np.zeros(draw.n), draw.scale(800, 3500)
    for at in poisson(draw, draw.n, draw.scale(3, 8)):
        n = samples(draw.between(0.04, 0.22))
        put(out, float(at), noise(draw, n, low, 13000, -2) * hump(n), draw.between(0.2, 1))
        if draw.chance(0.25):
            put(out, float(at), click(draw, 0.05, 0.004, 300, 6000), draw.between(0.5, 3))
    return out


def zipper(draw: Draw) -> Sound:
    """Teeth, ever quicker."""
    out = np.zeros(draw.n)
    for at in spells(draw, draw.n, (1, 4), (0.6, 1.6)):
        n = samples(draw.between(0.25, 0.9))
        rate = curve(n, draw.scale(40, 150), draw.scale(150, 400), draw.scale(100, 400))
        teeth = resonate(pulses(rate, n), [(2500, 900, 1), (5200, 1500, 1), (9000, 3000, 0.7)])
        put(
            out,
            at,
            (teeth / np.abs(teeth).max() + 0.25 * noise(draw, n, 2000, 14000)) * hump(n, 0.3),
        )
    return out


def rustling(draw: Draw) -> Sound:
    """Crinkles: clicks in bursts over soft noise."""
    low = draw.scale(500, 3000)
    crinkle = [click(draw, 0.03, draw.scale(0.0008, 0.006), low, 15000) for _ in range(12)]
    swell = wander(draw, draw.n, draw.between(1, 4)) ** 3
    times = poisson(draw, draw.n, draw.scale(60, 400))
    kept = draw.spread(0, 1, times.size) < swell[(times * 32000).astype(int).clip(0, draw.n - 1)]
    hiss = 0.1 * noise(draw, draw.n, low, 14000) * swell * draw.between(0, 1)
    return dense(draw, times[kept], crinkle, 0.03) + hiss


def pages(draw: Draw) -> Sound:
    """A swish with a flap at its end."""

    def page() -> Sound:
        n = samples(draw.between(0.2, 0.6))
        made = (
            noise(draw, n, draw.scale(500, 1500), 12000, -2)
            * np.abs(noise(draw, n, 8, 60))
            * curve(n, 0, 0.4, 0.6, 1, 0)
        )
        put(made, draw.between(0.1, 0.4), click(draw, 0.06, 0.008, 300, 8000), 2)
        return made

    return events(draw, spells(draw, draw.n, (1, 6), (0.4, 1.6)), page)


def sweeping(draw: Draw) -> Sound:
    """Slow soft strokes, one way."""
    return _strokes(
        draw,
        draw.scale(0.5, 1.3),
        draw.scale(600, 2500),
        draw.scale(6000, 14000),
        -3,
        draw.between(0, 0.25),
    )


def tearing(draw: Draw) -> Sound:
    """A dense run of snaps."""
    out = np.zeros(draw.n)
    for at in spells(draw, draw.n, (1, 4), (0.5, 1.6)):
        n = samples(draw.between(0.2, 1.1))
        snaps = np.abs(noise(draw, n, 30, draw.scale(200, 900))) ** 3
        made = noise(draw, n, draw.scale(700, 2000), 15000) * snaps * curve(n, 0.4, 1, 1, 0.7)
        put(out, at, made / np.abs(made).max() * fade(n, 0.01, 0.02))
    return out


def drawer(draw: Draw) -> Sound:
    """A roll and a bump."""

    def slide() -> Sound:
        n = samples(draw.between(0.3, 0.9))
        roll = (
            noise(draw, n, 100, draw.scale(1200, 5000), -4)
            * np.abs(noise(draw, n, 5, 50))
            * curve(n, 0, 1, 0.8)
        )
        out = np.pad(0.5 * roll, (0, samples(0.4)))
        put(out, n / 32000, struck(draw, 90, 1500, 9, 0.35, 0.04), draw.between(1, 3))
        return out

    return events(draw, spells(draw, draw.n, (1, 4), (0.7, 1.8)), slide)


def sharpening(draw: Draw) -> Sound:
    """A metallic swish that rings."""
    body = [(draw.scale(2500, 9000), draw.scale(30, 200), 1.0) for _ in range(6)]

    def swish() -> Sound:
        n = samples(draw.between(0.15, 0.6))
        rub = np.pad(noise(draw, n, 2500, 15000) * curve(n, 0.2, 1, 0.7), (0, samples(0.3)))
        made = 0.25 * rub + resonate(rub, body)
        return made / np.abs(made).max()

    return events(draw, steady(draw, draw.n, draw.scale(0.8, 3), 0.08), swish)


def bowed(draw: Draw) -> Sound:
    """Sawtooth with vibrato through a body, note by note."""
    out, base, at = np.zeros(draw.n), draw.scale(80, 600), 0.0
    body = [(280, 100, 1), (460, 120, 1), (1100, 500, 0.8), (2600, 1200, 0.9), (4500, 2500, 0.3)]
    while at < draw.n / 32000:
        length = draw.scale(0.2, 1.6)
        n = samples(length)
        f0 = (
            base
            * 2 ** (draw.pick(0, 2, 4, 5, 7, 9, 12, -3) / 12)
            * (1 + 0.006 * np.sin(2 * np.pi * draw.between(4.5, 6.5) * np.arange(n) / 32000))
        )
        note = tone(f0, n, 1 / np.arange(1, 31)) * fade(n, 0.05, 0.08)
        put(out, at, resonate(note, body) + 0.15 * note)
        at += length
    return lowpass(out, draw.scale(4000, 12000), 1) + 0.003 * noise(draw, draw.n, 1000, 9000)


def ratchet(draw: Draw) -> Sound:
    """Pawls over teeth, in turns."""
    tooth = struck(draw, draw.scale(800, 3000), 11000, 6, 0.05, draw.scale(0.002, 0.01))
    out = np.zeros(draw.n)
    for at in spells(draw, draw.n, (2, 7), (0.4, 1.0)):
        count, rate = draw.count(5, 25), draw.scale(12, 60)
        for number in range(count):
            put(out, at + number / rate * draw.between(0.98, 1.02), tooth, draw.between(0.6, 1))
    return out
