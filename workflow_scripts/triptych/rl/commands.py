"""Console commands on policies: `triptych prune-export` and `triptych policy-bench`."""

import argparse
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.core.errors import InputError
from triptych.core.options import positive

if TYPE_CHECKING:
    import numpy as np

    from triptych.rl.inference import ActingSettings

REFERENCE_ACTING = {
    "max_action": 1.0,
    "phi": 0.05,
    "latent_clip_bcq": 0.5,
    "latent_clip_bc": 0.25,
    "candidates": 100,
}
"""sfujim/BCQ's values (latent_clip_bc: BEAR's), for files that carry no settings."""

FILTERS = {
    "method": "method",
    "observations": "observations",
    "pruning": "pruning",
    "sparsity": "sparsity_percent",
    "seed": "seed",
}
"""Keys of a row by the options that choose one."""
ROW_KEYS = ("task", "method", "sparsity_percent", "seed")


@dataclass(frozen=True)
class _Policy:
    """One policy in torch's layout; row and settings are empty for a file that has none."""

    arrays: dict[str, "np.ndarray"]
    row: dict[str, Any]
    settings: dict[str, Any]


def add_commands(commands: Any) -> None:
    """Add both commands to the subparsers of `triptych`."""
    export = commands.add_parser(
        "prune-export",
        help="write one pruned policy as a small packed file, to be deployed",
        description="Write of one policy what acts (BCQ: decoder, actor and Q1; BC: the decoder) "
        "as a packed file (docs/packed-format.md), check that it reads back, and print what each "
        "format takes. A file whose settings name no algorithm is written whole.",
    )
    _add_policy(export, "a policies.safetensors of the workflow, or your own safetensors file")
    export.add_argument(
        "--values",
        choices=("fp32", "fp16"),
        default="fp32",
        help="fp32 is exact; fp16 rounds each value once (default: %(default)s)",
    )
    export.add_argument("-o", "--output", type=Path, help="default: named after the policy, here")
    export.add_argument(
        "--readers",
        action="store_true",
        help="write policy.py and policy.c beside it, which act with it: one needs numpy alone, "
        "the other a C compiler",
    )
    export.add_argument(
        "--onnx", action="store_true", help="write it as ONNX too, in dense matrices, beside it"
    )
    export.add_argument("--force", action="store_true", help="overwrite existing outputs")
    export.set_defaults(run=_prune_export)

    bench = commands.add_parser(
        "policy-bench",
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
    bench.set_defaults(run=_policy_bench)


def _add_policy(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("policy", type=Path, metavar="POLICY", help=what)
    which = parser.add_argument_group("which row of a policies.safetensors")
    which.add_argument("--method", help="dense, snip, grasp or another of the config's")
    which.add_argument("--observations", choices=("raw", "normalised"), help="how it was trained")
    which.add_argument("--pruning", help="default, or a name from rl.pruning.variants")
    which.add_argument("--sparsity", type=float, metavar="PERCENT", help="such as 95")
    which.add_argument("--seed", type=int)


def _prune_export(options: argparse.Namespace) -> int:
    policy = _read_policy(options.policy, options)
    from triptych.core.files import atomic_path
    from triptych.rl.exporting import READERS, export_onnx, reader, what_acts
    from triptych.rl.storage import pack

    output: Path = options.output or Path(_output_name(options.policy, policy, options.values))
    onnx = output.with_suffix(".onnx")
    readers = {output.parent / name: reader(name) for name in READERS if options.readers}
    for path in (output, onnx) if options.onnx else (output,):
        _refuse_to_overwrite(path, options.force)
    for path, text in readers.items():
        if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
            _refuse_to_overwrite(path, options.force)
    metadata = {"row": policy.row, "settings": policy.settings} if policy.settings else {}
    arrays, algorithm = policy.arrays, policy.settings.get("algorithm")
    try:
        if algorithm is not None:
            arrays = what_acts(arrays, algorithm)
        if options.onnx:
            of = algorithm or ("BCQ" if "actor.l1.weight" in arrays else "BC")
            export_onnx(onnx, arrays, _acting(policy.settings, None), of)
        error = pack(output, arrays, metadata, options.values)
    except ValueError as problem:
        raise InputError(f"{options.policy}: {problem}") from problem
    print(_sizes(arrays))
    _check_packed(output, arrays, error)
    exact = "bit for bit" if error == 0 else f"rounded to fp16, largest error {error:.2e}"
    print(f"\nwrote {output}: {output.stat().st_size:,} bytes, reads back {exact}")
    if left_out := len(policy.arrays) - len(arrays):
        print(f"left out {left_out} arrays, which {algorithm} does not act with")
    if options.onnx:
        print(f"wrote {onnx}: {onnx.stat().st_size:,} bytes")
    for path, text in readers.items():
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(f"wrote {path}: how to use it stands at its head")
    return 0


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


def _policy_bench(options: argparse.Namespace) -> int:
    # OpenBLAS reads this when numpy is loaded, which is why it stands before the imports.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if options.csv:
        _refuse_to_overwrite(options.csv, options.force)
    policy = _read_policy(options.policy, options)
    try:
        settings = _acting(policy.settings, options.candidates)
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


def _read_policy(path: Path, options: argparse.Namespace) -> _Policy:
    """One policy from a packed file, from a row of a policies file or from plain arrays."""
    if not path.is_file():
        raise InputError(f"{path} is not a file; give a policies.safetensors or a packed file")
    from safetensors import SafetensorError, safe_open

    from triptych.rl.storage import MAGIC, PackedFileError, unpack

    with path.open("rb") as stream:
        is_packed = stream.read(len(MAGIC)) == MAGIC
    filters = {
        key: value
        for option, key in FILTERS.items()
        if (value := getattr(options, option)) is not None
    }
    if is_packed:
        try:
            packed = unpack(path)
        except PackedFileError as problem:
            raise InputError(str(problem)) from problem
        row, settings = (packed.metadata.get(key, {}) for key in ("row", "settings"))
        if not isinstance(row, dict) or not isinstance(settings, dict):
            raise InputError(f"{path}: its metadata is not a policy's; expected a row and settings")
        _check_only_row(path, row, filters)
        return _Policy(packed.arrays, row, settings)
    try:
        with safe_open(path, framework="numpy") as stored:
            if "policies" in (stored.metadata() or {}):
                return _row_of(path, filters)
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        # Where a package has told numpy of bfloat16, safetensors reads what it refuses elsewhere.
        if strange := [name for name, array in arrays.items() if array.dtype.kind == "V"]:
            raise TypeError(f"{strange[0]} is {arrays[strange[0]].dtype}")
    except (SafetensorError, TypeError, KeyError, ValueError, AttributeError) as problem:
        raise InputError(
            f"{path} cannot be read ({problem}); expected a packed file (.tpk) or a "
            "safetensors file of float32 arrays"
        ) from problem
    if not arrays:
        raise InputError(f"{path} holds no arrays")
    _check_only_row(path, {}, filters)
    return _Policy(arrays, {}, {})


def _row_of(path: Path, filters: Mapping[str, Any]) -> _Policy:
    from triptych.rl.networks import read_policies

    policies = read_policies(path)
    matches = [
        k
        for k, row in enumerate(policies.rows)
        if all(row[key] == value for key, value in filters.items())
    ]
    if len(matches) != 1:
        rows = "\n".join(
            "  "
            + " ".join(f"--{option} {row[key]}" for option, key in FILTERS.items() if key in row)
            for row in policies.rows
        )
        found = "no row is" if not matches else f"{len(matches)} rows are"
        raise InputError(f"{path}: {found} what was asked for; choose one of\n{rows}")
    (k,) = matches
    return _Policy(policies.row(k), policies.rows[k], policies.settings)


def _check_only_row(path: Path, row: Mapping[str, Any], filters: Mapping[str, Any]) -> None:
    wrong = [key for key, value in filters.items() if row.get(key) != value]
    if wrong:
        held = ", ".join(f"{key} {value}" for key, value in row.items()) or "one unnamed policy"
        raise InputError(
            f"{path} holds {held}; leave --method, --observations, --sparsity and --seed away or "
            "give its own"
        )


def _acting(settings: Mapping[str, Any], candidates: int | None) -> "ActingSettings":
    from triptych.rl.inference import ActingSettings

    chosen = {key: settings.get(key, default) for key, default in REFERENCE_ACTING.items()}
    for key, value in chosen.items():
        kinds = (int,) if key == "candidates" else (int, float)
        if type(value) not in kinds or not 0 < value < 1e6:
            raise ValueError(f"its {key} is {value!r}; expected a number above 0")
    if candidates is not None:
        chosen["candidates"] = candidates
    return ActingSettings(**chosen)


def _output_name(path: Path, policy: _Policy, values: str) -> str:
    if not policy.row.keys() >= set(ROW_KEYS):
        return f"{path.stem}-{values}.tpk"
    task, method, sparsity, seed = (policy.row[key] for key in ROW_KEYS)
    raw = "-raw" if policy.row.get("observations") == "raw" else ""
    # What a file says of itself may name no other folder.
    return re.sub(r"[^\w.-]", "_", f"{task}-{method}-{sparsity}{raw}-seed{seed}-{values}.tpk")


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
        f"{'fp32':>12}{'ratio':>7}{'fp16':>12}{'ratio':>7}   (bytes)"
    ]
    for network, part in networks.items():
        weights = [array for array in part.values() if array.ndim >= 2]
        total = sum(array.size for array in weights)
        zeros = sum(int((array == 0).sum()) for array in weights) / max(total, 1)
        dense, coo = dense_bytes(part), coo_bytes(part)
        line = f"{network:<10}{100 * zeros:>9.1f}{dense:>12,}{coo:>12,}"
        for values in ("fp32", "fp16"):
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
