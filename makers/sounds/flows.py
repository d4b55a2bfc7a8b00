"""Liquids, air and fire."""

import numpy as np

from makers.sounds.toolkit import (
    Draw,
    Sound,
    bandpass,
    click,
    curve,
    decay,
    dense,
    events,
    hump,
    lowpass,
    noise,
    poisson,
    put,
    resonate,
    ring,
    samples,
    spells,
    steady,
    struck,
    tone,
    wander,
)


def _bubble(draw: Draw, low: float, high: float) -> Sound:
    """A bubble that rings and rises as it shrinks (Minnaert; van den Doel 2005)."""
    hertz, length = draw.scale(low, high), 0.0
    damping = 0.13 / hertz + 0.0072 * hertz**-1.5
    length = min(0.12, 9 / (2 * np.pi * hertz * 0.02 + 40))
    n = samples(length)
    glide = hertz * (1 + draw.between(0, 0.3) * np.arange(n) / n)
    fall = np.exp(-np.arange(n) / 32000 * np.pi * hertz * (0.03 + damping))
    return np.sin(2 * np.pi * np.cumsum(glide) / 32000) * fall * np.minimum(1, np.arange(n) / 24)


def _bubbles(draw: Draw, rate: float, low: float, high: float, soft: float = 0.05) -> Sound:
    grains = [_bubble(draw, low, high) for _ in range(40)]
    return dense(draw, poisson(draw, draw.n, rate), grains, soft)


def rain(draw: Draw) -> Sound:
    """A hiss of many drops, nearer ones one by one."""
    hiss = noise(
        draw, draw.n, draw.scale(300, 2500), draw.scale(7000, 15500), draw.between(-3, 1), 1
    )
    drops = [
        click(draw, 0.03, draw.scale(0.001, 0.006), draw.scale(800, 3000), 14000) for _ in range(16)
    ]
    near = dense(draw, poisson(draw, draw.n, draw.scale(10, 250)), drops, 0.03)
    return hiss * (1 + 0.1 * wander(draw, draw.n, 0.5)) + draw.scale(0.3, 8) * near


def rain_on_roof(draw: Draw) -> Sound:
    """Drops that strike something that resonates."""
    low = draw.scale(150, 1500)
    hits = [struck(draw, low, low * 8, 5, 0.08, draw.scale(0.004, 0.02)) for _ in range(16)]
    patter = dense(draw, poisson(draw, draw.n, draw.scale(25, 300)), hits, 0.04)
    return patter + draw.scale(0.01, 0.15) * noise(draw, draw.n, 500, 14000, -1)


def stream(draw: Draw) -> Sound:
    """Bubbles of all sizes over a soft rush."""
    made = _bubbles(draw, draw.scale(80, 500), draw.scale(300, 700), draw.scale(1500, 6000))
    rush = noise(draw, draw.n, draw.scale(200, 900), draw.scale(3000, 12000), -2, 1)
    return made + draw.scale(0.05, 0.9) * rush * wander(draw, draw.n, 3, 0.7, 1)


def waterfall(draw: Draw) -> Sound:
    """A steady broad roar."""
    made = noise(
        draw, draw.n, draw.scale(50, 200), draw.scale(5000, 15000), draw.between(-4, -1), 1
    )
    return made * wander(draw, draw.n, 6, 0.85, 1) + 0.3 * _bubbles(draw, 150, 300, 2500)


def sea_waves(draw: Draw) -> Sound:
    """Noise that swells, brightens as it breaks, and draws back."""
    out = 0.15 * noise(draw, draw.n, 60, draw.scale(800, 4000), -4, 1)
    at = draw.between(-4, 0.5)
    while at < draw.n / 32000:
        length = draw.between(3, 7)
        n = samples(length)
        swell = curve(n, 0, 0.15, draw.between(0.4, 1), 1, 0.6, 0.35, 0.15, 0) ** 1.3
        low = noise(draw, n, 60, draw.scale(400, 1500), -4, 1)
        high = noise(draw, n, 400, draw.scale(5000, 14000), -2, 1)
        put(out, at, swell * low + swell**2.2 * high * draw.between(0.4, 1.2))
        at += length * draw.between(0.5, 1)
    return out


def dripping(draw: Draw) -> Sound:
    """Single bubbles with the tick of the impact."""
    low = draw.scale(400, 1800)

    def drop() -> Sound:
        out = np.zeros(samples(0.25))
        put(out, 0, click(draw, 0.02, 0.002, 1500, 12000), draw.between(0.05, 0.6))
        put(out, draw.between(0.005, 0.03), _bubble(draw, low, low * 2.2))
        if draw.chance(0.4):
            put(out, draw.between(0.04, 0.09), _bubble(draw, low, low * 3), 0.5)
        return out

    times = steady(draw, draw.n, draw.scale(0.7, 7), draw.between(0.02, 0.3))
    return events(draw, times, drop)


