"""Kernels and policy.c act as ordinary modules do; packed policies act without torch."""

import ctypes
import shutil
import subprocess
from dataclasses import asdict
from functools import partial

import numpy as np
import pytest
import torch
from packed_reader import unpack

from triptych.rl.acting import latency
from triptych.rl.acting.exporting import READER, acting_arrays, reader
from triptych.rl.acting.inference import ActingSettings, Policy, numpy_dense
from triptych.rl.acting.latency import (
    COMPILE,
    NATIVE,
    compiled_reader,
    kernels_of,
    latency_table,
    pruned_policy,
)
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.pruning.storage import pack
from triptych.rl.tasks.spaces import Spaces

STATE, ACTION, CANDIDATES = 11, 3, 12
WIDTHS = Widths(actor=(60, 40), critic=(60, 40), vae=75)
SETTINGS = ActingSettings(max_action=1.5, phi=0.4, candidates=CANDIDATES)
KERNELS = ("torch dense", "numpy dense", "torch CSR", "policy.c")
ROUNDING = 4e-6  # of three layers in float32, whose order of summing is the processor's
DECODER, ACTOR, CRITIC = (
    {f"{layer}{i}.{kind}" for i in (1, 2, 3) for kind in ("weight", "bias")}
    for layer in ("vae.d", "actor.l", "critic.l")
)
ACTS = {"BC": DECODER, "BCQ": DECODER | ACTOR | CRITIC}


def policy(kept: float) -> dict[str, np.ndarray]:
    """All 16 layers in torch's layout, with a random share `kept` of their weights."""
    generator = np.random.default_rng(0)
    arrays = {}
    for layer, (into, out) in Bcq.layer_shapes(WIDTHS, STATE, ACTION).items():
        weight = generator.normal(0, (2 / into / max(kept, 0.01)) ** 0.5, (out, into))
        weight *= generator.random((out, into)) < kept
        arrays[f"{layer}.weight"] = weight.astype(np.float32)
        arrays[f"{layer}.bias"] = generator.uniform(-0.1, 0.1, out).astype(np.float32)
    return arrays


