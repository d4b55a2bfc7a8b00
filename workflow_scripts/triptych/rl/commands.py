"""Console commands on policies: `triptych policy export` and `triptych policy bench`."""

import argparse
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.core.errors import InputError, positive

if TYPE_CHECKING:
    import numpy as np

    from triptych.rl.inference import ActingSettings
    from triptych.rl.stored_policy import StoredPolicy

ROW_KEYS = ("task", "method", "sparsity_percent", "seed")


def add_commands(commands: Any) -> None:
    """Add `policy` and its commands to the subparsers of `triptych`."""
    policy = commands.add_parser(
        "policy", help="export a pruned policy, or measure how fast it acts"
    )
    verbs = policy.add_subparsers(metavar="COMMAND", required=True)
    export = verbs.add_parser(
        "export",
        help="write what acts of one policy, to be deployed",
        description="Write of one policy what acts (BCQ: decoder, actor and Q1; BC: the decoder): "
        "as a packed file (docs/packed-format.md), as ONNX, and the packed file's readers "
        "policy.py (numpy alone) and policy.c (libc and libm). Arrays of which no policy is made "
        "are packed whole, without the others.",
    )
    _add_policy(export, "a policies.safetensors of the workflow, or your own safetensors file")
    export.add_argument(
        "--values",
        choices=("fp32", "fp16", "int8"),
        default="fp32",
        help="fp32 is exact; fp16 rounds each value once; int8 has a scale for each output of a "
        "layer (default: %(default)s)",
    )
    export.add_argument(
        "--episodes",
        type=positive,
        default=10,
        metavar="N",
        help="where values are rounded, what that costs is measured over so many episodes, with "
        "the same starts and latents (default: %(default)s)",
    )
    export.add_argument(
        "-o", "--output", type=Path, help="the packed file; default: named after the policy, here"
    )
    export.add_argument("--force", action="store_true", help="overwrite existing outputs")
    export.set_defaults(run=_export, command="policy export")

    bench = verbs.add_parser(
        "bench",
        help="measure how fast a policy acts, in dense and sparse kernels",
        description="Measure how long one policy takes to act, on one thread. The observations "
        "are standard normal: no kernel's time depends on them.",
    )
    _add_policy(bench, "a packed file, a policies.safetensors, or your own safetensors file")
    bench.add_argument(
        "--batches",
        type=positive,
        nargs="+",
        default=[1, 10, 100],
        metavar="B",
        help="observations a call (default: 1 10 100)",
    )
    bench.add_argument(
        "--candidates", type=positive, help="actions that BCQ samples (default: the policy's)"
    )
    bench.add_argument("--repeats", type=positive, default=15, help="rounds (default: %(default)s)")
    bench.add_argument("--csv", type=Path, metavar="FILE", help="also write the table as CSV")
    bench.add_argument("--force", action="store_true", help="overwrite an existing FILE")
    bench.set_defaults(run=_bench, command="policy bench")


