"""Kernels agree with one another and with closed forms; the latency table says what it should."""

import numpy as np
import pytest
import torch

from triptych.rl.acting import latency
from triptych.rl.acting.inference import ActingSettings, draw_latents
from triptych.rl.acting.latency import kernels_of, latency_table, prepared, pruned_policy
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths

STATE, ACTION = 11, 3
WIDTHS = Widths(actor=(60, 40), critic=(60, 40), vae=75)
SETTINGS = ActingSettings(
    max_action=1.5, phi=0.05, latent_clip_bcq=0.5, latent_clip_bc=0.25, candidates=12
)
KERNELS = ("torch dense", "numpy dense", "torch CSR", "policy.c")


def policy(kept: float, seed: int = 0, widths: Widths = WIDTHS) -> dict[str, np.ndarray]:
    """A policy in torch's layout that keeps a random share `kept` of its weights."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for layer, (inputs, outputs) in Bcq.layer_shapes(widths, STATE, ACTION).items():
        bound = inputs**-0.5
        weight = generator.uniform(-bound, bound, (outputs, inputs))
        weight *= generator.random((outputs, inputs)) < kept
        arrays[f"{layer}.weight"] = weight.astype(np.float32)
        arrays[f"{layer}.bias"] = generator.uniform(-bound, bound, outputs).astype(np.float32)
    return arrays


def observations(batch: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((batch, STATE)).astype(np.float32)


def mlp(arrays: dict[str, np.ndarray], layers: tuple[str, ...], x: torch.Tensor) -> torch.Tensor:
    """nn.Linear and nn.ReLU in float64: the reference that shares no code with the library."""
    modules: list[torch.nn.Module] = []
    for layer in layers:
        weight = torch.tensor(arrays[f"{layer}.weight"]).double()
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0]).double()
        linear.weight.data, linear.bias.data = (
            weight,
            torch.tensor(arrays[f"{layer}.bias"]).double(),
        )
        modules += [linear, torch.nn.ReLU()]
    with torch.no_grad():
        return torch.nn.Sequential(*modules[:-1])(x.double())


@pytest.mark.parametrize("kept", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("batch", [1, 33])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_equals_torch_modules_in_float64(kernel, batch, kept):
    arrays = policy(kept)
    acting = kernels_of(arrays, SETTINGS)[kernel]
    states, generator = observations(batch), np.random.default_rng(2)
    s = torch.tensor(states)

    drawn = generator.uniform(-1, 1, (batch, ACTION)).astype(np.float32)
    inputs = np.concatenate((states, drawn), axis=1)
    expected = (
        0.05 * 1.5 * mlp(arrays, ("actor.l1", "actor.l2", "actor.l3"), torch.tensor(inputs)).tanh()
    )
    np.testing.assert_allclose(prepared(acting, "actor", inputs)(), expected, atol=1e-6, rtol=0)

    latents = draw_latents(generator, (batch, 2 * ACTION), 0.25)
    decoder = ("vae.d1", "vae.d2", "vae.d3")
    expected = 1.5 * mlp(arrays, decoder, torch.cat((s, torch.tensor(latents)), 1)).tanh()
    np.testing.assert_allclose(
        prepared(acting, "BC policy", states, latents)(), expected, atol=1e-6, rtol=0
    )

    latents = draw_latents(generator, (batch, 12, 2 * ACTION), 0.5)
    actions, chosen = prepared(acting, "BCQ policy", states, latents)()
    for b in range(batch):
        repeated = s[b].expand(12, -1)
        z = torch.tensor(latents[b])
        a = 1.5 * mlp(arrays, decoder, torch.cat((repeated, z), 1)).tanh()
        x = torch.cat((repeated, a), 1)
        a = a + 0.05 * 1.5 * mlp(arrays, ("actor.l1", "actor.l2", "actor.l3"), x).tanh()
        a = a.clamp(-1.5, 1.5)
        x = torch.cat((repeated, a), 1)
        q = mlp(arrays, ("critic.l1", "critic.l2", "critic.l3"), x)[:, 0]
        assert q[chosen[b]] >= q.max() - 1e-6
        np.testing.assert_allclose(actions[b], a[chosen[b]], atol=1e-6, rtol=0)


def test_latency_table_has_every_kernel_part_and_batch_once():
    table = latency_table(policy(0.05), SETTINGS, observations(50), [1, 10], repeats=3)
    cells = table.set_index(["part", "kernel", "batch"])
    assert cells.index.is_unique
    assert len(cells) == 3 * len(KERNELS) * 2
    assert (table["microseconds_minimum"] <= table["microseconds_median"]).all()
    assert (table["microseconds_minimum"] > 0).all() and (table["repeats"] == 3).all()
    assert table["maximum_difference"].between(1e-12, 1e-6).all()
    assert set(table.loc[table["part"] == "BCQ policy", "candidates"]) == {12}
    assert set(table.loc[table["part"] != "BCQ policy", "candidates"]) == {1}


def test_without_a_c_compiler_policy_c_is_left_out_and_said(monkeypatch, caplog):
    monkeypatch.setattr(latency.shutil, "which", lambda name: None)
    latency.compiled_reader.cache_clear()
    try:
        assert set(kernels_of(policy(0.1), SETTINGS)) == set(KERNELS) - {"policy.c"}
    finally:
        latency.compiled_reader.cache_clear()
    assert "no C compiler named cc" in caplog.text


def test_a_pruned_policy_is_its_initialisation_times_its_mask_in_torchs_layout():
    generator = np.random.default_rng(0)
    initial = {name: v[0].numpy() for name, v in Bcq.initialise(WIDTHS, STATE, ACTION, [4]).items()}
    mask = generator.random(initial["vae.d2.weight"].shape) < 0.3
    arrays = pruned_policy(initial, {"vae.d2.weight": mask})
    assert np.array_equal(arrays["vae.d2.weight"], (initial["vae.d2.weight"] * mask).T)
    assert np.array_equal(arrays["vae.d1.weight"], initial["vae.d1.weight"].T)
