"""What a job of the workflow costs, before it runs: what is to be done, and how long that takes.

Nothing here imports PyTorch. Operations are those of products and convolutions as PyTorch's
flop_counter has them; traffic is what all other kernels read and write. Tests compare both with
what PyTorch starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

GB = 1e9
FLOAT = 4

PRODUCTS = 0.5
"""Share of a GPU's peak that products and convolutions reach: assumed."""
BANDWIDTH = 0.7
"""Share of a GPU's memory bandwidth that the other kernels reach: assumed."""
LAUNCH_SECONDS = 6e-6
"""Between two kernels that Python starts: assumed."""


@dataclass(frozen=True)
class Work:
    """What is to be done: `operations` in products (a multiplication and an addition are two),
    `traffic` in bytes of all other kernels, `kernels` to be started."""

    operations: float = 0.0
    traffic: float = 0.0
    kernels: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.operations + other.operations,
            self.traffic + other.traffic,
            self.kernels + other.kernels,
        )

    def __mul__(self, times: float) -> "Work":
        """One after the other."""
        return Work(self.operations * times, self.traffic * times, self.kernels * times)

    def together(self, count: float) -> "Work":
        """`count` of them at once: as much more to do in as many kernels."""
        return Work(self.operations * count, self.traffic * count, self.kernels)


@dataclass(frozen=True)
class Processor:
    """A GPU by its maker's figures, or cores: operations a second by precision (dense), bytes.

    measured_on: the device that has been measured, as its driver calls it; "" for none
    factors: by step and precision, its measured seconds over those that `seconds` computes
    """

    name: str
    peak: Mapping[str, float]
    bandwidth: float
    measured_on: str = ""
    factors: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def seconds(self, work: Work, precision: str) -> float:
        """How long it takes, at the shares of its peak that are assumed above."""
        products = work.operations / (PRODUCTS * self.peak[precision])
        others = work.traffic / (BANDWIDTH * self.bandwidth)
        return max(products + others, work.kernels * LAUNCH_SECONDS)


def _processor(name: str, float32: float, tf32: float, half: float, bandwidth: float) -> Processor:
    peak = {"float32": float32, "tf32": tf32, "bf16": half, "fp16": half}
    return Processor(name, {kind: value * 1e12 for kind, value in peak.items()}, bandwidth * 1e9)


GPUS = {
    "t4": _processor("T4", 8.1, 8.1, 65.0, 320),
    "a10": _processor("A10", 31.2, 62.5, 125.0, 600),
    "rtx4090": _processor("RTX 4090", 82.6, 82.6, 165.2, 1008),
    "a40": _processor("A40", 37.4, 74.8, 149.7, 696),
    "a100": _processor("A100 80 GB", 19.5, 156.0, 312.0, 2039),
    "h100": _processor("H100 SXM", 66.9, 494.7, 989.4, 3350),
    "h200": _processor("H200", 66.9, 494.7, 989.4, 4800),
}
"""NVIDIA's data sheets, without sparsity."""


def slow_cores(count: int) -> Processor:
    """So many cores of a slow processor, in any precision."""
    speed = 0.04 * count
    return _processor(f"{count} slow cores", speed, speed, speed, 10 * count)


ON_GPUS = {"inference": "fp16", "training": "bf16", "narrow": "bf16", "unscaled": "tf32"}
"""What `precision: auto` stands for on a GPU of 2020 or later, by the work (core/device.py)."""


def precision_on_gpus(wanted: str, work: str) -> str:
    """The precision in which what a config wants is computed on a GPU, planned without one."""
    return ON_GPUS[work] if wanted == "auto" else wanted


@dataclass(frozen=True)
class Cost:
    """A job's demands; zero is nothing to speak of.

    work: counted, for a GPU, by precision
    step: what most of the work is made of, by the name under which a GPU's seconds were measured
    cpu_seconds: of one core, at rates that were measured unless `assumed` says otherwise
    cores, gpus: how many share these, and the work
    ahead: the CPU works while the GPU does (readers), not in turn with it (simulations)
    download: bytes;  waits: seconds of waiting for a server beyond that
    disk: bytes of results;  scratch: bytes of checkpoints, of no use when all is finished
    memory: bytes in RAM, whatever computes;  tensors: bytes of what computes, a GPU's or the RAM's
    money: in the prices' currency
    about: the sizes aren't published and are estimated
    """

    work: Mapping[str, Work] = field(default_factory=dict)
    step: str = ""
    cpu_seconds: float = 0.0
    cores: int = 1
    gpus: int = 1
    ahead: bool = False
    download: float = 0.0
    waits: float = 0.0
    disk: float = 0.0
    scratch: float = 0.0
    memory: float = 0.0
    tensors: float = 0.0
    money: float = 0.0
    about: bool = False

    def gpu_seconds(self, processor: Processor) -> float:
        """Seconds in which a GPU, or what takes its place, computes: as far as measured by what it
        took for such steps."""
        return sum(
            processor.seconds(work, precision) * processor.factors.get((self.step, precision), 1.0)
            for precision, work in self.work.items()
        )

    def seconds(self, processor: Processor, download_rate: float) -> float:
        """Seconds from the job's start to its end, without what starting it takes."""
        computing = self.gpu_seconds(processor) / self.gpus
        beside = self.cpu_seconds / self.cores
        busy = max(computing, beside) if self.ahead else computing + beside
        return busy + self.download / download_rate + self.waits

    @property
    def operations(self) -> float:
        """Of all precisions."""
        return sum(work.operations for work in self.work.values())


def download(size: int | None, about: float) -> Cost:
    """A file of the published size, or of `about` so many bytes where nobody publishes one."""
    bytes_ = about if size is None else float(size)
    return Cost(download=bytes_, disk=bytes_, about=size is None)


def product(rows: float, inputs: float, outputs: float, times: int = 1) -> Work:
    """[rows, inputs] by [inputs, outputs]; backward to the weights, or to the inputs, is a time."""
    return Work(2.0 * rows * inputs * outputs * times, kernels=times)


def moved(numbers: float, passes: float, kernels: float = 1) -> Work:
    """Kernels without products, which read and write float32 `passes` times."""
    return Work(traffic=FLOAT * passes * numbers, kernels=kernels)


def kept(step: Work) -> float:
    """Bytes that a step keeps for its way back: about, since it moves each about four times."""
    return step.traffic / 4


def by_precision(*parts: tuple[str, Work]) -> dict[str, Work]:
    """`Cost.work`: the sum of all parts in a precision."""
    work: dict[str, Work] = {}
    for precision, each in parts:
        work[precision] = work.get(precision, Work()) + each
    return work
