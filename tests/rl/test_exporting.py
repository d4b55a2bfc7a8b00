"""A deployed policy acts as the library's does, without torch or triptych."""

import ctypes
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from packed_reader import unpack

from triptych.rl.acting.exporting import acting_arrays, reader
from triptych.rl.acting.inference import ActingSettings, NumpyDense, draw_latents
from triptych.rl.acting.latency import COMPILE, NATIVE, compiled_reader
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.pruning.storage import pack

STATE, ACTION, CANDIDATES = 11, 3, 7
ROUNDING = 4e-6  # of three layers in float32, whose order of summing is the processor's
SETTINGS = ActingSettings(
    max_action=1.5, phi=0.4, latent_clip_bcq=0.5, latent_clip_bc=0.25, candidates=CANDIDATES
)
DECODER = {f"vae.d{i}.{kind}" for i in (1, 2, 3) for kind in ("weight", "bias")}
ACTS = {
    "BC": DECODER,
    "BCQ": DECODER
    | {
        f"{net}.l{i}.{k}"
        for net in ("actor", "critic")
        for i in (1, 2, 3)
        for k in ("weight", "bias")
    },
}


def policy(kept: float) -> dict[str, np.ndarray]:
    """All 16 layers in torch's layout, with a random share `kept` of their weights."""
    generator = np.random.default_rng(0)
    arrays = {}
    for layer, (into, out) in Bcq.layer_shapes(
        Widths((60, 40), (60, 40), 75), STATE, ACTION
    ).items():
        weight = generator.normal(0, (2 / into / kept) ** 0.5, (out, into))
        weight *= generator.random((out, into)) < kept
        arrays[f"{layer}.weight"] = weight.astype(np.float32)
        arrays[f"{layer}.bias"] = generator.uniform(-0.1, 0.1, out).astype(np.float32)
    return arrays


def stored(
    path: Path, kept: float, algorithm: str, values="fp32", metadata=None, reach=1.0
) -> NumpyDense:
    """A packed policy, and the library's acting with what the file holds, in float64."""
    settings = asdict(SETTINGS) | {"algorithm": algorithm}
    metadata = {"settings": settings} if metadata is None else metadata
    arrays = acting_arrays(policy(kept), algorithm)
    arrays["vae.d3.weight"] *= np.float32(reach)
    pack(path, arrays, metadata, values)
    return NumpyDense(unpack(path).arrays, SETTINGS, np.float64)


