"""Engines, motors, vehicles and tools with a drive."""

import numpy as np

from makers.sounds.toolkit import (
    Draw,
    Sound,
    bandpass,
    click,
    curve,
    dense,
    events,
    hump,
    lowpass,
    noise,
    phase,
    poisson,
    pulses,
    put,
    resonate,
    samples,
    sine,
    spells,
    steady,
    struck,
    tone,
    wander,
)


def combustion(
    draw: Draw, fires: Sound, cylinders: int, low: float, high: float, rough: float
) -> Sound:
    """Firings of an engine through its exhaust.

    fires: a second, one a sample; each cylinder fires a little differently, so the cycle is heard.
    """
    n = fires.size
    turns = phase(fires, n)
    number = np.floor(turns).astype(int)
    uneven = draw.spread(1 - rough, 1, cylinders)[number % cylinders]
    chaos = draw.spread(1 - rough, 1, int(number.max()) + 2)[number]
    impulse = np.diff(number, prepend=0) * uneven * chaos
    pipes = [(draw.scale(low, 3 * low), draw.scale(40, 120), 1.0) for _ in range(3)]
    pipes += [
        (draw.scale(3 * low, high), draw.scale(100, 700), draw.between(0.1, 0.5)) for _ in range(4)
    ]
    body = resonate(impulse, pipes)
    within = turns - number
    puff = noise(draw, n, 100, high, -4, 1) * np.exp(-within * draw.between(2, 7)) * uneven
    return body / max(np.abs(body).max(), 1e-9) + draw.between(0.02, 0.2) * puff


def _speed(draw: Draw, base: float, how: str) -> Sound:
    """Firings a second: idling, revving, driving off."""
    if how == "idle":
        return base * wander(draw, draw.n, 2, 0.97, 1.03)
    if how == "rev":
        return base * 2 ** (wander(draw, draw.n, 0.8, 0, 1.6) ** 1.5)
    return base * curve(draw.n, 1, draw.between(1, 1.6), draw.between(1, 2.2))


def car_engine(draw: Draw) -> Sound:
    """Four to eight cylinders."""
    fires = _speed(draw, draw.scale(18, 70), draw.pick("idle", "idle", "rev", "go"))
    made = combustion(
        draw, fires, draw.pick(4, 6, 8), 50, draw.scale(900, 4000), draw.between(0.05, 0.4)
    )
    return made + draw.scale(0.01, 0.1) * noise(draw, draw.n, 60, 8000, -3)


def motorcycle(draw: Draw) -> Sound:
    """One or two cylinders, higher, with much revving."""
    fires = _speed(draw, draw.scale(25, 120), draw.pick("rev", "go", "rev", "idle"))
    return combustion(
        draw, fires, draw.pick(1, 2), 90, draw.scale(2500, 8000), draw.between(0.1, 0.5)
    )


def diesel(draw: Draw) -> Sound:
    """Slow firings with a knock in each, and brakes of air."""
    fires = _speed(draw, draw.scale(12, 45), draw.pick("idle", "go", "idle"))
    made = combustion(draw, fires, 6, 35, draw.scale(1500, 5000), draw.between(0.2, 0.5))
    knock = resonate(pulses(fires, draw.n), [(1300, 300, 1), (2600, 700, 0.7)])
    made += draw.between(0.05, 0.5) * knock / max(np.abs(knock).max(), 1e-9)
    if draw.chance(0.25):
        n = samples(draw.between(0.3, 1))
        put(made, draw.between(0, 4), noise(draw, n, 1500, 14000) * curve(n, 1, 0.6, 0), 0.4)
    return made


