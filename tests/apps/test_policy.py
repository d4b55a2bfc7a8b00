"""`triptych policy export`, as a person would type it."""

from pathlib import Path

import numpy as np
import pytest
from packed_reader import unpack

from triptych.cli import main
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.networks.stacked import torch_layout
from triptych.rl.training.train import write_policies

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
    fresh = Bcq.initialise(Widths((20, 20), (20, 20), 20), STATE, ACTION, [0, 1, 2])
    return {
        name: (value.numpy() * (generator.random(value.shape) < 0.2)).astype(np.float32)
        if name.endswith("weight")
        else value.numpy()
        for name, value in fresh.items()
    }


@pytest.fixture
def policies(tmp_path, stacked, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_policies("policies.safetensors", stacked, ROWS, SETTINGS)
    return Path("policies.safetensors")


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
    assert "times smaller, exactly" in printed and "% of its weights are zeros" in printed
    size = Path("hopper-snip-95-seed1-fp32.tpk").stat().st_size
    assert f"hopper-snip-95-seed1-fp32.tpk: {size:,} bytes" in printed


def test_export_writes_the_reader_beside_the_packed_file(policies, capsys):
    command = ["policy", "export", str(policies), *SNIP_1, "--values", "fp16", "-o", "to/x.tpk"]
    Path("to").mkdir()
    assert main(command) == 0
    written = {path.name for path in Path("to").iterdir()}
    assert written == {"x.tpk", "policy.c"}
    printed = capsys.readouterr().out
    assert "rounded to fp16, largest error" in printed
    assert all(str(Path("to") / name) in printed for name in written)
    assert main([*command, "-o", "to/y.tpk"]) == 0  # the same reader serves both
    Path("to/policy.c").write_text("mine")
    assert main([*command, "-o", "to/z.tpk"]) == 2
    assert "policy.c exists" in capsys.readouterr().err
    assert Path("to/policy.c").read_text() == "mine" and not Path("to/z.tpk").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.safetensors"], "absent.safetensors is not a file; give"),
        (["policies.safetensors", "--method", "snip"], "--method snip --sparsity 95 --seed 1"),
    ],
)
def test_bad_input_gets_one_message_and_exit_code_2(policies, capsys, arguments, message):
    before = set(Path().iterdir())
    assert main(["policy", "export", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert set(Path().iterdir()) == before
