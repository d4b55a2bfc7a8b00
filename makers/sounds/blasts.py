"""What bursts, breaks and crackles."""

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
    lowpass,
    noise,
    poisson,
    put,
    ring,
    samples,
    spells,
    steady,
    struck,
)


def gunshots(draw: Draw) -> Sound:
    """A crack with a broad, dying tail."""
    tail, bright = draw.scale(0.05, 0.4), draw.scale(2500, 14000)

    def shot() -> Sound:
        return click(draw, 1.2, tail, 60, bright) + 0.8 * click(draw, 1.2, 0.008, 500, 15000)

    if draw.chance(0.25):
        start, rate = draw.between(0, 1.5), draw.scale(7, 14)
        times: Sound = start + np.arange(draw.count(5, 25)) / rate
    else:
        times = spells(draw, draw.n, (1, 5), (0.3, 2))
    return events(draw, times, shot, 0.6)


def explosion(draw: Draw) -> Sound:
    """A low boom that rolls away."""

    def boom() -> Sound:
        n = samples(draw.between(1.2, 3.5))
        body = noise(draw, n, 25, draw.scale(150, 1500), -6, 1) * decay(n, draw.scale(0.2, 0.9))
        out = body + 0.5 * np.pad(click(draw, 0.6, 0.05, 50, 8000), (0, n))[:n]
        return out / np.abs(out).max()

    return events(draw, spells(draw, draw.n, (1, 2), (1.5, 3)), boom)


def fireworks(draw: Draw) -> Sound:
    """Whistles, booms and showers of crackles."""
    out = np.zeros(draw.n)
    for start in spells(draw, draw.n, (1, 5), (0.4, 1.6)):
        if draw.chance(0.4):
            n = samples(draw.between(0.4, 1.0))
            glide = curve(n, draw.scale(1500, 3000), draw.scale(2500, 5000))
            put(
                out,
                start,
                0.2 * np.sin(2 * np.pi * np.cumsum(glide) / 32000) * curve(n, 0, 1, 0.3)
                + 0.05 * noise(draw, n, 1000, 9000),
            )
            start += n / 32000
        boom = click(draw, 1.4, draw.scale(0.03, 0.3), 40, draw.scale(400, 8000))
        put(out, start, boom, draw.between(0.5, 1.2))
        if draw.chance(0.6):
            snap = [click(draw, 0.04, draw.scale(0.002, 0.008), 900, 14000) for _ in range(4)]
            times = (
                start
                + draw.between(0.1, 0.6)
                + np.abs(draw.rng.normal(0, 0.4, draw.count(20, 120)))
            )
            out += dense(draw, times, snap, 0.1) * draw.between(0.1, 0.6)
    return out


def popping(draw: Draw) -> Sound:
    """A short burst with one resonance."""

    def pop() -> Sound:
        base = draw.scale(250, 1500)
        return ring(0.15, np.array([base, 2.1 * base]), draw.scale(0.005, 0.02)) + draw.between(
            0.2, 1
        ) * click(draw, 0.15, 0.005, 200, 9000)

    rate = draw.scale(0.4, 9)
    return events(draw, poisson(draw, draw.n, rate), pop, 0.3)


def cracking(draw: Draw) -> Sound:
    """Snaps, one or a volley."""
    snap = [
        struck(draw, draw.scale(400, 1500), 9000, 7, 0.12, draw.scale(0.004, 0.02))
        + 0.6 * click(draw, 0.12, 0.004, 400, 13000)
        for _ in range(6)
    ]
    times = np.concatenate(
        [
            at + draw.rng.exponential(0.12, draw.count(1, 9))
            for at in spells(draw, draw.n, (1, 5), (0.4, 1.6))
        ]
    )
    return dense(draw, times, snap, 0.1)


def crunching(draw: Draw) -> Sound:
    """Bites of many small cracks, dull through the cheek."""
    dull, out = draw.scale(2500, 11000), np.zeros(draw.n)
    crack = [click(draw, 0.03, draw.scale(0.001, 0.005), 400, dull) for _ in range(8)]
    for at in steady(draw, draw.n, draw.scale(1.1, 2.4), 0.1):
        times = at + np.abs(draw.rng.normal(0, draw.between(0.04, 0.12), draw.count(8, 45)))
        out += dense(draw, times, crack, 0.05)
    return lowpass(out, dull, 1) + 0.02 * bandpass(noise(draw, draw.n), 200, 2000)


def glass_shatter(draw: Draw) -> Sound:
    """A crash, then shards that ring and land ever more rarely."""
    out = np.zeros(draw.n)
    for start in spells(draw, draw.n, (1, 2), (1.5, 2.5)):
        put(out, start, click(draw, 0.4, draw.scale(0.02, 0.09), 700, 15000), 1.6)
        put(out, start, struck(draw, 150, 1200, 5, 0.3, 0.03), draw.between(0.2, 0.9))
        shards = draw.count(25, 110)
        falls = draw.rng.exponential(draw.scale(0.12, 0.5), shards)
        for at in falls:
            base = draw.scale(2000, 9000)
            shard = ring(0.25, base * np.array([1, 1.6, 2.4]), draw.scale(0.008, 0.06))
            put(out, start + at, shard, 0.5 * draw.between(0.05, 1) * np.exp(-at))
    return out
