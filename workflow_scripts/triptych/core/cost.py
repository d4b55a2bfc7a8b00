"""What a job of the workflow costs, before it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from triptych.core.operations import Gpu, Work

GB = 1e9


@dataclass(frozen=True)
class Cost:
    """A job's demands; zero is nothing to speak of.

    work: counted, for a GPU, by precision
    step: what most of the work is made of, by the name under which a GPU's seconds were measured
    cpu_seconds: of one core, at rates that were measured unless `assumed` says otherwise
    cores: how many share them
    ahead: the CPU works while the GPU does (readers), not in turn with it (simulations)
    download: bytes;  waits: seconds of waiting for a server beyond that
    disk: bytes of results;  scratch: bytes of checkpoints, of no use when all is finished
    money: in the prices' currency
    about: the sizes aren't published and are estimated
    """

    work: Mapping[str, Work] = field(default_factory=dict)
    step: str = ""
    cpu_seconds: float = 0.0
    cores: int = 1
    ahead: bool = False
    download: float = 0.0
    waits: float = 0.0
    disk: float = 0.0
    scratch: float = 0.0
    money: float = 0.0
    about: bool = False

    def gpu_seconds(self, gpu: Gpu) -> float:
        """Seconds in which the GPU computes, as far as measured by what it took for such steps."""
        return sum(
            gpu.seconds(work, precision) * gpu.factors.get((self.step, precision), 1.0)
            for precision, work in self.work.items()
        )

    def seconds(self, gpu: Gpu, download_rate: float) -> float:
        """Seconds from the job's start to its end, without what starting it takes."""
        computing, beside = self.gpu_seconds(gpu), self.cpu_seconds / self.cores
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
