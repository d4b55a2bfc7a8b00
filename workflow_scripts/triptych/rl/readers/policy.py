"""Act with a policy that `triptych policy export` wrote. This file needs numpy and nothing else.

    import numpy as np
    from policy import Policy

    policy = Policy("hopper.tpk")
    generator = np.random.default_rng(0)
    actions = policy.act(observations, generator)  # [B, S] -> [B, A]

Observations are those of the environment, not normalised. `bc` and `bcq` take latents that you drew
yourself: standard normal, clipped to +-`latent_clip`. `python policy.py FILE` says what a file
holds and how long an act takes. The format is docs/packed-format.md of Triptych.
"""

import hashlib
import json
import struct
import sys
import time
import zlib
from typing import Any

import numpy as np

MAGIC = b"\x89TPK\r\n\x1a\n"
LAYERS = {
    "decoder": ("vae.d1", "vae.d2", "vae.d3"),
    "actor": ("actor.l1", "actor.l2", "actor.l3"),
    "critic": ("critic.l1", "critic.l2", "critic.l3"),
}


class Policy:
    """The networks of a packed file that act, as dense float32 matrices.

    algorithm: "BCQ", or "BC", for which the decoder alone is needed, or another, whose actor does
    what a decoder does, of no latents. states, actions, latents: the sizes S, A and L. candidates:
    actions that BCQ chooses among.
    """

    def __init__(self, path: str) -> None:
        """Read a file. Raises ValueError for one that is not whole, or has no network that acts."""
        with open(path, "rb") as stream:
            arrays, metadata = read(stream.read())
        self._networks = {
            network: [(arrays[f"{layer}.weight"].T, arrays[f"{layer}.bias"]) for layer in layers]
            for network, layers in LAYERS.items()
            if all(f"{layer}.weight" in arrays for layer in layers)
        }
        settings = metadata.get("settings", {})
        complete = len(self._networks) == len(LAYERS)
        self.algorithm = settings.get("algorithm", "BCQ" if complete else "BC")
        self.latents = 2
        if self.algorithm not in ("BC", "BCQ") and "actor" in self._networks:
            self._networks["decoder"], self.latents = self._networks["actor"], 0
        if "decoder" not in self._networks or (self.algorithm == "BCQ" and not complete):
            raise ValueError(f"{path} lacks networks that {self.algorithm} acts with")
        self.max_action = settings.get("max_action", 1.0)
        self.phi = settings.get("phi", 0.05)
        self.candidates = settings.get("candidates", 100)
        clips = settings.get("latent_clip_bc", 0.25), settings.get("latent_clip_bcq", 0.5)
        self.latent_clip = clips[self.algorithm == "BCQ"]
        self.actions = len(self._networks["decoder"][2][1])
        self.latents *= self.actions
        self.states = len(self._networks["decoder"][0][0]) - self.latents

    def act(self, observations: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Actions [B, A] for observations [B, S], with latents from `generator`."""
        observations = np.asarray(observations, np.float32)
        candidates = (self.candidates,) if self.algorithm == "BCQ" else ()
        shape = (len(observations), *candidates, self.latents)
        latents = generator.standard_normal(shape, dtype=np.float32)
        latents = latents.clip(-self.latent_clip, self.latent_clip)
        return (self.bcq if candidates else self.bc)(observations, latents)

    def bc(self, observations: np.ndarray, latents: np.ndarray) -> np.ndarray:
        """Decode: observations [B, S] and latents [B, L] to actions [B, A]."""
        return self.max_action * np.tanh(self._network("decoder", observations, latents))

    def bcq(self, observations: np.ndarray, latents: np.ndarray) -> np.ndarray:
        """Decode latents [B, n, L], perturb, and take the action of the highest Q1: [B, A]."""
        batch, n, _ = latents.shape
        states = np.repeat(observations, n, axis=0)
        actions = self.bc(states, latents.reshape(batch * n, -1))
        shift = np.tanh(self._network("actor", states, actions))
        actions = actions + self.phi * self.max_action * shift
        actions = actions.clip(-self.max_action, self.max_action)
        best = self._network("critic", states, actions).reshape(batch, n).argmax(axis=1)
        return actions.reshape(batch, n, -1)[np.arange(batch), best]

    def _network(self, name: str, *inputs: np.ndarray) -> np.ndarray:
        x = np.concatenate(inputs, axis=1).astype(np.float32, copy=False)
        (w1, b1), (w2, b2), (w3, b3) = self._networks[name]
        x = np.maximum(x @ w1 + b1, 0)
        return np.maximum(x @ w2 + b2, 0) @ w3 + b3


def read(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a packed file's bytes.

    Raises ValueError where they are not as the format's page says.
    """
    if len(content) < 56 or content[:8] != MAGIC:
        raise ValueError("not a packed policy: it does not begin as one")
    version, header_bytes, payload_bytes = struct.unpack_from("<IIQ", content, 8)
    if version != 1:
        raise ValueError(f"version {version} of the format; this reader knows 1")
    whole = len(content) == 56 + header_bytes + payload_bytes
    if not whole or hashlib.sha256(content[56:]).digest() != content[24:56]:
        raise ValueError("its bytes are not those that were written")
    header = json.loads(content[56 : 56 + header_bytes])
    weights = np.dtype({"fp32": "<f4", "fp16": "<f2", "int8": "i1"}[header["values"]])
    others = np.dtype("<f2" if header["values"] == "fp16" else "<f4")
    position, arrays = 56 + header_bytes, {}
    for entry in header["arrays"]:
        shape, kind, scales = entry["shape"], others, None
        kept = np.ones(int(np.prod(shape)), bool)
        if "mask" in entry:
            kind = weights
            block = content[position : position + entry["mask_bytes"]]
            position += -(-entry["mask_bytes"] // 8) * 8
            bits = zlib.decompress(block) if entry["mask"] == "zlib" else block
            kept = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
            kept = kept[: np.prod(shape)].astype(bool)
            if kind.itemsize == 1:
                scales = np.frombuffer(content, "<f4", shape[0] + np.prod(shape[1:]), position)
                position += -(-scales.nbytes // 8) * 8
        values = np.frombuffer(content, kind, entry["values"], position)
        position += -(-values.nbytes // 8) * 8
        array = np.zeros(kept.size, np.float32)
        array[kept] = values
        array = array.reshape(shape)
        if scales is not None:
            outputs, inputs = np.split(scales, [shape[0]])
            array *= outputs.reshape(-1, *(1,) * (len(shape) - 1))
            array *= inputs.reshape(shape[1:])
        if not np.isfinite(array).all():
            raise ValueError(f"{entry['name']} holds NaN or infinity")
        arrays[entry["name"]] = array
    return arrays, header["metadata"]


def _describe(path: str) -> None:
    policy, generator = Policy(path), np.random.default_rng(0)
    print(f"{policy.algorithm}: {policy.states} observations, {policy.actions} actions")
    observation = generator.standard_normal((1, policy.states), dtype=np.float32)
    seconds = []
    for _ in range(200):
        began = time.perf_counter()
        policy.act(observation, generator)
        seconds.append(time.perf_counter() - began)
    print(f"{1e6 * np.median(seconds):.1f} microseconds an act, drawing its latents included")


if __name__ == "__main__":
    _describe(sys.argv[1])
