"""Solids that are struck, dropped, broken or shaken."""

import numpy as np

from makers.sounds.toolkit import (
    Draw,
    Sound,
    click,
    curve,
    decay,
    dense,
    events,
    noise,
    poisson,
    put,
    ring,
    samples,
    spells,
    steady,
    struck,
)


def _bouts(draw: Draw, rate: tuple[float, float], jitter: float = 0.06) -> Sound:
    """Times at a rate, in one go or with a pause."""
    times = steady(draw, draw.n, draw.scale(*rate), jitter)
    if draw.chance(0.5):
        first = draw.between(0, 2)
        times = times[(times > first) & (times < first + draw.between(0.8, 3))]
    return times if times.size else np.array([0.3])


def knocking(draw: Draw) -> Sound:
    """A few hits in quick succession on a panel with low modes."""
    low = draw.scale(90, 320)
    thud = struck(draw, low, low * 6, draw.count(4, 9), 0.25, draw.scale(0.015, 0.06))
    out = np.zeros(draw.n)
    for start in spells(draw, draw.n, (1, 3), (1, 2.2)):
        gap = draw.between(0.12, 0.35)
        for number in range(draw.count(2, 5)):
            tap = thud + draw.between(0.1, 0.5) * click(draw, 0.25, 0.006, 300, 6000)
            put(out, start + number * gap * draw.between(0.93, 1.07), tap, draw.between(0.6, 1))
    return out


def hammering(draw: Draw) -> Sound:
    """Metal on metal over wood."""
    nail = struck(draw, 900, 7000, draw.count(5, 10), 0.3, draw.scale(0.01, 0.08))
    wood = struck(draw, 110, 700, 5, 0.3, 0.03)
    mixed = nail * draw.between(0.4, 1) + wood + 0.4 * click(draw, 0.3, 0.004)
    return events(draw, _bouts(draw, (1.2, 4)), lambda: mixed)


def metal_clang(draw: Draw) -> Sound:
    """Plates and pots: many inharmonic modes that ring."""

    def clang() -> Sound:
        hit = struck(
            draw, draw.scale(250, 900), 9000, draw.count(10, 24), 0.9, draw.scale(0.06, 0.3)
        )
        return hit + 0.5 * np.pad(click(draw, 0.1, 0.004), (0, hit.size - samples(0.1)))

    return events(draw, spells(draw, draw.n, (1, 8), (0.15, 1.2)), clang, 0.3)


def glass_clink(draw: Draw) -> Sound:
    """A few high modes that ring."""

    def clink() -> Sound:
        base = draw.scale(1500, 4500)
        ratios = np.array([1, 2.3, 4.1, 1.02]) * draw.between(0.97, 1.03)
        return ring(0.8, base * ratios, draw.scale(0.05, 0.3), np.array([1, 0.6, 0.3, 0.7]))

    return events(draw, spells(draw, draw.n, (1, 7), (0.2, 1.4)), clink)


def dishes(draw: Draw) -> Sound:
    """Ceramic and steel hit at irregular times."""
    hits = [
        struck(draw, draw.scale(700, 2600), 11000, draw.count(4, 9), 0.35, draw.scale(0.02, 0.12))
        for _ in range(8)
    ]
    return dense(draw, poisson(draw, draw.n, draw.scale(2, 9)), hits)


def jingling(draw: Draw) -> Sound:
    """Small metal: bursts of high ringing."""
    low = draw.scale(2200, 5000)
    hits = [struck(draw, low, 14000, 6, 0.25, draw.scale(0.01, 0.07)) for _ in range(10)]
    bursts = np.concatenate(
        [
            at + np.abs(draw.rng.normal(0, 0.15, draw.count(4, 20)))
            for at in spells(draw, draw.n, (1, 6), (0.3, 1.2))
        ]
    )
    return dense(draw, bursts, hits, 0.1)


def footsteps_hard(draw: Draw) -> Sound:
    """Heel, then toe, left and right not quite the same."""
    hardness, weight = draw.scale(900, 7000), draw.scale(50, 160)
    feet = []
    for _ in range(4):
        heel = click(draw, 0.3, draw.scale(0.008, 0.025), 80, hardness)
        heel += draw.between(0.3, 1.2) * struck(draw, weight, weight * 5, 4, 0.3, 0.025)
        toe = click(draw, 0.15, 0.01, 150, 0.8 * hardness)
        put(heel, draw.between(0.06, 0.12), toe, draw.between(0.1, 0.5))
        feet.append(heel)
    return dense(draw, steady(draw, draw.n, draw.scale(1.3, 3.2), 0.05), feet, 0.5)


