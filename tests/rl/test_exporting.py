"""A deployed policy acts as the library's does, without torch or triptych."""

import ctypes
import hashlib
import json
import shutil
import struct
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from triptych.rl.exporting import export_onnx, reader, what_acts
from triptych.rl.inference import ActingSettings, NumpyDense, draw_latents
from triptych.rl.locomotion import Locomotion
from triptych.rl.networks import Widths, layer_shapes
from triptych.rl.storage import MAGIC, PREAMBLE, pack, unpack

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
    for layer, (into, out) in layer_shapes(Widths((60, 40), (60, 40), 75), STATE, ACTION).items():
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
    arrays = what_acts(policy(kept), algorithm)
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
    kept = what_acts(arrays, algorithm)
    assert kept.keys() == ACTS[algorithm]
    assert all(kept[name] is arrays[name] for name in kept)
    del arrays["vae.d2.bias"]
    with pytest.raises(ValueError, match=rf"policy of {algorithm} .* vae\.d2\.bias"):
        what_acts(arrays, algorithm)
    with pytest.raises(ValueError, match="'TD3'; expected one of BCQ, BC"):
        what_acts(policy(1.0), "TD3")


ALONE = """
import importlib, struct, sys
site, policy_py, path, algorithm = sys.argv[1:]
sys.path[:0] = [site, policy_py]
for name in ("torch", "triptych", "scipy", "safetensors"):
    try:
        importlib.import_module(name)
    except ImportError:
        continue
    sys.exit(f"{name} is here")
import numpy as np
from policy import Policy
policy = Policy(path)
act = policy.bcq if algorithm == "BCQ" else policy.bc
while head := sys.stdin.buffer.read(8):
    batch, floats = struct.unpack("<II", head)
    given = np.frombuffer(sys.stdin.buffer.read(4 * floats), "<f4")
    states, latents = np.split(given, [batch * policy.states])
    shape = (batch, -1, policy.latents) if algorithm == "BCQ" else (batch, policy.latents)
    actions = act(states.reshape(batch, -1), latents.reshape(shape))
    sys.stdout.buffer.write(actions.astype("<f4").tobytes())
    sys.stdout.buffer.flush()
"""