def _add_policy(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("policy", type=Path, metavar="POLICY", help=what)
    which = parser.add_argument_group("which row of a policies.safetensors")
    which.add_argument("--method", help="dense, snip, grasp or another of the config's")
    which.add_argument("--observations", choices=("raw", "normalised"), help="how it was trained")
    which.add_argument("--pruning", help="default, or a name from rl.pruning.variants")
    which.add_argument("--sparsity", type=float, metavar="PERCENT", help="such as 95")
    which.add_argument("--seed", type=int)


def _chosen(options: argparse.Namespace) -> "StoredPolicy":
    from triptych.rl.stored_policy import OPTIONS, read_policy

    given = {key: getattr(options, option) for option, key in OPTIONS.items()}
    return read_policy(options.policy, {k: v for k, v in given.items() if v is not None})


def _export(options: argparse.Namespace) -> int:
    from triptych.rl.exporting import READERS, acting_algorithm, export, reader, what_acts
    from triptych.rl.storage import pack
    from triptych.rl.stored_policy import acting_settings

    policy = _chosen(options)
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
        for path in [output.parent / name for name in READERS if algorithm]:
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
            if text != reader(path.name):
                _refuse_to_overwrite(path, options.force)
            written.append(path)
        metadata = {"row": policy.row, "settings": policy.settings} if policy.settings else {}
        if algorithm:
            settings = acting_settings(policy.settings)
            if options.values != "fp32":
                metadata |= _rounding(policy.row, arrays, algorithm, settings, options)
            error = export(output, arrays, metadata, settings, algorithm, options.values)
        else:
            error = pack(output, arrays, metadata, options.values)
    except ValueError as problem:
        raise InputError(f"{options.policy}: {problem}") from problem
    _check_packed(output, arrays, error)
    print(_sizes(arrays))
    exact = (
        "bit for bit" if error == 0 else f"rounded to {options.values}, largest error {error:.2e}"
    )
    print(f"\nwrote {output}: {output.stat().st_size:,} bytes, reads back {exact}")
    if left_out := len(policy.arrays) - len(arrays):
        print(f"left out {left_out} arrays, which {algorithm} does not act with")
    for path in written[1:]:
        print(f"wrote {path}: {path.stat().st_size:,} bytes")
    if not algorithm:
        print("neither ONNX nor readers: it has no vae.d1.weight, with which policies act")
    return 0


def _rounding(
    row: Mapping[str, Any],
    arrays: Mapping[str, "np.ndarray"],
    algorithm: str,
    acting: "ActingSettings",
    options: argparse.Namespace,
) -> dict[str, Any]:
    """What rounding costs, printed, as metadata; empty where the task can't be simulated."""
    from triptych.rl.rounding import is_simulated, loss_of_score

    task = str(row.get("task", "a policy of no task"))
    if not is_simulated(task, arrays):
        print(f"the loss of score was not measured: {task} of these sizes is not simulated here\n")
        return {}
    found = loss_of_score(arrays, row, algorithm, acting, options.values, options.episodes)
    print(f"{task}, means of {options.episodes} episodes with the same starts and latents:")
    print(f"{'':<10}{'return':>12}{'normalised score':>20}")
    for name, key in (("fp32", "exact"), (options.values, "rounded"), ("loss", "loss")):
        line = found[key]
        print(f"{name:<10}{line['return']:>12.1f}{line['score_normalised']:>20.2f}")
    print()
    return {"rounding": found}


def _check_packed(output: Path, arrays: Mapping[str, "np.ndarray"], error: float) -> None:
    """Remove a packed file that differs from `arrays` by other than `error`, RuntimeError."""
    from triptych.rl.storage import unpack

    read = unpack(output).arrays
    largest = max(
        float(abs(read[name].astype("f8") - array).max(initial=0)) for name, array in arrays.items()
    )
    if largest != error or read.keys() != arrays.keys():
        output.unlink()
        raise RuntimeError(f"{output} did not read back as it was written; it was removed")


def _bench(options: argparse.Namespace) -> int:
    # OpenBLAS reads this when numpy is loaded, which is why it stands before the imports.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from triptych.rl.stored_policy import acting_settings

    if options.csv:
        _refuse_to_overwrite(options.csv, options.force)
    policy = _chosen(options)
    try:
        settings = acting_settings(policy.settings, options.candidates)
    except ValueError as problem:
        raise InputError(f"{options.policy}: {problem}") from problem
    import numpy as np

    from triptych.core.files import write_csv
    from triptych.rl.inference import parts_of
    from triptych.rl.latency import latency_table

    for name, array in policy.arrays.items():
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise InputError(f"{options.policy}: {name} is not made of finite floats; expected all")
    arrays = {name: array.astype(np.float32) for name, array in policy.arrays.items()}
    try:
        parts = parts_of(arrays)
    except ValueError as problem:
        raise InputError(f"{options.policy}: {problem}") from problem
    if not parts:
        raise InputError(
            f"{options.policy} has no network that acts: expected arrays named actor.l1.weight "
            f"... or vae.d1.weight ..., found {', '.join(list(arrays)[:6])} ..."
        )
    if "actor" in parts:
        states = arrays["actor.l1.weight"].shape[1] - arrays["actor.l3.bias"].size
    else:
        states = arrays["vae.d1.weight"].shape[1] - 2 * arrays["vae.d3.bias"].size
    if states < 1:
        raise InputError(
            f"{options.policy}: its first layer has no inputs beside actions or latents; expected "
            "observations too"
        )
    observations = np.random.default_rng(0).standard_normal((1000, states), dtype=np.float32)
    try:
        table = latency_table(arrays, settings, observations, options.batches, options.repeats)
    except ValueError as problem:
        raise InputError(f"{options.policy}: {problem}") from problem
    print(_latency_text(table, settings.candidates))
    if options.csv:
        for key in reversed(ROW_KEYS):
            if key in policy.row:
                table.insert(0, key, policy.row[key])
        write_csv(table, options.csv)
        print(f"\nwrote {options.csv}")
    return 0


def _output_name(path: Path, policy: "StoredPolicy", values: str) -> str:
    if not policy.row.keys() >= set(ROW_KEYS):
        return f"{path.stem}-{values}.tpk"
    task, method, sparsity, seed = (policy.row[key] for key in ROW_KEYS)
    from triptych.rl.sweep import DEFAULT

    raw = "-raw" if policy.row.get("observations") == "raw" else ""
    variant = policy.row.get("pruning", DEFAULT)
    how = f"{raw}-{variant}" if variant != DEFAULT else raw
    # What a file says of itself may name no other folder.
    return re.sub(r"[^\w.-]", "_", f"{task}-{method}-{sparsity}{how}-seed{seed}-{values}.tpk")


def _refuse_to_overwrite(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise InputError(f"{path} exists; choose another name or add --force")


def _sizes(arrays: Mapping[str, "np.ndarray"]) -> str:
    """Bytes of each network, and of all, in each format; the ratio is dense : packed."""
    from triptych.rl.storage import coo_bytes, dense_bytes, packed_bytes

    networks: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        network, _, rest = name.partition(".")
        networks.setdefault(network if rest.count(".") else "all", {})[name] = array
    if len(networks) > 1:
        networks["all"] = dict(arrays)
    lines = [
        f"{'network':<10}{'zeros %':>9}{'dense':>12}{'COO':>12}"
        f"{'fp32':>12}{'ratio':>7}{'fp16':>12}{'ratio':>7}{'int8':>12}{'ratio':>7}   (bytes)"
    ]
    for network, part in networks.items():
        weights = [array for array in part.values() if array.ndim >= 2]
        total = sum(array.size for array in weights)
        zeros = sum(int((array == 0).sum()) for array in weights) / max(total, 1)
        dense, coo = dense_bytes(part), coo_bytes(part)
        line = f"{network:<10}{100 * zeros:>9.1f}{dense:>12,}{coo:>12,}"
        for values in ("fp32", "fp16", "int8"):
            try:
                packed = packed_bytes(part, values)
                line += f"{packed:>12,}{dense / packed:>7.1f}"
            except ValueError:  # beyond fp16's range
                line += f"{'-':>12}{'-':>7}"
        lines.append(line)
    return "\n".join(lines)


def _latency_text(table: Any, candidates: int) -> str:
    """Medians, each with its ratio to the faster of the two dense kernels."""
    kernels = list(dict.fromkeys(table["kernel"]))
    lines = [
        "microseconds a call, median on one thread (times as fast as the fastest dense kernel)",
        f"{'part':<12}{'batch':>6}" + "".join(f"{kernel:>19}" for kernel in kernels),
    ]
    for (part, batch), cells in table.groupby(["part", "batch"], sort=False):
        medians = dict(zip(cells["kernel"], cells["microseconds_median"], strict=True))
        dense = min(medians["torch dense"], medians["numpy dense"])
        cells_text = (f"{medians[k]:>11.1f} ({dense / medians[k]:4.1f}x)" for k in kernels)
        lines.append(f"{part:<12}{batch:>6}" + "".join(cells_text))
    if "BCQ policy" in set(table["part"]):
        lines.append(f"BCQ samples {candidates} candidates for each observation.")
    lines.append(f"Largest difference from float64: {table['maximum_difference'].max():.1e}")
    return "\n".join(lines)