def drawn(batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observations [B, S] and latents of BC [B, L] and of BCQ [B, n, L]."""
    generator = np.random.default_rng(1)
    shapes = (batch, STATE), (batch, 2 * ACTION), (batch, CANDIDATES, 2 * ACTION)
    states, bc, bcq = (generator.standard_normal(shape, dtype=np.float32) for shape in shapes)
    return states, bc.clip(-0.25, 0.25), bcq.clip(-0.5, 0.5)


def mlp(arrays: dict[str, np.ndarray], layers: str, x: torch.Tensor) -> torch.Tensor:
    """nn.Linear and nn.ReLU in float64: the reference that shares no code with the library."""
    modules: list[torch.nn.Module] = []
    for i in (1, 2, 3):
        weight, bias = (torch.tensor(arrays[f"{layers}{i}.{k}"]) for k in ("weight", "bias"))
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0]).double()
        linear.weight.data, linear.bias.data = weight.double(), bias.double()
        modules += [linear, torch.nn.ReLU()]
    with torch.no_grad():
        return torch.nn.Sequential(*modules[:-1])(x.double())


@pytest.mark.parametrize("kept", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_equals_torch_modules_in_float64(kernel, kept):
    arrays, (states, bc, bcq) = policy(kept), drawn(33)
    acting, s = kernels_of(arrays, SETTINGS)[kernel], torch.tensor(states)
    inputs = np.concatenate((states, np.tanh(bc[:, :ACTION])), axis=1)
    expected = 0.4 * 1.5 * mlp(arrays, "actor.l", torch.tensor(inputs)).tanh()
    (found,) = acting.prepared("actor", inputs)()
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)
    expected = 1.5 * mlp(arrays, "vae.d", torch.cat((s, torch.tensor(bc)), 1)).tanh()
    (found,) = acting.prepared("BC policy", states, bc)()
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)
    actions, chosen = acting.prepared("BCQ policy", states, bcq)()
    for b in range(len(states)):
        repeated = s[b].expand(CANDIDATES, -1)
        a = 1.5 * mlp(arrays, "vae.d", torch.cat((repeated, torch.tensor(bcq[b])), 1)).tanh()
        a = a + 0.4 * 1.5 * mlp(arrays, "actor.l", torch.cat((repeated, a), 1)).tanh()
        a = a.clamp(-1.5, 1.5)
        q = mlp(arrays, "critic.l", torch.cat((repeated, a), 1))[:, 0]
        assert q[chosen[b]] >= q.max() - ROUNDING
        np.testing.assert_allclose(actions[b], a[chosen[b]], atol=ROUNDING, rtol=0)


def test_latency_table_has_every_kernel_part_and_batch_once():
    table = latency_table(policy(0.05), SETTINGS, drawn(50)[0], [1, 10], repeats=3)
    cells = table.set_index(["part", "kernel", "batch"])
    assert cells.index.is_unique
    assert len(cells) == 3 * len(KERNELS) * 2
    assert (table["microseconds_minimum"] <= table["microseconds_median"]).all()
    assert (table["microseconds_minimum"] > 0).all() and (table["repeats"] == 3).all()
    assert table["maximum_difference"].between(1e-12, ROUNDING).all()
    is_bcq = table["part"] == "BCQ policy"
    assert (table["candidates"] == np.where(is_bcq, CANDIDATES, 1)).all()


@pytest.mark.parametrize("missing", ["compiler", "exec"])
def test_where_policy_c_cannot_be_run_it_is_left_out_and_said(monkeypatch, caplog, missing):
    def refuse(path):
        raise OSError(f"{path}: failed to map segment from shared object")  # snappy-java#240

    if missing == "compiler":
        monkeypatch.setattr(latency.shutil, "which", lambda name: None)
    else:
        monkeypatch.setattr(latency.ctypes, "CDLL", refuse)
    latency.compiled_reader.cache_clear()
    try:
        assert set(kernels_of(policy(0.1), SETTINGS)) == set(KERNELS) - {"policy.c"}
    finally:
        latency.compiled_reader.cache_clear()
    assert len(caplog.records) == 1


def test_a_pruned_policy_is_its_initialisation_times_its_mask_in_torchs_layout():
    generator = np.random.default_rng(0)
    initial = {name: v[0].numpy() for name, v in Bcq.initialise(WIDTHS, STATE, ACTION, [4]).items()}
    mask = generator.random(initial["vae.d2.weight"].shape) < 0.3
    arrays = pruned_policy(initial, {"vae.d2.weight": mask})
    assert np.array_equal(arrays["vae.d2.weight"], (initial["vae.d2.weight"] * mask).T)
    assert np.array_equal(arrays["vae.d1.weight"], initial["vae.d1.weight"].T)


@pytest.mark.parametrize("algorithm", ACTS)
def test_only_what_acts_is_kept(algorithm):
    arrays = policy(1.0)
    kept = acting_arrays(arrays, algorithm)
    assert kept.keys() == ACTS[algorithm]
    assert all(kept[name] is arrays[name] for name in kept)
    del arrays["vae.d2.bias"]
    with pytest.raises(ValueError, match=rf"policy of {algorithm} .* vae\.d2\.bias"):
        acting_arrays(arrays, algorithm)
    with pytest.raises(ValueError, match="'TD3'; expected one of BCQ, BC"):
        acting_arrays(arrays, "TD3")


class Compiled:
    """policy.c with one policy of a file."""

    def __init__(self, path) -> None:
        library = compiled_reader()
        if library is None:
            pytest.skip("policy.c is tried where there is a C compiler named cc")
        self.library, problem = library, ctypes.c_char_p()
        policy = library.policy_open(str(path).encode(), ctypes.byref(problem))
        if not policy:
            raise ValueError(problem.value.decode())
        self.policy = ctypes.c_void_p(policy)
        sizes = [ctypes.c_int() for _ in range(3)]
        self.is_bcq = library.policy_sizes(self.policy, *map(ctypes.byref, sizes))
        self.sizes = [size.value for size in sizes]

    def __call__(self, states: np.ndarray, latents: np.ndarray) -> np.ndarray:
        actions = np.empty((len(states), ACTION), np.float32)
        for rows in zip(states, latents, actions, strict=True):
            state, latent, action = (row.ctypes.data_as(ctypes.c_void_p) for row in rows)
            if self.is_bcq:
                best = self.library.policy_bcq(self.policy, state, latent, CANDIDATES, action)
                assert 0 <= best < CANDIDATES
            else:
                assert self.library.policy_bc(self.policy, state, latent, action) == 0
        self.library.policy_close(self.policy)
        return actions


def test_policy_c_compiles_without_a_warning_on_any_processor(tmp_path):
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("policy.c is tried where there is a C compiler named cc")
    for name in READER:
        (tmp_path / name).write_text(reader(name))
    (tmp_path / "own.c").write_text(
        '#include "policy.h"\n#include "policy.h"\n'
        'int main(void) { const char *problem; return policy_open("none", &problem) != 0; }\n'
    )
    for native in ([NATIVE], []):
        options = ["-Wall", "-Wextra", "-Wmissing-prototypes", "-Werror", *native, "-lm"]
        made = ["policy.c", "-o", "libpolicy.so"]
        subprocess.run([compiler, *COMPILE, *made, *options], check=True, cwd=tmp_path)
    made = ["-std=c99", "own.c", "policy.c", "-o", "own"]
    subprocess.run([compiler, *made, *options], check=True, cwd=tmp_path)
    subprocess.run([tmp_path / "own"], check=True)


@pytest.mark.parametrize(("values", "kept"), [("fp32", 0.5), ("fp16", 0.05), ("fp16", 1.0)])
@pytest.mark.parametrize("algorithm", ACTS)
def test_a_packed_policy_acts_as_the_librarys(tmp_path, algorithm, kept, values):
    """Masks are stored raw, deflated and as ones alone."""
    settings = {"settings": asdict(SETTINGS) | {"algorithm": algorithm}}
    pack(tmp_path / "p.tpk", acting_arrays(policy(kept), algorithm), settings, values)
    packed, kernel = unpack(tmp_path / "p.tpk").arrays, partial(numpy_dense, dtype=np.float64)
    exact, (states, bc, bcq) = Policy(packed, SETTINGS, kernel), drawn(40)
    latents = bcq if algorithm == "BCQ" else bc
    expected = exact.prepared(f"{algorithm} policy", states, latents)()[0]
    assert expected.std() > 0.1
    found = Compiled(tmp_path / "p.tpk")(states, latents)
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("algorithm", ["TD3+BC", "IQL"])
def test_a_policy_without_latents_acts_by_its_actor(tmp_path, algorithm):
    arrays = policy(0.3)
    arrays["actor.l1.weight"] = arrays["actor.l1.weight"][:, :STATE]
    arrays["actor.log_std"] = np.zeros(ACTION, np.float32)
    kept = acting_arrays(arrays, algorithm)
    assert kept.keys() == ACTOR
    settings = {"algorithm": algorithm, "max_action": 1.5}
    pack(tmp_path / "p.tpk", kept, {"settings": settings}, "fp32")
    states = drawn(20)[0]
    expected = 1.5 * mlp(kept, "actor.l", torch.tensor(states)).tanh()
    act = Compiled(tmp_path / "p.tpk")
    assert [act.is_bcq, *act.sizes] == [0, STATE, ACTION, 0]
    found = act(states, np.zeros((20, 0), np.float32))
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("algorithm", ACTS)
def test_policy_c_gives_actions_in_the_environments_bounds(tmp_path, algorithm):
    low, high = np.array([-2.0, 0.1, -7.5])[:ACTION], np.array([2.0, 0.1, 100.0])[:ACTION]
    settings = asdict(SETTINGS) | {"algorithm": algorithm}
    kept, (states, bc, bcq) = acting_arrays(policy(0.5), algorithm), drawn(40)
    found = []
    bounds = {"action_low": low.tolist(), "action_high": high.tolist()}
    for more in ({}, bounds):
        pack(tmp_path / "p.tpk", kept, {"settings": settings | more}, "fp32")
        found.append(Compiled(tmp_path / "p.tpk")(states, bcq if algorithm == "BCQ" else bc))
    space = Spaces("mine", STATE, low, high)
    expected = space.widened(found[0].astype(np.float64) / SETTINGS.max_action)
    np.testing.assert_allclose(found[1], expected, rtol=1e-6, atol=1e-5)
    assert (found[1] >= low.astype("f4")).all() and (found[1] <= high.astype("f4")).all()
    for wrong in ([1.0] * (ACTION + 1), [], "-2", None, [[1]], (high + 1).tolist()):
        about = {"settings": settings | bounds | {"action_low": wrong}}
        pack(tmp_path / "p.tpk", kept, about, "fp32")
        with pytest.raises(ValueError, match="bounds of actions"):
            Compiled(tmp_path / "p.tpk")


def test_policy_c_refuses_every_truncation_and_flipped_byte(tmp_path):
    tiny = {
        f"vae.d{i}.{kind}": np.ones(shape, np.float32)
        for i, out, into in ((1, 2, 3), (2, 2, 2), (3, 1, 2))
        for kind, shape in (("weight", (out, into)), ("bias", out))
    }
    path = tmp_path / "p.tpk"
    pack(path, tiny, {}, "fp32")
    content = path.read_bytes()
    assert Compiled(path).sizes == [1, 1, 2]
    spoilt = [content[:length] for length in range(len(content))]
    for at in range(len(content)):
        spoilt.append(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    for wrong in spoilt:
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"policy|version|bytes"):
            Compiled(path)
