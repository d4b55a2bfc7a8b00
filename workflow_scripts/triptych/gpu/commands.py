"""The console command `triptych gpu`."""

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from triptych.core.errors import InputError

DESCRIPTION = """\
Measure a GPU with the three studies: the tests that need one, the benches, and some minutes of
each study's training at a config's sizes, on inputs that are made up. Parts 1, 2 and 3 take at most
9 minutes each, write results/gpu/part<N>.csv, lay that over resources/measured.csv and rewrite
the measured parts of docs/performance.md and docs/paper-scale.md. "docs" does only the latter.
Run it in the folder of the workflow; `make gpu` does.
"""

RESULTS = Path("results") / "gpu"


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    parser = commands.add_parser(
        "gpu",
        help="measure a GPU: tests, benches, trainings at the papers' sizes",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("1", "2", "3", "docs"), help="a part, or docs")
    parser.add_argument(
        "--configfile",
        nargs="*",
        type=Path,
        default=[],
        metavar="FILE",
        help="laid over config.yaml, as for snakemake",
    )
    parser.add_argument(
        "--began",
        type=float,
        default=None,
        metavar="SECONDS",
        help="when the part's time began, in seconds since 1970 (default: now)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=30.0,
        help="for which a training is timed, about (default: 30)",
    )
    parser.set_defaults(run=_gpu)


def _gpu(options: argparse.Namespace) -> int:
    from triptych.gpu import pages, session
    from triptych.plan import records
    from triptych.plan.dry_run import read_config

    began = options.began or time.time()
    root = Path.cwd()
    if not (root / "Snakefile").exists():
        raise InputError(f"there is no Snakefile in {root}: run this in the folder of the workflow")
    for file in options.configfile:
        if not file.exists():
            raise InputError(f"--configfile {file}: there is no such file")
    if options.what == "docs":
        files = sorted((root / RESULTS).glob("part?.csv"))
        rows = [row for file in files for row in records.read(file)]
    else:
        config, part = read_config(root, options.configfile), int(options.what)
        spare = pages.PLAN_SECONDS if part == 3 else 0
        rows = session.run_part(
            part,
            session.steps_of(part, config, options.seconds, config["device"] == "cuda"),
            config,
            began + session.PART_SECONDS - spare,
            _about(config, root),
            root / RESULTS,
        )
    kept = records.merged(records.read(root / records.KEPT), rows)
    records.write(root / records.KEPT, kept)
    pages.rewrite(root, kept, rows, options.configfile)
    troubles = [row for row in rows if row["status"] in (records.FAILED, records.NOT_REACHED)]
    for row in troubles:
        name = row["task"] or row["step"]
        print(f"part {row['part']}, {name}: {row['status']}. {row['note']}")
    return 1 if any(row["status"] == records.FAILED for row in troubles) else 0


def _about(config: dict[str, Any], root: Path) -> dict[str, str]:
    """What every row of a part says. Raises InputError without the GPU that the config wants."""
    import torch

    from triptych.core.config import ConfigError
    from triptych.core.device import describe_device
    from triptych.plan.scale import scale_of

    if config["device"] == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"PyTorch {torch.__version__}, built for CUDA {torch.version.cuda}, finds no GPU it "
            f"can use. {_driver()} Where there is a GPU, its driver must be new enough for this "
            "CUDA (nvidia-smi names the newest that it knows), and a container must have been "
            "started with it (docker run --gpus all)."
        )
    device = torch.device("cuda" if config["device"] == "cuda" else "cpu")
    try:
        scale = scale_of(config, root)
    except ConfigError as error:
        raise InputError(str(error)) from error
    return {
        "device": describe_device(device),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "torch": torch.__version__,
        "scale": scale,
    }


def _driver() -> str:
    """The driver's version in a sentence, as far as the kernel tells it."""
    path = Path("/proc/driver/nvidia/version")
    if not path.exists():
        return "No driver of NVIDIA's is loaded here."
    return path.read_text(encoding="utf-8").splitlines()[0].strip() + "."