def footsteps_soft(draw: Draw) -> Sound:
    """Each step a swell of many small crunches."""
    high, low = draw.scale(3500, 14000), draw.scale(120, 900)

    def step() -> Sound:
        length = draw.between(0.18, 0.4)
        n = samples(length)
        grains = np.abs(noise(draw, n, 20, draw.scale(80, 300))) ** 2
        return noise(draw, n, low, high, -3) * grains * curve(n, 0, 1, 0.5, 0.8, 0)

    return events(draw, steady(draw, draw.n, draw.scale(1.2, 2.8), 0.05), step)


def hand_claps(draw: Draw) -> Sound:
    """Bursts around a kilohertz or two."""
    centre = draw.scale(700, 2200)
    claps = [click(draw, 0.12, draw.scale(0.006, 0.02), centre / 2, centre * 2.4) for _ in range(5)]
    return dense(draw, _bouts(draw, (1.5, 5)), claps, 0.5)


def applause(draw: Draw) -> Sound:
    """Very many claps at once."""
    claps = [
        click(draw, 0.08, draw.scale(0.004, 0.015), draw.scale(400, 1200), draw.scale(2000, 5000))
        for _ in range(24)
    ]
    times = poisson(draw, draw.n, draw.scale(30, 500))
    if draw.chance(0.3):
        times = times[
            draw.spread(0, 1, times.size)
            < curve(5, 1, 0.9, 0.6, 0.3, 0.1)[(times / draw.n * 32000 * 4).astype(int).clip(0, 4)]
        ]
    return dense(draw, times, claps, 0.1)


def bouncing(draw: Draw) -> Sound:
    """Ever quicker bounces, or a steady dribble."""
    low = draw.scale(80, 900)
    hit = struck(draw, low, low * 8, 6, 0.2, draw.scale(0.01, 0.04)) + 0.3 * click(draw, 0.2, 0.005)
    if draw.chance(0.5):
        return events(draw, steady(draw, draw.n, draw.scale(1.2, 4), 0.04), lambda: hit)
    out, at, gap, gain = np.zeros(draw.n), draw.between(0.1, 1), draw.between(0.4, 0.8), 1.0
    while gap > 0.03:
        put(out, at, hit, gain)
        at, gap, gain = at + gap, gap * draw.between(0.78, 0.88), gain * 0.85
    return out


def thud(draw: Draw) -> Sound:
    """Low modes, quickly damped."""

    def hit() -> Sound:
        low = draw.scale(40, 130)
        return struck(draw, low, low * 7, 7, 0.5, draw.scale(0.03, 0.1)) + draw.between(
            0.05, 0.4
        ) * click(draw, 0.5, 0.03, 60, draw.scale(600, 4000))

    return events(draw, spells(draw, draw.n, (1, 4), (0.4, 2)), hit)


def door_slam(draw: Draw) -> Sound:
    """The latch, the bang, the frame."""

    def slam() -> Sound:
        low = draw.scale(45, 120)
        hit = struck(draw, low, low * 10, 10, 0.8, draw.scale(0.04, 0.12))
        hit += draw.between(0.3, 0.9) * click(draw, 0.8, 0.04, 50, draw.scale(1500, 6000))
        out = np.zeros(samples(1.1))
        put(out, 0.0, click(draw, 0.05, 0.006, 800, 7000), draw.between(0.1, 0.5))
        put(out, draw.between(0.03, 0.15), hit)
        return out

    return events(draw, spells(draw, draw.n, (1, 3), (0.8, 2)), slam)


def typing(draw: Draw) -> Sound:
    """Keys down and up, irregular and quick."""
    bright, bell = draw.scale(2500, 12000), draw.chance(0.15)
    keys = []
    for _ in range(8):
        key = click(draw, 0.14, draw.scale(0.002, 0.006), draw.scale(300, 1500), bright)
        key += draw.between(0.1, 0.8) * struck(draw, draw.scale(150, 500), 3000, 5, 0.14, 0.01)
        put(key, draw.between(0.05, 0.1), click(draw, 0.04, 0.002, 1200, bright), 0.4)
        keys.append(key)
    times = poisson(draw, draw.n, draw.scale(3, 13))
    out = dense(draw, times, keys, 0.35)
    if bell:
        put(out, draw.between(1, 4), ring(1.0, np.array([2600.0, 5300]), 0.25), 0.5)
    return out


def clicks(draw: Draw) -> Sound:
    """Down and up of something small."""
    one = struck(draw, draw.scale(900, 4000), 13000, 6, 0.06, draw.scale(0.001, 0.005))
    one = one + draw.between(0.2, 0.8) * click(draw, 0.06, 0.0015, 800, 14000)
    gap = draw.between(0.04, 0.22)

    def pair() -> Sound:
        out = np.zeros(samples(0.35))
        put(out, 0, one)
        put(out, gap * draw.between(0.8, 1.2), one, draw.between(0.3, 0.9))
        return out

    return events(draw, spells(draw, draw.n, (1, 9), (0.25, 1.3)), pair, 0.6)


