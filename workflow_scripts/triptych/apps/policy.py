"""The console command `triptych policy export`."""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from triptych.rl.acting.stored_policy import StoredPolicy

ROW_KEYS = ("task", "method", "sparsity_percent", "seed")


def add_commands(commands: Any) -> None:
    """Add `policy` and its commands to the subparsers of `triptych`."""
    policy = commands.add_parser("policy", help="export a pruned policy")
    verbs = policy.add_subparsers(metavar="COMMAND", required=True)
    export = verbs.add_parser(
        "export",
        help="write what acts of one policy, to be deployed",
        description="Write of one policy what acts: as a packed file (docs/packed-format.md), as "
        "ONNX, and the packed file's reader policy.c (libc and libm). Arrays of which no policy is "
        "made are packed whole, without the others.",
    )
    export.add_argument(
        "policy",
        type=Path,
        metavar="POLICY",
        help="a policies.safetensors of the workflow, or your own safetensors file",
    )
    which = export.add_argument_group("which row of a policies.safetensors")
    which.add_argument("--method", help="dense, snip, grasp or another of the config's")
    which.add_argument("--observations", choices=("raw", "normalised"), help="how it was trained")
    which.add_argument("--pruning", help="default, or a name from rl.pruning.variants")
    which.add_argument("--sparsity", type=float, metavar="PERCENT", help="such as 95")
    which.add_argument("--seed", type=int)
    export.add_argument(
        "--values",
        choices=("fp32", "fp16"),
        default="fp32",
        help="fp32 is exact; fp16 rounds each value once (default: %(default)s)",
    )
    export.add_argument(
        "-o", "--output", type=Path, help="the packed file; default: named after the policy, here"
    )
    export.add_argument("--force", action="store_true", help="overwrite existing outputs")
    export.set_defaults(run=_export, command="policy export")


def _export(options: argparse.Namespace) -> int:
    from triptych.rl.acting.exporting import READER, acting_algorithm, export, reader, what_acts
    from triptych.rl.acting.stored_policy import OPTIONS, acting_settings, read_policy
    from triptych.rl.pruning.storage import pack

    given = {key: getattr(options, option) for option, key in OPTIONS.items()}
    policy = read_policy(options.policy, {k: v for k, v in given.items() if v is not None})
    output: Path = options.output or Path(_output_name(options.policy, policy, options.values))
    arrays = policy.arrays
    try:
        algorithm = policy.settings.get("algorithm") or acting_algorithm(arrays)
        if algorithm:
            arrays = what_acts(arrays, algorithm)
        written = [output, output.with_suffix(".onnx")] if algorithm else [output]
        if output.suffix == ".onnx":
            raise InputError(f"{output}: this is the packed file's name; ONNX stands beside it")
        for path in written:
            _refuse_to_overwrite(path, options.force)
        if algorithm:
            path = output.parent / READER
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
            if text != reader():
                _refuse_to_overwrite(path, options.force)
            written.append(path)
        metadata = {"row": policy.row, "settings": policy.settings} if policy.settings else {}
        if algorithm:
            settings = acting_settings(policy.settings)
            error = export(output, arrays, metadata, settings, algorithm, options.values)
        else:
            error = pack(output, arrays, metadata, options.values)
    except ValueError as problem:
        raise InputError(f"{options.policy}: {problem}") from problem
    dense = sum(array.nbytes for array in arrays.values())
    print(f"{_zeros_percent(arrays):.1f}% of its weights are zeros; {dense:,} bytes dense")
    exact = "exactly" if error == 0 else f"rounded to {options.values}, largest error {error:.2e}"
    size = output.stat().st_size
    print(f"wrote {output}: {size:,} bytes ({dense / size:.1f} times smaller), {exact}")
    if left_out := len(policy.arrays) - len(arrays):
        print(f"left out {left_out} arrays, which {algorithm} does not act with")
    for path in written[1:]:
        print(f"wrote {path}: {path.stat().st_size:,} bytes")
    if not algorithm:
        print("neither ONNX nor a reader: it has no vae.d1.weight, with which policies act")
    return 0


def _output_name(path: Path, policy: "StoredPolicy", values: str) -> str:
    if not policy.row.keys() >= set(ROW_KEYS):
        return f"{path.stem}-{values}.tpk"
    task, method, sparsity, seed = (policy.row[key] for key in ROW_KEYS)
    from triptych.rl.tasks.sweep import DEFAULT

    raw = "-raw" if policy.row.get("observations") == "raw" else ""
    variant = policy.row.get("pruning", DEFAULT)
    how = f"{raw}-{variant}" if variant != DEFAULT else raw
    # What a file says of itself may name no other folder.
    return re.sub(r"[^\w.-]", "_", f"{task}-{method}-{sparsity}{how}-seed{seed}-{values}.tpk")


def _refuse_to_overwrite(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise InputError(f"{path} exists; choose another name or add --force")


def _zeros_percent(arrays: Mapping[str, "np.ndarray"]) -> float:
    """Zeros among the numbers of all matrices, in percent."""
    weights = [array for array in arrays.values() if array.ndim >= 2]
    zeros = sum(int((array == 0).sum()) for array in weights)
    return 100 * zeros / max(sum(array.size for array in weights), 1)