def drawn(batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observations [B, S] and latents of BC [B, L] and of BCQ [B, n, L]."""
    generator = np.random.default_rng(1)
    observations = generator.standard_normal((batch, STATE), dtype=np.float32)
    bc = draw_latents(generator, (batch, 2 * ACTION), SETTINGS.latent_clip_bc)
    return observations, bc, draw_latents(generator, (batch, CANDIDATES, 2 * ACTION), 0.5)


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
        acting_arrays(policy(1.0), "TD3")


class Compiled:
    """policy.c with one policy."""

    def __init__(self, library: ctypes.CDLL, path: Path, algorithm: str) -> None:
        self.algorithm, self.library = algorithm, library
        problem = ctypes.c_char_p()
        self.policy = self.library.policy_open(str(path).encode(), ctypes.byref(problem))
        if not self.policy:
            raise ValueError(problem.value.decode())
        self.policy = ctypes.c_void_p(self.policy)

    def sizes(self) -> list[int]:
        found = [ctypes.c_int() for _ in range(3)]
        is_bcq = self.library.policy_sizes(self.policy, *map(ctypes.byref, found))
        return [is_bcq, *(each.value for each in found)]

    def __call__(self, states: np.ndarray, latents: np.ndarray) -> np.ndarray:
        def floats(array: np.ndarray) -> ctypes.c_void_p:
            return array.ctypes.data_as(ctypes.c_void_p)

        actions = np.empty((len(states), ACTION), np.float32)
        states = states.astype(np.float32)
        for state, latent, action in zip(states, latents, actions, strict=True):
            given = self.policy, floats(state), floats(latent)
            if self.algorithm == "BCQ":
                best = self.library.policy_bcq(*given, len(latent), floats(action))
                assert 0 <= best < len(latent)
            else:
                assert self.library.policy_bc(*given, floats(action)) == 0
        return actions

    def __enter__(self) -> "Compiled":
        return self

    def __exit__(self, *_: object) -> None:
        self.library.policy_close(self.policy)


@pytest.fixture
def library() -> ctypes.CDLL:
    found = compiled_reader()
    if found is None:
        pytest.skip("policy.c is tried where there is a C compiler named cc")
    found.policy_clip.restype = ctypes.c_double
    return found


def test_policy_c_compiles_without_a_warning_on_any_processor(tmp_path):
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("policy.c is tried where there is a C compiler named cc")
    (tmp_path / "policy.c").write_text(reader())
    for native in ([NATIVE], []):
        options = [*COMPILE, "-Wall", "-Wextra", "-Werror", *native]
        made = [tmp_path / "policy.c", "-o", tmp_path / "libpolicy.so", "-lm"]
        subprocess.run([compiler, *options, *made], check=True)


@pytest.mark.parametrize("values", ["fp32", "fp16"])
@pytest.mark.parametrize("kept", [0.05, 0.5, 1.0])  # whose masks are deflated, raw and all ones
@pytest.mark.parametrize("algorithm", ACTS)
def test_actions_equal_the_librarys(library, tmp_path, algorithm, kept, values):
    exact = stored(tmp_path / "p.tpk", kept, algorithm, values)
    states, bc, bcq = drawn(40)
    expected = exact.bcq(states, bcq)[0] if algorithm == "BCQ" else exact.bc(states, bc)
    assert expected.std() > 0.1
    with Compiled(library, tmp_path / "p.tpk", algorithm) as act:
        found = act(states, bcq if algorithm == "BCQ" else bc)
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)


def actor_alone(states: np.ndarray, arrays) -> np.ndarray:
    """What TD3+BC and IQL do with an observation, in float64."""
    for i in (1, 2, 3):
        states = states @ arrays[f"actor.l{i}.weight"].T.astype(float) + arrays[f"actor.l{i}.bias"]
        states = np.maximum(states, 0) if i < 3 else 1.5 * np.tanh(states)
    return states


@pytest.mark.parametrize("algorithm", ["TD3+BC", "IQL"])
def test_a_policy_without_latents_acts_by_its_actor(library, tmp_path, algorithm):
    arrays = policy(0.3)
    arrays["actor.l1.weight"] = arrays["actor.l1.weight"][:, :STATE]
    arrays["actor.log_std"] = np.zeros(ACTION, np.float32)
    kept = acting_arrays(arrays, algorithm)
    assert kept.keys() == {f"actor.l{i}.{k}" for i in (1, 2, 3) for k in ("weight", "bias")}
    settings = {"algorithm": algorithm, "max_action": 1.5}
    pack(tmp_path / "p.tpk", kept, {"settings": settings}, "fp32")
    states = drawn(20)[0]
    expected = actor_alone(states, kept)
    assert expected.std() > 0.1
    with Compiled(library, tmp_path / "p.tpk", algorithm) as act:
        found = act(states, np.zeros((20, 0), np.float32))
        assert act.sizes() == [0, STATE, ACTION, 0]
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)


def test_policy_c_refuses_every_truncation_and_flipped_byte(library, tmp_path):
    tiny = {
        f"vae.d{i}.{kind}": np.ones(shape, np.float32)
        for i, out, into in ((1, 2, 3), (2, 2, 2), (3, 1, 2))
        for kind, shape in (("weight", (out, into)), ("bias", out))
    }
    path = tmp_path / "p.tpk"
    pack(path, tiny, {}, "fp32")
    content = path.read_bytes()
    assert Compiled(library, path, "BC").sizes() == [0, 1, 1, 2]
    spoilt = [content[:length] for length in range(len(content))]
    for at in range(len(content)):
        spoilt.append(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    for wrong in spoilt:
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"policy|version|bytes"):
            Compiled(library, path, "BC")