class Alone:
    """policy.py in a Python without site packages, but for links to numpy's own two folders."""

    def __init__(self, tmp_path: Path, path: Path, algorithm: str) -> None:
        site = tmp_path / "site"
        site.mkdir()
        numpy_at = Path(np.__file__).parent
        for folder in (numpy_at, numpy_at.parent / "numpy.libs"):
            if folder.exists():
                (site / folder.name).symlink_to(folder)
        (tmp_path / "policy.py").write_text(reader("policy.py"))
        command = [sys.executable, "-I", "-S", "-c", ALONE, site, tmp_path, path, algorithm]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, states: np.ndarray, latents: np.ndarray) -> np.ndarray:
        given = states.astype("<f4").tobytes() + latents.astype("<f4").tobytes()
        self.process.stdin.write(struct.pack("<II", len(states), len(given) // 4) + given)
        self.process.stdin.flush()
        actions = self.process.stdout.read(4 * len(states) * ACTION)
        return np.frombuffer(actions, "<f4").reshape(len(states), ACTION)

    def __enter__(self) -> "Alone":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()


class Compiled:
    """policy.c, compiled as its head says."""

    def __init__(self, library: Path, path: Path, algorithm: str) -> None:
        self.algorithm, self.library = algorithm, ctypes.CDLL(library)
        self.library.policy_open.restype = ctypes.c_void_p
        self.library.policy_clip.restype = ctypes.c_double
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


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("policy.c is tried where there is a C compiler named cc")
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "policy.c").write_text(reader("policy.c"))
    options = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    made = folder / "libpolicy.so"
    subprocess.run([compiler, *options, folder / "policy.c", "-o", made, "-lm"], check=True)
    return made


@pytest.fixture(params=["policy.py", "policy.c"])
def deployed(request, tmp_path):
    """A packed file and an algorithm to one that acts with it."""
    if request.param == "policy.py":
        return lambda path, algorithm: Alone(tmp_path, path, algorithm)
    library = request.getfixturevalue("library")
    return lambda path, algorithm: Compiled(library, path, algorithm)


@pytest.mark.parametrize("values", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize("kept", [0.05, 0.5, 1.0])  # whose masks are deflated, raw and all ones
@pytest.mark.parametrize("algorithm", ACTS)
def test_actions_equal_the_librarys(deployed, tmp_path, algorithm, kept, values):
    library = stored(tmp_path / "p.tpk", kept, algorithm, values)
    states, bc, bcq = drawn(40)
    expected = library.bcq(states, bcq)[0] if algorithm == "BCQ" else library.bc(states, bc)
    assert expected.std() > 0.1
    with deployed(tmp_path / "p.tpk", algorithm) as act:
        found = act(states, bcq if algorithm == "BCQ" else bc)
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)


def by_hand(arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """int8 once more, a weight at a time: the nearest of 255 steps up to an output's largest, after
    each input was divided by its own largest."""
    rounded = {name: torch.tensor(array) for name, array in arrays.items()}
    for name, weight in rounded.items():
        if name.endswith("weight"):
            reaches = [np.float32(column.abs().max()) for column in weight.T]
            for row in weight:
                parts = [np.float32(w) / r if r else 0 for w, r in zip(row, reaches, strict=True)]
                step = np.float32(max(map(abs, parts))) / np.float32(127)
                for i, (part, reach) in enumerate(zip(parts, reaches, strict=True)):
                    row[i] = float(round(part / step) * step * reach) if step else 0.0
    return rounded


@pytest.mark.parametrize("algorithm", ACTS)
def test_int8_acts_as_weights_rounded_by_hand_do_in_torch(deployed, tmp_path, algorithm):
    import onnxruntime

    stored(tmp_path / "p.tpk", 0.3, algorithm, "int8")
    weights = by_hand(what_acts(policy(0.3), algorithm))
    assert sum(int((w != 0).sum()) for w in weights.values()) < sum(
        np.count_nonzero(w) for w in what_acts(policy(0.3), algorithm).values()
    )  # some weights round to 0, so that no code of theirs is kept

    def network(name: str, first: str, *inputs: torch.Tensor) -> torch.Tensor:
        x = torch.cat(inputs, -1)
        for i in (1, 2, 3):
            layer = f"{name}.{first}{i}"
            x = torch.nn.functional.linear(x, weights[f"{layer}.weight"], weights[f"{layer}.bias"])
            x = x if i == 3 else x.relu()
        return x

    states, bc, bcq = (torch.tensor(each) for each in drawn(40))
    if algorithm == "BC":
        expected = 1.5 * network("vae", "d", states, bc).tanh()
    else:
        repeated = states[:, None].expand(-1, CANDIDATES, -1)
        actions = 1.5 * network("vae", "d", repeated, bcq).tanh()
        actions = actions + 0.4 * 1.5 * network("actor", "l", repeated, actions).tanh()
        actions = actions.clamp(-1.5, 1.5)
        best = network("critic", "l", repeated, actions)[..., 0].argmax(1)
        expected = actions[torch.arange(40), best]
    latents = (bcq if algorithm == "BCQ" else bc).numpy()
    with deployed(tmp_path / "p.tpk", algorithm) as act:
        np.testing.assert_allclose(act(states.numpy(), latents), expected, atol=ROUNDING, rtol=0)
    export_onnx(tmp_path / "p.onnx", policy(0.3), SETTINGS, algorithm, "int8")
    session = onnxruntime.InferenceSession(tmp_path / "p.onnx", providers=["CPUExecutionProvider"])
    for state, latent, action in zip(states, latents, expected, strict=True):
        given = {"observation": state[None].numpy(), "latent": latent.reshape(-1, 2 * ACTION)}
        np.testing.assert_allclose(session.run(None, given)[0][0], action, atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("values", ["fp32", "int8"])
@pytest.mark.parametrize("algorithm", ACTS)
def test_an_episode_of_hopper_has_the_librarys_return(deployed, tmp_path, algorithm, values):
    # Small actions: it stands longer.
    library = stored(tmp_path / "p.tpk", 0.1, algorithm, values, reach=0.1)
    _, bc, bcq = drawn(1000)
    latents = bcq if algorithm == "BCQ" else bc

    def episode(act) -> tuple[float, int]:
        world = Locomotion("hopper", 1)
        observed, total = world.reset([3]), 0.0
        for step in range(1000):
            actions = act(observed.astype(np.float32), latents[step : step + 1])
            observed, reward, ended = world.step(actions)
            total += float(reward[0])
            if ended[0]:
                break
        return total, step

    expected, steps = episode(
        (lambda s, z: library.bcq(s, z)[0]) if algorithm == "BCQ" else library.bc
    )
    assert steps > 10
    with deployed(tmp_path / "p.tpk", algorithm) as act:
        total, same = episode(act)
    assert (total, same) == (pytest.approx(expected, rel=1e-4), steps)


def actor_alone(states: np.ndarray, arrays) -> np.ndarray:
    """What TD3+BC and IQL do with an observation, in float64."""
    for i in (1, 2, 3):
        states = states @ arrays[f"actor.l{i}.weight"].T.astype(float) + arrays[f"actor.l{i}.bias"]
        states = np.maximum(states, 0) if i < 3 else 1.5 * np.tanh(states)
    return states


@pytest.mark.parametrize("algorithm", ["TD3+BC", "IQL"])
def test_a_policy_without_latents_acts_by_its_actor(deployed, tmp_path, algorithm):
    import onnxruntime

    arrays = policy(0.3)
    arrays["actor.l1.weight"] = arrays["actor.l1.weight"][:, :STATE]
    arrays["actor.log_std"] = np.zeros(ACTION, np.float32)
    kept = what_acts(arrays, algorithm)
    assert kept.keys() == {f"actor.l{i}.{k}" for i in (1, 2, 3) for k in ("weight", "bias")}
    settings = {"algorithm": algorithm, "max_action": 1.5}
    pack(tmp_path / "p.tpk", kept, {"settings": settings}, "fp32")
    states = drawn(20)[0]
    expected = actor_alone(states, kept)
    assert expected.std() > 0.1
    with deployed(tmp_path / "p.tpk", algorithm) as act:
        found = act(states, np.zeros((20, 0), np.float32))
        assert not isinstance(act, Compiled) or act.sizes() == [0, STATE, ACTION, 0]
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)
    export_onnx(tmp_path / "p.onnx", arrays, SETTINGS, algorithm)
    session = onnxruntime.InferenceSession(tmp_path / "p.onnx", providers=["CPUExecutionProvider"])
    found = session.run(["action"], {"observation": states})[0]
    np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)


@pytest.mark.parametrize(("algorithm", "clip"), [("BC", 0.25), ("BCQ", 0.5)])
def test_a_file_says_how_it_acts_and_without_settings_sfujims_values_hold(
    library, tmp_path, algorithm, clip
):
    namespace: dict = {"__name__": "policy"}
    exec(reader("policy.py"), namespace)
    for metadata, limit, candidates in ((None, 1.5, CANDIDATES), ({}, 1.0, 100)):
        stored(tmp_path / "p.tpk", 0.3, algorithm, metadata=metadata)
        found = namespace["Policy"](tmp_path / "p.tpk")
        sizes = [found.algorithm == "BCQ", found.states, found.actions, found.latents]
        assert sizes == [algorithm == "BCQ", STATE, ACTION, 2 * ACTION]
        assert (found.latent_clip, found.max_action, found.candidates) == (clip, limit, candidates)
        states = drawn(5)[0]
        generator = np.random.default_rng(4)
        shape = (5, candidates, 6) if algorithm == "BCQ" else (5, 6)
        latents = draw_latents(np.random.default_rng(4), shape, clip)
        expected = (found.bcq if algorithm == "BCQ" else found.bc)(states, latents)
        np.testing.assert_array_equal(found.act(states, generator), expected)
        with Compiled(library, tmp_path / "p.tpk", algorithm) as compiled:
            assert compiled.sizes() == sizes
            assert compiled.library.policy_clip(compiled.policy) == clip
            np.testing.assert_allclose(compiled(states, latents), expected, atol=ROUNDING, rtol=0)


def test_both_readers_refuse_every_truncation_and_flipped_byte(library, tmp_path):
    namespace: dict = {"__name__": "policy"}
    exec(reader("policy.py"), namespace)
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
        for read in (namespace["Policy"], lambda path: Compiled(library, path, "BC")):
            with pytest.raises(ValueError, match=r"policy|version|bytes"):
                read(path)


@pytest.mark.parametrize("values", ["fp32", "int8"])
def test_policy_c_refuses_headers_that_do_not_fit_their_payload(library, tmp_path, values):
    """With a right digest; none of these may read or write beyond its memory."""
    path = tmp_path / "p.tpk"
    stored(path, 0.05, "BCQ", values)
    content = path.read_bytes()
    length = struct.unpack_from("<I", content, 12)[0]
    header, payload = json.loads(content[56 : 56 + length]), content[56 + length :]
    for key, value in (
        ("shape", [10**6, 10**6]),
        ("shape", [1, 1]),
        ("shape", [-3, 4]),
        ("shape", "no"),
        ("values", 10**12),
        ("values", 1),
        ("mask_bytes", 10**12),
        ("mask_bytes", 8),
        ("mask", "raw"),
        ("mask", "lzma"),
        ("name", "else"),
    ):
        arrays = [dict(entry) for entry in header["arrays"]]
        arrays[0][key] = value
        text = json.dumps(header | {"arrays": arrays}).encode()
        text += b" " * (-len(text) % 8)
        digest = hashlib.sha256(text + payload).digest()
        start = PREAMBLE.pack(MAGIC, 1, len(text), len(payload), digest)
        path.write_bytes(start + text + payload)
        with pytest.raises(ValueError, match=r"array|payload|weight|mask|lacks|fit|bias"):
            Compiled(library, path, "BCQ")


@pytest.mark.parametrize("values", ["fp32", "int8"])
@pytest.mark.parametrize("kept", [0.01, 0.05, 1.0])  # 0.01 leaves no unit of some layers
@pytest.mark.parametrize("algorithm", ACTS)
def test_onnx_acts_as_the_library_does(tmp_path, algorithm, kept, values):
    import onnxruntime

    export_onnx(tmp_path / "p.onnx", policy(kept), SETTINGS, algorithm, values)
    session = onnxruntime.InferenceSession(tmp_path / "p.onnx", providers=["CPUExecutionProvider"])
    library = stored(tmp_path / "p.tpk", kept, algorithm, values)
    weights = (tmp_path / "p.onnx").stat().st_size
    dense = (4 if values == "fp32" else 1) * sum(
        array.size for array in unpack(tmp_path / "p.tpk").arrays.values() if array.ndim == 2
    )
    assert weights > dense if kept == 1 else weights < dense / 2  # units that act, alone
    states, bc, bcq = drawn(20)

    def act(states: np.ndarray, latents: np.ndarray) -> np.ndarray:
        return session.run(["action"], {"observation": states, "latent": latents})[0]

    if algorithm == "BC":
        for batch in (1, 20):
            found = act(states[:batch], bc[:batch])
            expected = library.bc(states[:batch], bc[:batch])
            np.testing.assert_allclose(found, expected, atol=ROUNDING, rtol=0)
    else:
        expected = library.bcq(states, bcq)[0]
        for b in range(20):
            np.testing.assert_allclose(
                act(states[b : b + 1], bcq[b])[0], expected[b], atol=ROUNDING
            )