def clock_ticking(draw: Draw) -> Sound:
    """Very regular tiny clicks, every other one different."""
    rate = draw.pick(1.0, 2.0, 4.0, 5.0, draw.between(1, 4))
    ticks = []
    for _ in range(2):
        tick = struck(
            draw, draw.scale(900, 4500), 12000, draw.count(2, 6), 0.1, draw.scale(0.003, 0.015)
        )
        ticks.append(tick + draw.between(0.1, 0.6) * click(draw, 0.1, 0.002, 1500, 13000))
    if draw.chance(0.5):
        ticks[1] = ticks[0]
    out = np.zeros(draw.n)
    for number, at in enumerate(steady(draw, draw.n, rate, 0.002)):
        put(out, at, ticks[number % 2], draw.between(0.85, 1))
    return out


def woodblock(draw: Draw) -> Sound:
    """Short pitched wood."""
    base = draw.scale(500, 2600)
    hit = ring(
        0.15, base * np.array([1, 2.4, 3.7]), draw.scale(0.01, 0.035), np.array([1, 0.5, 0.3])
    )
    return events(draw, steady(draw, draw.n, draw.scale(1, 7), 0.02), lambda: hit, 0.4)


def chopping(draw: Draw) -> Sound:
    """A crack and a board."""
    low = draw.scale(120, 400)

    def chop() -> Sound:
        hit = struck(draw, low, low * 9, 6, 0.2, draw.scale(0.01, 0.03))
        return hit + draw.between(0.3, 1) * click(draw, 0.2, draw.scale(0.004, 0.03), 500, 9000)

    return events(draw, _bouts(draw, (0.7, 6)), chop)


def drums(draw: Draw) -> Sound:
    """Kick, snare and hat on a grid."""
    n = samples(0.35)
    kick = np.sin(2 * np.pi * np.cumsum(curve(n, 150, 60, 50, 45)) / 32000) * decay(n, 0.09)
    snare = 0.5 * click(draw, 0.35, 0.06, 300, 12000) + ring(0.35, np.array([190.0, 330]), 0.05)
    hat = 0.4 * click(draw, 0.35, draw.scale(0.01, 0.06), 6000, 15000)
    tom = ring(0.35, draw.scale(90, 260) * np.array([1, 1.6, 2.1]), 0.08)
    out, step = np.zeros(draw.n), 1 / draw.scale(3.5, 10)
    pattern = draw.rng.uniform(size=(4, 8))
    for number in range(int(draw.n / 32000 / step)):
        beat = number % 8
        for grain, chance, row in zip(
            (kick, snare, hat, tom), (0.4, 0.3, 0.7, 0.25), pattern, strict=True
        ):
            if row[beat] < chance:
                put(out, number * step, grain, draw.between(0.6, 1))
    return out


def rattling(draw: Draw) -> Sound:
    """Small hard things in a container, in time with a hand."""
    low = draw.scale(700, 4000)
    hits = [struck(draw, low, 12000, 5, 0.06, draw.scale(0.002, 0.012)) for _ in range(8)]
    strokes = steady(draw, draw.n, draw.scale(2, 9), 0.05)
    times = np.concatenate(
        [at + np.abs(draw.rng.normal(0, 0.03, draw.count(5, 18))) for at in strokes]
    )
    return dense(draw, times, hits, 0.15)


def rolling(draw: Draw) -> Sound:
    """Rumble of wheels, and the joints they pass."""
    rumble = noise(draw, draw.n, 60, draw.scale(500, 3000), -4) * np.abs(
        noise(draw, draw.n, 3, draw.scale(20, 90))
    )
    bump = struck(draw, 150, 1800, 6, 0.12, 0.02)
    joints = events(draw, steady(draw, draw.n, draw.scale(1.5, 9), 0.03), lambda: bump)
    return (rumble + draw.between(0, 3) * joints) * curve(
        draw.n, draw.between(0.1, 1), 1, draw.between(0.1, 1)
    )


def hooves(draw: Draw) -> Sound:
    """Two or four hollow knocks a stride."""
    base = draw.scale(400, 1300)
    hoof = [
        ring(0.15, base * draw.between(0.85, 1.15) * np.array([1, 1.9, 2.7]), 0.018)
        + 0.4 * click(draw, 0.15, 0.01, 300, 5000)
        for _ in range(4)
    ]
    stride = 1 / draw.scale(0.9, 2.4)
    beats = draw.pick((0, 0.5), (0, 0.25, 0.5, 0.75), (0, 0.22, 0.4))
    out = np.zeros(draw.n)
    for number in range(int(draw.n / 32000 / stride) + 1):
        for which, beat in enumerate(beats):
            put(
                out,
                (number + beat) * stride * draw.between(0.99, 1.01),
                hoof[which],
                draw.between(0.6, 1),
            )
    return out