def traffic(draw: Draw) -> Sound:
    """Tyres: broad noise that swells and falls, and engines below."""
    out = draw.scale(0.02, 0.3) * noise(draw, draw.n, 40, 1500, -5, 1)
    for _ in range(draw.count(1, 4)):
        centre, width = draw.between(-0.2, 1.2) * draw.n / 32000, draw.scale(0.5, 2.5)
        swell = 1 / (1 + ((np.arange(draw.n) / 32000 - centre) / width) ** 2) ** 1.5
        tyres = noise(draw, draw.n, draw.scale(200, 600), draw.scale(1500, 7000), -2, 1)
        hum = tone(draw.scale(50, 140) * curve(draw.n, 1.05, 0.95), draw.n, [1, 0.6, 0.3, 0.2, 0.1])
        out += swell * (tyres + draw.between(0, 0.7) * hum) * draw.between(0.3, 1)
    return out


def propeller_plane(draw: Draw) -> Sound:
    """Blades: harmonics of 50 to 150 Hz, with the Doppler's fall."""
    base = draw.scale(50, 170)
    f0 = base * curve(draw.n, 1 + draw.between(0, 0.08), 1, 1 - draw.between(0, 0.08))
    buzz = tone(f0, draw.n, draw.spread(0.3, 1, 40) / np.arange(1, 41) ** draw.between(0.4, 1.1))
    buzz += draw.between(0, 1) * tone(1.013 * f0, draw.n, 1 / np.arange(1, 20))
    made = buzz / np.abs(buzz).max() + draw.scale(0.03, 0.3) * noise(draw, draw.n, 60, 4000, -4, 1)
    return made * curve(draw.n, draw.between(0.2, 1), 1, draw.between(0.2, 1))


def jet(draw: Draw) -> Sound:
    """A roar, and the whine of its turbines."""
    swell = curve(draw.n, *[draw.between(0.15, 1) for _ in range(4)])
    made = noise(draw, draw.n, 30, draw.scale(600, 5000), draw.between(-6, -2), 1)
    made *= wander(draw, draw.n, 10, 0.7, 1)
    whine = sine(draw.scale(1500, 6000) * curve(draw.n, 1.06, 1, 0.93), draw.n)
    return (made + draw.scale(0.005, 0.4) * whine) * swell


def helicopter(draw: Draw) -> Sound:
    """Thumps of the blades, ten to twenty-five a second, and a turbine."""
    rate = draw.scale(9, 26) * curve(draw.n, 1.03, 1, 0.97)
    within = phase(rate, draw.n) % 1
    thump = np.exp(-within * draw.between(4, 14)) * np.minimum(1, within * 30)
    made = noise(draw, draw.n, 30, draw.scale(200, 1800), -4, 1) * thump
    made += draw.between(0.2, 1) * tone(rate * 5.1, draw.n, [1, 0.5, 0.4, 0.3, 0.2]) * 0.2
    made += draw.scale(0.02, 0.3) * noise(draw, draw.n, 200, 9000, -2)
    made += draw.scale(0.005, 0.15) * sine(draw.scale(900, 4000), draw.n)
    return made * curve(draw.n, draw.between(0.2, 1), draw.between(0.5, 1), draw.between(0.2, 1))


def train(draw: Draw) -> Sound:
    """Rumble, wheels over joints in pairs, and now and then a squeal."""
    made = noise(draw, draw.n, 40, draw.scale(500, 3500), draw.between(-5, -2), 1)
    made *= wander(draw, draw.n, 5, 0.6, 1)
    clack = struck(draw, draw.scale(90, 400), 3500, 9, 0.2, draw.scale(0.015, 0.05))
    pair, gap = draw.scale(0.8, 3), draw.between(0.1, 0.22)
    joints = np.concatenate([[at, at + gap] for at in steady(draw, draw.n, pair, 0.02)])
    made += draw.scale(0.5, 7) * dense(draw, joints, [clack], 0.5)
    if draw.chance(0.35):
        base = draw.scale(1500, 6000)
        made += (
            0.4
            * tone(base * wander(draw, draw.n, 3, 0.98, 1.02), draw.n, [1, 0.5, 0.3])
            * np.clip(wander(draw, draw.n, 1, -1, 1), 0, 1)
        )
    return made * curve(draw.n, draw.between(0.2, 1), 1, draw.between(0.2, 1))


