"""GPUs with what `make gpu` measured on them."""

import re
from collections.abc import Iterable
from dataclasses import replace

from triptych.core.cost import GPUS, Processor
from triptych.plan.records import Row, work_of


def calibrated(rows: Iterable[Row]) -> dict[str, Processor]:
    """core/cost.GPUS, those that were measured with their factors, by name.

    rows: of resources/measured.csv. Only steps at the papers' sizes count. A factor is the seconds
    of all trials of a step and precision over those computed for them; of two devices of one name
    the one measured last counts.
    """
    latest: dict[str, tuple[str, str]] = {}
    trials: dict[str, list[Row]] = {}
    for row in rows:
        name = name_of(row["device"])
        if name is None or not row["operations"] or row["scale"] != "paper":
            continue
        trials.setdefault(row["device"], []).append(row)
        latest[name] = max(latest.get(name, ("", "")), (row["date"], row["device"]))
    return GPUS | {
        name: _measured(GPUS[name], device, trials[device]) for name, (_, device) in latest.items()
    }


def name_of(device: str) -> str | None:
    """What `plan` calls a device of the driver's name, None for one whose figures it lacks."""
    words = re.findall(r"[a-z0-9]+", device.lower())
    return next((name for name in GPUS if name in words), None)


def _measured(gpu: Processor, device: str, rows: Iterable[Row]) -> Processor:
    took: dict[tuple[str, str], float] = {}
    computed: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row["task"], row["precision"]
        took[key] = took.get(key, 0.0) + float(row["seconds"])
        computed[key] = computed.get(key, 0.0) + gpu.seconds(work_of(row), row["precision"])
    factors = {key: took[key] / computed[key] for key in took}
    return replace(gpu, measured_on=device, factors=factors)