def pouring(draw: Draw) -> Sound:
    """Bubbles, and a resonance that rises as the vessel fills."""
    made = _bubbles(draw, draw.scale(60, 400), draw.scale(250, 800), draw.scale(1800, 5000))
    made += draw.scale(0.05, 0.5) * noise(draw, draw.n, 500, draw.scale(4000, 12000), -2)
    start = draw.scale(250, 900)
    out, steps = np.zeros(draw.n), 10
    for step in range(steps):
        hertz = start * draw.between(1.6, 1.7) ** (2.2 * step / steps)
        part = resonate(made, [(hertz, 0.12 * hertz, 1), (3 * hertz, 0.4 * hertz, 0.4)])
        out += part * np.clip(1 - np.abs(np.linspace(0, steps - 1, draw.n) - step), 0, 1)
    out = out * 3 + draw.between(0.2, 0.8) * made
    first, last = draw.between(0, 0.25), draw.between(0.6, 1.3)
    place = np.linspace(0, 1, draw.n)
    return out * np.clip((place - first) * 20, 0, 1) * np.clip((last - place) * 20, 0, 1)


def tap(draw: Draw) -> Sound:
    """A jet that hits a basin."""
    jet = noise(
        draw, draw.n, draw.scale(400, 2000), draw.scale(7000, 15000), draw.between(-2, 1), 1
    )
    basin = resonate(jet, [(draw.scale(200, 700), 150, 1), (draw.scale(700, 2500), 500, 1)])
    made = (
        jet + draw.between(0.3, 3) * basin + draw.between(0, 1.5) * _bubbles(draw, 120, 400, 3000)
    )
    if draw.chance(0.4):
        made *= curve(draw.n, draw.pick(0.0, 1.0), *[draw.between(0.4, 1) for _ in range(5)])
    return made


def flush(draw: Draw) -> Sound:
    """A rush that swells, gurgles and dies."""
    start, n = draw.between(0, 1), draw.n
    time = np.arange(n) / 32000 - start
    rise = np.clip(time / draw.between(0.1, 0.6), 0, 1)
    body = rise * np.exp(-np.clip(time - draw.between(0.8, 3), 0, None) / draw.between(0.6, 2))
    rush = noise(draw, n, draw.scale(80, 300), draw.scale(2500, 9000), -3, 1)
    rush += resonate(rush, [(draw.scale(200, 800), 200, 1.5)])
    gurgle = lowpass(_bubbles(draw, 60, 120, 900, 0.2), 2500) * np.clip(time / 1.5, 0, 1)
    refill = 0.1 * noise(draw, n, 2000, 12000) * np.clip(time / 2, 0, 1)
    handle = np.zeros(n)
    put(handle, start, struck(draw, 300, 4000, 7, 0.2, 0.02), draw.between(0, 1.5))
    return rush * body * wander(draw, n, 9, 0.6, 1) + draw.between(0, 1) * gurgle + refill + handle


def bubbling(draw: Draw) -> Sound:
    """Large bubbles, one after another."""
    made = _bubbles(draw, draw.scale(8, 90), draw.scale(90, 400), draw.scale(700, 1800), 0.15)
    return made + draw.scale(0.01, 0.2) * noise(draw, draw.n, 100, 6000, -4)


def splashing(draw: Draw) -> Sound:
    """A slap, spray and bubbles after it."""

    def splash() -> Sound:
        n = samples(draw.between(0.5, 1.4))
        spray = noise(draw, n, draw.scale(200, 900), 12000, -3) * decay(n, draw.scale(0.05, 0.3))
        spray *= np.minimum(1, np.arange(n) / draw.between(200, 2500))
        for at in draw.rng.exponential(0.25, draw.count(5, 40)):
            put(spray, 0.05 + at, _bubble(draw, 200, 2500), draw.between(0.05, 0.8))
        return spray

    return events(draw, spells(draw, draw.n, (1, 6), (0.4, 1.5)), splash)


def drinking(draw: Draw) -> Sound:
    """Wet noise drawn in, then a gulp."""
    out = np.zeros(draw.n)
    for at in spells(draw, draw.n, (1, 5), (0.6, 1.6)):
        if draw.chance(0.7):
            n = samples(draw.between(0.2, 0.8))
            wet = np.abs(noise(draw, n, 15, draw.scale(40, 150))) ** 2
            base = draw.scale(800, 3000)
            slurp = resonate(noise(draw, n) * wet, [(base, 400, 1), (2.4 * base, 1500, 0.8)])
            put(out, at, slurp / np.abs(slurp).max() * hump(n, 0.5), draw.between(0.3, 1))
            at += n / 32000 + 0.05
        for number in range(draw.count(0, 3)):
            put(out, at + 0.45 * number, _bubble(draw, 150, 600), draw.between(0.3, 0.8))
            put(out, at + 0.45 * number, click(draw, 0.08, 0.01, 200, 2500), draw.between(0.1, 0.5))
    return out