def steam_train(draw: Draw) -> Sound:
    """Puffs, four a turn."""
    rate = draw.scale(1.5, 9)
    puff = noise(draw, samples(0.5), draw.scale(150, 600), 9000, -3) * curve(
        samples(0.5), 0, 1, 0.3, 0
    )
    out = events(draw, steady(draw, draw.n, rate, 0.02), lambda: puff, 0.6)
    if draw.chance(0.4):
        n = samples(draw.between(0.6, 2))
        base = draw.scale(350, 800)
        chord = sum(
            tone(base * ratio * np.ones(n), n, [1, 0.5, 0.3, 0.2]) for ratio in (1, 1.2, 1.5)
        )
        put(out, draw.between(0, 2.5), chord * hump(n, 0.2), 0.6)
    return out + 0.1 * noise(draw, draw.n, 60, 3000, -4)


def chainsaw(draw: Draw) -> Sound:
    """A two-stroke at 60 to 200 firings a second that revs and labours, rasping."""
    fires = draw.scale(50, 110) * 2 ** np.clip(wander(draw, draw.n, 1.2, -0.5, 2.0), 0, 1.3)
    made = combustion(draw, fires, 1, 150, draw.scale(5000, 11000), draw.between(0.15, 0.5))
    buzz = tone(fires, draw.n, 1 / np.arange(1, 41) ** 0.5)
    rasp = noise(draw, draw.n, 1200, 12000, 0) * (0.4 + (phase(fires, draw.n) % 1))
    return made + 0.3 * buzz / np.abs(buzz).max() + draw.scale(0.05, 0.4) * rasp


def lawn_mower(draw: Draw) -> Sound:
    """A small engine at constant speed, and its blade's wind."""
    fires = draw.scale(22, 65) * wander(draw, draw.n, 0.7, 0.95, 1.05)
    made = combustion(draw, fires, 1, 80, draw.scale(1500, 6000), draw.between(0.1, 0.3))
    return made + draw.scale(0.05, 0.3) * noise(draw, draw.n, 150, 7000, -2)


def drill(draw: Draw) -> Sound:
    """A whine with gears that bogs down, on and off."""
    out = np.zeros(draw.n)
    base, gears = draw.scale(150, 1100), draw.scale(5, 13)
    for at in spells(draw, draw.n, (1, 4), (0.8, 2)):
        n = samples(draw.between(0.5, 3))
        f0 = base * np.clip(curve(n, 0.3, 1, 1, draw.between(0.7, 1), 0.9, 0.4), 0.3, 1)
        made = tone(f0, n, draw.spread(0.2, 1, 30) / np.arange(1, 31) ** 0.6)
        made += 0.4 * tone(f0 * gears, n, [1, 0.4])
        grind = noise(draw, n, 800, 13000) * (0.4 + np.abs(noise(draw, n, 20, 300))) * 0.4
        put(out, at, (made / np.abs(made).max() + draw.between(0.1, 1) * grind) * hump(n, 0.15))
    return out


def power_saw(draw: Draw) -> Sound:
    """A high scream and broad noise."""
    load = np.clip(wander(draw, draw.n, 1.0, -0.5, 1.3), 0, 1)
    f0 = draw.scale(350, 1800) * (1 - 0.2 * load)
    made = tone(f0, draw.n, draw.spread(0.2, 1, 16)) + 0.6 * tone(f0 * 1.51, draw.n, [1, 0.6, 0.4])
    return made / np.abs(made).max() * (0.3 + load) + draw.between(0.2, 1) * noise(
        draw, draw.n, 1500, 15000, 1
    ) * (0.2 + load)


def vacuum(draw: Draw) -> Sound:
    """A motor's whine inside a rush of air."""
    f0 = draw.scale(180, 700) * wander(draw, draw.n, 1, 0.97, 1.03)
    whine = tone(f0, draw.n, draw.spread(0.1, 1, 14) / np.arange(1, 15) ** 0.5)
    air = noise(
        draw, draw.n, draw.scale(100, 400), draw.scale(4000, 13000), draw.between(-4, -1), 1
    )
    made = draw.scale(0.1, 0.7) * whine / np.abs(whine).max() + 0.5 * air * wander(
        draw, draw.n, 1.2, 0.7, 1
    )
    if draw.chance(0.3):
        made *= np.clip(np.arange(draw.n) / 32000 - draw.between(-1, 1.5), 0, 0.5) * 2
    return made


