"""The command `triptych`, as a person would type it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
import pytest
import torch
from safetensors.numpy import save_file

from triptych.cli import main
from triptych.rl.algorithms.registry import Bcq
from triptych.rl.evaluation import EvaluationSettings, evaluate
from triptych.rl.networks import Policies, Widths, initialise, torch_layout, write_policies
from triptych.rl.storage import pack, unpack
from triptych.rl.tasks import task_named

STATE, ACTION = 5, 2
ROWS = [
    {"task": "hopper", "method": method, "sparsity_percent": 95, "seed": seed}
    for method, seed in (("snip", 0), ("snip", 1), ("grasp", 0))
]
SETTINGS = {
    "networks": "narrow",
    "algorithm": "BCQ",
    "max_action": 1.0,
    "phi": 0.05,
    "latent_clip_bcq": 0.5,
    "latent_clip_bc": 0.25,
    "candidates": 7,
}
SNIP_1 = ["--method", "snip", "--sparsity", "95", "--seed", "1"]


@pytest.fixture
def stacked() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    fresh = initialise(Widths((20, 20), (20, 20), 20), STATE, ACTION, [0, 1, 2])
    return {
        name: (value.numpy() * (generator.random(value.shape) < 0.2)).astype(np.float32)
        if name.endswith("weight")
        else value.numpy()
        for name, value in fresh.items()
    }


@pytest.fixture
def policies(tmp_path, stacked, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    write_policies("policies.safetensors", Policies(stacked, ROWS, SETTINGS))
    return Path("policies.safetensors")


def test_help_names_each_command_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom triptych.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as done:\n    assert done.code == 0\n"
        "assert not {'numpy', 'torch', 'numba', 'pandas'} & set(sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "triptych policy export results/" in result.stdout
    assert "triptych policy bench " in result.stdout
    assert "triptych stylize photo.jpg" in result.stdout


def test_version_is_that_of_the_package_or_says_that_it_is_not_installed(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out.startswith("triptych ")


def test_export_writes_the_row_that_was_asked_for(policies, stacked, capsys):
    assert main(["policy", "export", str(policies), *SNIP_1]) == 0
    packed = unpack("hopper-snip-95-seed1-fp32.tpk")
    expected = torch_layout({name: value[1] for name, value in stacked.items()})
    layers = {name.rsplit(".", 1)[0] for name in packed.arrays}
    acting = {"actor": "l1 l2 l3", "critic": "l1 l2 l3", "vae": "d1 d2 d3"}  # no encoder, no Q2
    assert layers == {f"{net}.{layer}" for net, own in acting.items() for layer in own.split()}
    assert len(packed.arrays) == 18
    for name, array in packed.arrays.items():
        assert np.array_equal(array, expected[name])
    assert packed.metadata == {"row": ROWS[1], "settings": SETTINGS}
    printed = capsys.readouterr().out
    assert "bit for bit" in printed
    assert f"{Path('hopper-snip-95-seed1-fp32.tpk').stat().st_size:,} bytes" in printed


def test_rounded_values_state_the_largest_error_and_that_no_score_was_measured(policies, capsys):
    for values in ("fp16", "int8"):
        command = ["policy", "export", str(policies), *SNIP_1, "--values", values, "-o", "x.tpk"]
        assert main([*command, "--force"]) == 0
        printed, packed = capsys.readouterr().out, unpack("x.tpk")
        assert f"to {values}, largest error {packed.largest_rounding_error:.2e}" in printed
        assert "hopper of these sizes is not simulated here" in printed  # 5 observations
        assert packed.metadata == {"row": ROWS[1], "settings": SETTINGS}


def test_int8_states_the_score_that_it_loses(policies, capsys):
    generator = np.random.default_rng(0)
    fresh = initialise(Widths((20, 20), (20, 20), 20), 11, 3, [0])
    stacked = {name: value.numpy() for name, value in fresh.items()}
    stacked["vae.d2.weight"] *= generator.random((1, 20, 20)) < 0.5
    write_policies("real.safetensors", Policies(stacked, ROWS[:1], SETTINGS))
    command = ["policy", "export", "real.safetensors", "--values", "int8", "--episodes", "2"]
    assert main([*command, "-o", "x.tpk"]) == 0
    printed, found = capsys.readouterr().out, unpack("x.tpk").metadata["rounding"]
    assert "hopper, means of 2 episodes with the same starts and latents" in printed
    # Scored again, a policy at a time, with what each file holds.
    assert main(["policy", "export", "real.safetensors", "-o", "exact.tpk"]) == 0
    for name, path in (("exact", "exact.tpk"), ("rounded", "x.tpk")):
        alone = {
            layer: torch.from_numpy(np.atleast_2d(array.T)[None])
            for layer, array in unpack(path).arrays.items()
        }
        evaluation = EvaluationSettings(2, candidates=7, seed=0, task=task_named("hopper"))
        bcq = Bcq(discount=0.99, phi=0.05, lmbda=0.75, target_samples=10)
        scored = evaluate(bcq, alone, [0], evaluation)
        for column in ("return", "score_normalised"):
            assert found[name][column] == pytest.approx(scored[column].mean(), rel=1e-6)
            assert f"{found[name][column]:.2f}" in printed or column == "return"
    for column in ("return", "score_normalised"):
        difference = found["exact"][column] - found["rounded"][column]
        assert found["loss"][column] == difference != 0
    assert found["episodes"] == 2


def test_export_takes_a_user_s_own_arrays(policies, capsys):
    own = {"fc.weight": np.eye(30, dtype=np.float32), "fc.bias": np.ones(30, np.float32)}
    save_file(own, "own.safetensors")
    Path("to").mkdir()
    assert main(["policy", "export", "own.safetensors", "-o", "to/own.tpk"]) == 0
    packed = unpack("to/own.tpk")
    assert np.array_equal(packed.arrays["fc.weight"], own["fc.weight"])
    assert packed.metadata == {}
    printed = capsys.readouterr().out
    assert " 96.7 " in printed  # percent of zeros: 29 of 30
    assert "neither ONNX nor readers: it has no vae.d1.weight" in printed
    assert [path.name for path in Path("to").iterdir()] == ["own.tpk"]


def test_a_user_s_own_policy_is_exported_as_what_its_networks_can_act_as(policies, stacked):
    own = torch_layout({name: value[0] for name, value in stacked.items()})
    for networks, count in ((("actor", "critic", "vae"), 18), (("actor", "vae"), 6)):
        arrays = {name: array for name, array in own.items() if name.startswith(networks)}
        save_file(arrays, "own.safetensors")
        assert main(["policy", "export", "own.safetensors", "-o", "own.tpk", "--force"]) == 0
        assert len(unpack("own.tpk").arrays) == count
        assert onnx.load("own.onnx").graph.name == ("BCQ policy" if count == 18 else "BC policy")


def test_export_writes_onnx_and_readers_beside_the_packed_file(policies, capsys):
    command = ["policy", "export", str(policies), *SNIP_1, "-o", "to/x.tpk"]
    Path("to").mkdir()
    assert main(command) == 0
    written = {path.name for path in Path("to").iterdir()}
    assert written == {"x.tpk", "x.onnx", "policy.py", "policy.c"}
    printed = capsys.readouterr().out
    assert all(str(Path("to") / name) in printed for name in written)
    assert "left out 14 arrays, which BCQ does not act with" in printed
    run = [sys.executable, "policy.py", "x.tpk"]
    result = subprocess.run(run, cwd="to", capture_output=True, text=True, check=True)
    assert result.stdout.startswith(f"BCQ: {STATE} observations, {ACTION} actions\n")

    assert main([*command, "-o", "to/y.tpk"]) == 0  # the same readers serve both
    Path("to/policy.c").write_text("mine")
    assert main([*command, "-o", "to/z.tpk"]) == 2
    assert "policy.c exists" in capsys.readouterr().err
    assert Path("to/policy.c").read_text() == "mine" and not Path("to/z.tpk").exists()


def test_a_policy_that_lacks_a_layer_is_refused_and_nothing_is_written(policies, capsys):
    save_file({"vae.d1.weight": np.ones((3, 5), np.float32)}, "own.safetensors")
    assert main(["policy", "export", "own.safetensors"]) == 2
    assert "policy of BC and has no array vae.d1.bias" in capsys.readouterr().err
    assert not list(Path().glob("own*.tpk")) and not list(Path().glob("*.onnx"))


def test_an_existing_output_is_kept_unless_forced(policies, capsys):
    Path("x.tpk").write_text("mine")
    command = ["policy", "export", str(policies), *SNIP_1, "-o", "x.tpk"]
    assert main(command) == 2
    assert Path("x.tpk").read_text() == "mine"
    assert "x.tpk exists" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert unpack("x.tpk").metadata["row"] == ROWS[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.safetensors"], "absent.safetensors is not a file; give"),
        (["policies.safetensors"], "3 rows are"),
        (["policies.safetensors", "--method", "snip"], "--method snip --sparsity 95 --seed 1"),
        (["policies.safetensors", "--method", "magnitude"], "no row is"),
        (["text.txt"], "expected a packed file"),
        (["double.safetensors"], "float64"),
        (["empty.safetensors"], "holds no arrays"),
        (["truncated.tpk"], "should have"),
        (["double.safetensors", "--seed", "3"], "leave --method"),
    ],
)
def test_bad_input_gets_one_message_and_exit_code_2(policies, capsys, arguments, message):
    Path("text.txt").write_text("not a policy")
    save_file({"w": np.zeros((2, 2))}, "double.safetensors")
    save_file({}, "empty.safetensors")
    pack("truncated.tpk", {"w": np.zeros((2, 2), np.float32)}, {}, "fp32")
    Path("truncated.tpk").write_bytes(Path("truncated.tpk").read_bytes()[:-1])
    before = set(Path().iterdir())
    assert main(["policy", "export", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert set(Path().iterdir()) == before


def test_bench_prints_every_part_and_writes_the_table(policies, capsys):
    assert main(["policy", "export", str(policies), *SNIP_1, "-o", "x.tpk"]) == 0
    for source in (["x.tpk"], [str(policies), *SNIP_1]):
        options = ["--batches", "1", "10", "--repeats", "1", "--csv", "x.csv", "--force"]
        assert main(["policy", "bench", *source, *options]) == 0
        printed = capsys.readouterr().out
        for text in ("actor", "BCQ policy", "BC policy", "numba sparse", "7 candidates"):
            assert text in printed
        table = pd.read_csv("x.csv")
        assert set(table["batch"]) == {1, 10} and len(table) == 3 * 4 * 2
        assert set(table["method"]) == {"snip"} and set(table["sparsity_percent"]) == {95}
        assert table["maximum_difference"].max() < 1e-6


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"fc.weight": (3, 3)}, "no network that acts"),
        (
            {f"vae.d{i}.{k}": (3, 4) for i in (1, 2, 3) for k in ("weight", "bias")},
            "do not fit together",
        ),
    ],
)
def test_bench_refuses_arrays_that_cannot_act(policies, capsys, arrays, message):
    save_file(
        {name: np.zeros(shape, np.float32) for name, shape in arrays.items()}, "w.safetensors"
    )
    assert main(["policy", "bench", "w.safetensors"]) == 2
    assert message in capsys.readouterr().err


def test_a_batch_of_zero_is_refused(policies):
    with pytest.raises(SystemExit) as refused:
        main(["policy", "bench", str(policies), "--batches", "0"])
    assert refused.value.code == 2