def frying(draw: Draw) -> Sound:
    """A bright hiss full of spits."""
    spit = [
        click(draw, 0.02, draw.scale(0.0006, 0.004), draw.scale(1500, 5000), 15500)
        for _ in range(16)
    ]
    made = dense(draw, poisson(draw, draw.n, draw.scale(80, 500)), spit, 0.03)
    return made + draw.scale(0.05, 0.4) * noise(draw, draw.n, 2500, 15000, 1, 2) * wander(
        draw, draw.n, 4, 0.6, 1
    )


def spraying(draw: Draw) -> Sound:
    """Bright noise, on and off."""
    out = np.zeros(draw.n)
    low, slope = draw.scale(1200, 5000), draw.between(0, 4)
    for at in spells(draw, draw.n, (1, 6), (0.4, 1.6)):
        n = samples(draw.scale(0.1, 3))
        put(
            out,
            at,
            noise(draw, n, low, 15500, slope, 2)
            * curve(n, draw.between(0.5, 1), 1, 0.9, draw.between(0.1, 0.9), 0),
        )
    return out


def can_opened(draw: Draw) -> Sound:
    """A metallic crack, gas, then foam."""

    def opened() -> Sound:
        n = samples(1.6)
        out = np.zeros(n)
        put(
            out,
            0,
            struck(draw, draw.scale(900, 2500), 12000, 9, 0.15, 0.012),
            draw.between(0.7, 1.2),
        )
        gas = noise(draw, n, draw.scale(1500, 4000), 15500, 2) * decay(n, draw.scale(0.03, 0.25))
        put(out, draw.between(0, 0.05), gas, draw.between(0.2, 0.6))
        if draw.chance(0.7):
            put(
                out,
                draw.between(0.15, 0.45),
                struck(draw, 500, 7000, 9, 0.2, 0.02),
                draw.between(0.3, 1),
            )
        fizz = [click(draw, 0.01, 0.001, 4000, 15500) for _ in range(6)]
        for at in draw.spread(0.2, 1.5, 200):
            put(out, float(at), fizz[draw.count(0, 5)], draw.between(0.01, 0.08))
        return out

    return events(draw, spells(draw, draw.n, (1, 2), (1.5, 2.5)), opened)


def fire(draw: Draw) -> Sound:
    """Crackles of all sizes over a low flutter."""
    snaps = [
        click(draw, 0.05, draw.scale(0.0005, 0.01), draw.scale(300, 3000), 15000) for _ in range(20)
    ]
    made = dense(draw, poisson(draw, draw.n, draw.scale(6, 90)), snaps, 0.01)
    lick = noise(draw, draw.n, 40, draw.scale(150, 900), -5, 1) * wander(draw, draw.n, 8, 0.2, 1)
    hiss = noise(draw, draw.n, 1500, 12000, -2) * wander(draw, draw.n, 3)
    return made + draw.scale(0.02, 0.4) * lick + draw.scale(0.005, 0.08) * hiss


def wind(draw: Draw) -> Sound:
    """Gusts: low noise, some of it whistling at a pitch that follows the speed."""
    gusts = wander(draw, draw.n, draw.scale(0.3, 1.5)) * 0.8 + wander(draw, draw.n, 3) * 0.2
    made = noise(draw, draw.n, 20, draw.scale(150, 900), draw.between(-7, -3), 1) * (
        0.15 + gusts**1.5
    )
    if draw.chance(0.6):
        base, steps = draw.scale(250, 900), 8
        raw = noise(draw, draw.n, 100, 6000)
        for step in range(steps):
            weight = np.clip(1 - np.abs(gusts * (steps - 1) - step), 0, 1)
            hertz = base * (1 + 1.2 * step / steps)
            made += (
                draw.between(0.5, 1) * resonate(raw, [(hertz, hertz / 9, 1)]) * weight * gusts * 3
            )
    if draw.chance(0.4):
        made += 0.3 * noise(draw, draw.n, 1500, 10000, -2) * gusts**2
    return made


