"""The console command `triptych policy export`."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.apps import output_path
from triptych.core.errors import InputError, between, natural

if TYPE_CHECKING:
    from triptych.rl.acting.exporting import StoredPolicy

EXAMPLES = """\
example:
  triptych policy export results/rl/hopper/narrow/bcq-paper/policies.safetensors \\
      --method snip --sparsity 95 --seed 0 -o hopper.tpk
"""
ROW_KEYS = ("task", "method", "sparsity_percent", "observations", "pruning")


def add_commands(commands: Any) -> None:
    """Add `policy` and its commands to the subparsers of `triptych`."""
    policy = commands.add_parser("policy")
    policy.set_defaults(summary="export a pruned policy for machines without PyTorch")
    verbs = policy.add_subparsers(metavar="COMMAND", required=True)
    export = verbs.add_parser(
        "export",
        help="write one policy for machines without PyTorch",
        description="Write the acting networks of one policy as a packed file "
        "(docs/packed-format.md), and beside it the file's reader policy.c and policy.h (libc and "
        "libm).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    export.add_argument(
        "policy", type=Path, metavar="POLICY", help="a policies.safetensors of the workflow"
    )
    which = export.add_argument_group("which row of a policies.safetensors")
    which.add_argument("--method", help="dense, snip, grasp or another criterion of the config")
    which.add_argument(
        "--observations", choices=("raw", "normalised"), help="observations it was trained on"
    )
    which.add_argument("--pruning", help="default or a name of rl.pruning.variants")
    which.add_argument(
        "--sparsity", type=between(0, 100), metavar="PERCENT", help="percent, such as 95"
    )
    which.add_argument("--seed", type=natural, help="seed of the run")
    export.add_argument(
        "--values",
        choices=("fp32", "fp16"),
        default="fp32",
        help="fp32 is exact; fp16 rounds each value once (default: %(default)s)",
    )
    export.add_argument(
        "-o",
        "--output",
        type=output_path,
        help="the packed file (default: named after the policy, here)",
    )
    export.add_argument("--force", action="store_true", help="overwrite existing outputs")
    export.set_defaults(run=_export, command="policy export")


def _export(options: argparse.Namespace) -> int:
    from triptych.core.files import Results
    from triptych.rl.acting.exporting import OPTIONS, READER, acting_arrays, read_policy, reader
    from triptych.rl.pruning.storage import pack

    given = {key: getattr(options, option) for option, key in OPTIONS.items()}
    policy = read_policy(options.policy, {k: v for k, v in given.items() if v is not None})
    output: Path = options.output or Path(_output_name(policy, options.values))
    try:
        arrays = acting_arrays(policy.arrays, policy.settings["algorithm"])
        if output.name.casefold() in READER:
            raise InputError(f"{output}: that is the reader's name; choose another for -o")
        if output.resolve() == options.policy.resolve():
            raise InputError(f"{output} is the policy itself; choose another name for -o")
        texts = {output.parent / name: reader(name) for name in READER}
        for path in (output, *texts):
            same = path in texts and path.is_file() and path.read_bytes() == texts[path].encode()
            if path.exists() and not options.force and not same:
                raise InputError(f"{path} exists; choose another name or add --force")
        metadata = {"row": policy.row, "settings": policy.settings}
        results = Results(options.force, repeated=True)
        with results.new(output) as temporary:
            error = pack(temporary, arrays, metadata, options.values)
        for path, text in texts.items():
            with results.new(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
    except ValueError as problem:
        raise InputError(f"{options.policy}: {problem}") from problem
    dense = sum(array.nbytes for array in arrays.values())
    weights = [array for array in arrays.values() if array.ndim >= 2]
    zeros = sum(int((array == 0).sum()) for array in weights) / sum(each.size for each in weights)
    print(f"{100 * zeros:.1f}% of its weights are zeros; {dense:,} bytes dense")
    if low := policy.settings.get("action_low"):
        high = policy.settings["action_high"]
        print(f"{READER[0]} gives actions in the environment's bounds: {low} to {high}")
    exact = "exactly" if error == 0 else f"rounded to {options.values}, largest error {error:.2e}"
    packed = results.written[0]
    times = f"{dense / packed.stat().st_size:.1f} times smaller"
    for path in results.written:
        about = f", {times}, {exact}" if path == packed else ""
        print(f"wrote {path}: {path.stat().st_size:,} bytes{about}")
    return 0


def _output_name(policy: "StoredPolicy", values: str) -> str:
    row = policy.row
    name = "-".join([*(str(row[key]) for key in ROW_KEYS if key in row), f"seed{row.get('seed')}"])
    # Metadata must not name another folder.
    return re.sub(r"[^\w.-]", "_", f"{name}-{values}.tpk")