def fan(draw: Draw) -> Sound:
    """Steady air and the blades' faint tone."""
    air = noise(draw, draw.n, draw.scale(60, 300), draw.scale(1500, 10000), draw.between(-5, -1), 1)
    blades = tone(draw.scale(60, 500), draw.n, [1, 0.5, 0.3, 0.2])
    flutter = 1 + draw.between(0, 0.3) * sine(draw.scale(3, 30), draw.n)
    return air * flutter + draw.scale(0.02, 0.5) * blades


def washing_machine(draw: Draw) -> Sound:
    """A motor that turns a drum, water and a thump each turn; or the spin."""
    turn = draw.scale(0.7, 14)
    f0 = draw.scale(60, 350) * curve(draw.n, 1, draw.between(0.9, 1.3))
    motor = tone(f0, draw.n, draw.spread(0.1, 1, 12) / np.arange(1, 13))
    slosh = (
        noise(draw, draw.n, 150, draw.scale(1000, 4000), -3, 1)
        * (1 + sine(turn, draw.n))
        * wander(draw, draw.n, 3)
    )
    thump = struck(draw, 50, 500, 7, 0.25, 0.05)
    return (
        draw.between(0.2, 1) * motor / np.abs(motor).max()
        + 0.4 * slosh
        + draw.between(0, 1) * events(draw, steady(draw, draw.n, turn, 0.05), lambda: thump)
    )


def sewing_machine(draw: Draw) -> Sound:
    """Quick clatter in bouts, with a motor's hum."""
    rate = draw.scale(6, 22)
    stitch = struck(draw, draw.scale(250, 900), 7000, 9, 0.09, draw.scale(0.005, 0.015))
    run = np.clip(wander(draw, draw.n, 0.8, -0.5, 2), 0, 1)
    times = steady(draw, draw.n, rate, 0.02)
    times = times[run[(times * 32000).astype(int).clip(0, draw.n - 1)] > 0.2]
    hum = tone(100 + 150 * run, draw.n, [1, 0.6, 0.4, 0.3]) * run
    return dense(draw, times, [stitch], 0.6) + draw.between(0.05, 0.3) * hum


def printer(draw: Draw) -> Sound:
    """A stepper's notes and a carriage to and fro."""
    out, at = 0.02 * noise(draw, draw.n, 100, 6000, -2), 0.0
    while at < draw.n / 32000:
        n = samples(draw.between(0.08, 0.7))
        f0 = draw.scale(90, 1200) * curve(n, 0.9, 1, 1, 0.9)
        made = tone(f0, n, draw.spread(0.1, 1, 14)) * hump(n, 0.2)
        made += draw.between(0, 1) * noise(draw, n, 800, 9000) * hump(n, 0.3)
        put(out, at, made / np.abs(made).max(), draw.between(0.2, 0.8))
        at += n / 32000 + draw.pick(0.0, 0.03, draw.between(0, 0.5))
    return out


def electric_hum(draw: Draw) -> Sound:
    """Harmonics of the mains."""
    f0 = draw.pick(50.0, 60.0, 100.0, 120.0)
    gains = draw.spread(0, 1, 60) / np.arange(1, 61) ** draw.between(0.3, 1.6)
    made = tone(f0, draw.n, gains)
    return made / np.abs(made).max() + draw.scale(0.003, 0.1) * noise(draw, draw.n, 60, 8000, -3)