def thunder(draw: Draw) -> Sound:
    """Claps that overlap and roll, ever darker; often rain below."""
    out = np.zeros(draw.n)
    for start in spells(draw, draw.n, (1, 2), (1.5, 3)):
        bright = draw.scale(150, 4000)
        for number in range(draw.count(3, 12)):
            n = samples(draw.between(0.6, 2.5))
            clap = (
                noise(draw, n, 20, bright * 0.8**number + 60, -6, 1)
                * decay(n, draw.between(0.15, 0.8))
                * np.minimum(1, np.arange(n) / draw.scale(50, 4000))
            )
            put(
                out,
                start + number * draw.between(0.05, 0.3),
                clap,
                draw.between(0.3, 1) * 0.9**number,
            )
    if draw.chance(0.5):
        out += draw.scale(0.01, 0.15) * noise(draw, draw.n, 800, 13000, -1)
    return out


def static(draw: Draw) -> Sound:
    """Stationary noise of any slope, with crackles or none."""
    made = noise(draw, draw.n, draw.scale(30, 800), draw.scale(4000, 15500), draw.between(-4, 1), 2)
    if draw.chance(0.5):
        snap = [click(draw, 0.02, 0.002, 400, 14000) for _ in range(6)]
        made += draw.between(1, 9) * dense(draw, poisson(draw, draw.n, draw.scale(3, 60)), snap)
    return made


def whistling(draw: Draw) -> Sound:
    """A nearly pure tone that glides from note to note."""
    points = draw.count(5, 18)
    notes = draw.scale(700, 1800) * 2 ** (
        np.repeat(draw.rng.choice([0, 2, 4, 5, 7, 9, 12], points), 4) / 12
    )
    f0 = curve(draw.n, *notes) * (1 + 0.01 * np.sin(2 * np.pi * 5.5 * np.arange(draw.n) / 32000))
    loud = np.clip(wander(draw, draw.n, 3, -0.4, 1.2), 0, 1)
    breath = bandpass(noise(draw, draw.n), 1000, 6000)
    return (tone(f0, draw.n, [1, 0.08, 0.03]) + draw.between(0.01, 0.1) * breath) * loud


def pea_whistle(draw: Draw) -> Sound:
    """Two close high tones, trilled by the pea."""
    base, trill = draw.scale(2000, 4200), draw.between(18, 45)

    def blow() -> Sound:
        n = samples(draw.scale(0.15, 1.6))
        shake = 0.5 + 0.5 * np.sin(2 * np.pi * trill * np.arange(n) / 32000)
        f0 = base * (1 + 0.025 * shake)
        made = tone(f0, n, [1, 0.25, 0.1]) + 0.8 * tone(f0 * 1.06, n, [1, 0.2])
        return (made * (0.4 + 0.6 * shake) + 0.1 * noise(draw, n, 1500, 12000)) * hump(n, 0.15)

    return events(draw, spells(draw, draw.n, (1, 5), (0.3, 1.4)), blow)


def kettle(draw: Draw) -> Sound:
    """Steam through a hole: a tone that rises out of hiss."""
    rise = curve(draw.n, draw.between(0, 1), draw.between(0.3, 1), 1, draw.between(0.2, 1))
    base = draw.scale(700, 3200)
    f0 = base * (0.8 + 0.2 * rise)
    made = tone(f0, draw.n, [1, 0.4, 0.2, 0.1]) + tone(
        f0 * draw.pick(1.19, 1.26, 1.5), draw.n, [0.7, 0.2]
    )
    return made * rise**2 + draw.between(0.1, 0.5) * noise(draw, draw.n, 800, 14000) * (0.3 + rise)


def flute(draw: Draw) -> Sound:
    """A few harmonics and breath."""
    out, base, at = np.zeros(draw.n), draw.scale(220, 900), 0.0
    while at < draw.n / 32000:
        n = samples(draw.scale(0.15, 1.2))
        f0 = base * 2 ** (draw.pick(0, 2, 4, 5, 7, 9, 12) / 12) * np.ones(n)
        f0 *= 1 + 0.005 * np.sin(2 * np.pi * 5 * np.arange(n) / 32000)
        note = tone(f0, n, [1, draw.between(0.05, 0.5), 0.2, 0.05]) * hump(n, 0.2)
        breath = resonate(noise(draw, n), [(float(f0[0]), 200, 1)]) + 0.2 * noise(
            draw, n, 1500, 9000
        )
        put(out, at, note + draw.between(0.05, 0.3) * breath * hump(n, 0.2))
        at += n / 32000 * draw.between(0.95, 1.1)
    return out


def wind_chimes(draw: Draw) -> Sound:
    """Tubes struck by chance."""
    base = draw.scale(500, 2400)
    tubes = [
        ring(
            1.6,
            base * ratio * np.array([1, 2.76, 5.4]),
            np.array([0.6, 0.3, 0.1]),
            np.array([1, 0.5, 0.2]),
        )
        for ratio in (1, 1.12, 1.26, 1.5, 1.68, 2)
    ]
    return dense(draw, poisson(draw, draw.n, draw.scale(1.5, 7)), tubes, 0.1)
