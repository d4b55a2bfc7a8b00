"""All shipped scales side by side: what each takes, which claims it decides, what more costs."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from triptych.core.config import merged
from triptych.core.cost import Processor
from triptych.plan.calibration import measured_core
from triptych.plan.dry_run import dry_run
from triptych.plan.machines import Machine, machines_of, machines_with, seconds_on
from triptych.plan.measured import calibrated
from triptych.plan.pages import digits, duration, size, table
from triptych.plan.planned import SOURCES, Plan, planned
from triptych.plan.records import KEPT, read
from triptych.plan.scale import EVENING, FILES, PAPER, REHEARSAL, shipped
from triptych.plan.settles import Change, all_foreseen, decided, least_changes, phrase
from triptych.report.verdicts import NOT, ON_OTHER_DATA, Verdict

GPUS_OF = {EVENING: ("a10", "rtx4090"), PAPER: ("a100",)}
"""The GPUs for which a scale is stated."""
CHEAP_GPU = "rtx4090"
"""By which a change is priced that needs one."""


@dataclass(frozen=True)
class Scale:
    """A shipped config, its plan, and its claims as foreseen."""

    name: str
    config: Mapping[str, Any]
    plan: Plan
    claims: Mapping[str, Verdict]


def scales_page(root: Path) -> tuple[str, list[dict[str, str]]]:
    """Every scale but the rehearsal as Markdown, and the rows of resources/scales.csv: which claims
    each decides, in what time. A dry run for each scale, and for each change."""
    sources = yaml.safe_load((root / SOURCES).read_text(encoding="utf-8"))
    gpus, core = calibrated(read(root / KEPT)), measured_core(root)
    scales = []
    for name in FILES:
        if name != REHEARSAL:
            config = shipped(name, root)
            plan = planned(
                dry_run(root, [root / f for f in FILES[name][1:]]), config, root / SOURCES
            )
            scales.append(Scale(name, config, plan, all_foreseen(config, sources)))
    parts = [_costs(scales, gpus, core), _claims(scales)]
    for place, scale in enumerate(scales):
        larger = scales[place + 1 :]
        changes = least_changes(scale.config, [each.config for each in larger], sources)
        priced = [_priced(root, scale, change, gpus, core) for change in changes]
        parts.append(_open(scale, larger, priced))
    rows = [
        {
            "claim": claim,
            "decided": decided(verdict),
            "scale": scale.name,
            "config": FILES[scale.name][-1],
            "takes": "; ".join(
                f"{time} on {name}" for name, time in _times(scale, gpus, core).items()
            ),
        }
        for scale in scales
        for claim, verdict in scale.claims.items()
        if decided(verdict) != NOT
    ]
    return "\n\n".join(parts) + "\n", rows


def _times(scale: Scale, gpus: Mapping[str, Processor], core: Processor) -> dict[str, str]:
    """From nothing to the report, by the machine's name."""
    return {
        each.name.partition(" (")[0]: duration(seconds_on(scale.plan, each, {}))
        for each in _machines(scale, gpus, core)
    }


def _machines(scale: Scale, gpus: Mapping[str, Processor], core: Processor) -> list[Machine]:
    if scale.config["device"] != "cuda":
        return machines_of(core)
    return [machines_with(gpus[name])[0] for name in GPUS_OF[scale.name]]


def _costs(scales: Iterable[Scale], gpus: Mapping[str, Processor], core: Processor) -> str:
    lines = []
    for scale in scales:
        costs, on_gpu = scale.plan.costs, scale.config["device"] == "cuda"
        times = _times(scale, gpus, core)
        first = _machines(scale, gpus, core)[0].processor
        busy = sum(cost.gpu_seconds(first) for cost in costs) / 3600
        beside = sum(cost.cpu_seconds for cost in costs) / 3600
        counts = [
            sum(decided(each) == how for each in scale.claims.values())
            for how in (NOT, ON_OTHER_DATA)
        ]
        whole = len(scale.claims) - sum(counts)
        lines.append(
            [
                f"{scale.name}: {', '.join(f'`{name}`' for name in FILES[scale.name])}",
                "; ".join(f"{time}: {name}" for name, time in times.items()),
                digits(busy) if on_gpu else "",
                digits(beside if on_gpu else busy + beside),
                size(sum(cost.download for cost in costs)),
                size(sum(cost.disk for cost in costs)),
                f"{sum(cost.money for cost in costs):.2f}",
                f"{whole} + {counts[1]} of {len(scale.claims)}",
            ]
        )
    head = ["scale", "from nothing to the report", "GPU h (the first)", "core h", "downloads"]
    head += ["disk at the end", "money", "claims decided + seen on other data"]
    told = f"Cores are those of {core.name}; GPU hours are computed."
    return f"### What each takes\n\n{told}\n\n{table(head, lines)}"


def _claims(scales: Sequence[Scale]) -> str:
    lines = [
        [f"`{claim}`", *(decided(scale.claims[claim]) for scale in scales)]
        for claim in scales[0].claims
    ]
    head = ["claim", *(scale.name for scale in scales)]
    return f"### Which claims each decides\n\n{table(head, lines, numbers=False)}"


@dataclass(frozen=True)
class Priced:
    """A change, and what it adds on the machine that it needs."""

    change: Change
    machine: str
    seconds: float
    download: float


def _priced(
    root: Path, scale: Scale, change: Change, gpus: Mapping[str, Processor], core: Processor
) -> Priced:
    """What the run takes more with the change, planned as a file of its own would be."""
    overlay = {"scale": "custom", **change.overlay()}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "change.yaml"
        file.write_text(yaml.safe_dump(overlay), encoding="utf-8")
        files = [*(root / name for name in FILES[scale.name][1:]), file]
        plan = planned(dry_run(root, files), merged(scale.config, overlay), root / SOURCES)
    needs_gpu = overlay.get("device", scale.config["device"]) == "cuda"
    machine = machines_with(gpus[CHEAP_GPU])[0] if needs_gpu else machines_of(core)[1]
    before, after = (seconds_on(each, machine, {}) for each in (scale.plan, plan))
    fetched = [sum(cost.download for cost in each.costs) for each in (scale.plan, plan)]
    name = machine.name.partition(" (")[0]
    return Priced(change, name, max(0.0, after - before), max(0.0, fetched[1] - fetched[0]))


def _open(scale: Scale, larger: Sequence[Scale], priced: Sequence[Priced]) -> str:
    lines = [
        [f"`{claim}`", phrase(verdict), next(_deciding(claim, larger), "none that is shipped")]
        for claim, verdict in scale.claims.items()
        if decided(verdict) == NOT
    ]
    text = table(["claim", "why not", "decided, or seen on other data, by"], lines, numbers=False)
    if priced:
        best = min(priced, key=lambda each: (each.seconds, each.download))
        claims = ", ".join(f"`{claim}`" for claim in best.change.claims)
        more = f", {size(best.download)} more to download" if best.download else ""
        text += (
            "\n\nThe cheapest change that was found to decide one more, or to show it on "
            f"other data ({claims}), {best.seconds / 3600:.2f} h more on {best.machine}{more}:\n\n"
            f"```yaml\n{_written(best.change)}```"
        )
    return f"### What {scale.name} leaves open\n\n{text if lines else 'Nothing.'}"


def _written(change: Change) -> str:
    text: str = yaml.safe_dump(change.overlay(), default_flow_style=None, width=110)
    return text


def _deciding(claim: str, larger: Iterable[Scale]) -> Iterator[str]:
    return (each.name for each in larger if decided(each.claims[claim]) != NOT)