def blender(draw: Draw) -> Sound:
    """A loud motor with lumps in it."""
    load = wander(draw, draw.n, 6, 0.8, 1)
    f0 = draw.scale(200, 900) * load
    made = tone(f0, draw.n, draw.spread(0.2, 1, 25) / np.arange(1, 26) ** 0.4)
    made = made / np.abs(made).max() + draw.between(0.3, 1) * noise(draw, draw.n, 400, 12000, -1)
    lumps = [click(draw, 0.04, 0.006, 300, 9000) for _ in range(6)]
    made += draw.between(0, 2) * dense(draw, poisson(draw, draw.n, 25), lumps)
    first, last = draw.between(-0.2, 0.3), draw.between(0.7, 1.3)
    place = np.linspace(0, 1, draw.n)
    return made * np.clip((place - first) * 15, 0, 1) * np.clip((last - place) * 12, 0, 1)


def shaver(draw: Draw) -> Sound:
    """A buzz of many harmonics, pressed now and then."""
    f0 = draw.scale(90, 260) * wander(draw, draw.n, 2, 0.97, 1.02)
    made = tone(f0, draw.n, draw.spread(0.1, 1, 60) / np.arange(1, 61) ** 0.3)
    made = bandpass(made, draw.scale(100, 800), draw.scale(4000, 12000), 1)
    return made * wander(draw, draw.n, 2, 0.5, 1)


def motorboat(draw: Draw) -> Sound:
    """An engine below water, and the water."""
    fires = draw.scale(15, 90) * wander(draw, draw.n, 0.8, 0.85, 1.1)
    made = lowpass(combustion(draw, fires, 2, 60, 1500, 0.3), draw.scale(500, 2500))
    wash = noise(draw, draw.n, 200, 6000, -2) * wander(draw, draw.n, 3, 0.2, 1)
    return made + draw.scale(0.05, 0.5) * wash


def jackhammer(draw: Draw) -> Sound:
    """Ten to thirty blows a second."""
    rate = draw.scale(9, 30)
    blow = struck(draw, draw.scale(80, 300), 6000, 10, 0.1, draw.scale(0.008, 0.03))
    blow = blow + draw.between(0.2, 1) * click(draw, 0.1, 0.01, 300, 10000)
    times = steady(draw, draw.n, rate, 0.02)
    run = wander(draw, draw.n, 0.7)
    times = times[run[(times * 32000).astype(int).clip(0, draw.n - 1)] > draw.between(0, 0.4)]
    return dense(draw, times, [blow], 0.7) + draw.scale(0.01, 0.1) * noise(
        draw, draw.n, 100, 5000, -3
    )


def starting(draw: Draw) -> Sound:
    """The starter's cranking, then perhaps the engine."""
    crank = samples(draw.between(0.6, 2))
    rate = draw.scale(5, 11)
    whirr = tone(
        draw.scale(150, 420) * (1 + 0.12 * sine(rate, crank)), crank, 1 / np.arange(1, 13) ** 0.6
    )
    out = np.zeros(draw.n)
    start = draw.between(0, 1)
    put(out, start, whirr / np.abs(whirr).max() * (0.6 + 0.4 * sine(rate, crank)), 0.7)
    if draw.chance(0.75):
        n = max(1, draw.n - round(start * 32000) - crank)
        fires = draw.scale(20, 50) * curve(n, 2.2, 1.2, 1, 1)
        put(out, start + crank / 32000, combustion(draw, fires, 4, 60, 3000, 0.3))
    return out


def factory(draw: Draw) -> Sound:
    """A cycle of thumps and hisses over hum."""
    cycle, out = draw.scale(0.25, 1.5), 0.1 * noise(draw, draw.n, 60, 4000, -3)
    grains = [
        struck(draw, draw.scale(60, 900), 6000, 9, 0.3, draw.scale(0.01, 0.1)),
        noise(draw, samples(0.2), 1500, 14000) * curve(samples(0.2), 0, 0.5, 0.3, 0),
        struck(draw, draw.scale(300, 1500), 9000, 9, 0.3, 0.03),
    ]
    beats = draw.spread(0, 1, 4)
    for number in range(int(draw.n / 32000 / cycle) + 1):
        for which, beat in enumerate(beats):
            put(out, (number + float(beat)) * cycle, grains[which % 3], 0.7)
    return out + draw.between(0, 0.4) * tone(draw.scale(40, 200), draw.n, [1, 0.7, 0.5, 0.3, 0.2])
