"""policy.c on files whose digest is right and whose header or payload is not."""

import hashlib
import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from triptych.rl.pruning.storage import MAGIC, PREAMBLE, VERSION, pack

READER = Path(__file__).parents[2] / "workflow_scripts/triptych/rl/acting/readers"
DRIVER = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy.h"
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *problem;
        int states, actions, latents;
        struct policy *p = policy_open(argv[i], &problem);
        if (!p) { printf("%s\n", problem); continue; }
        int is_bcq = policy_sizes(p, &states, &actions, &latents);
        float *state = calloc((size_t)states, 4), *action = calloc((size_t)actions, 4);
        float *latent = calloc((size_t)latents * 3 + 1, 4);
        if (is_bcq) policy_bcq(p, state, latent, 3, action);
        else policy_bc(p, state, latents ? latent : NULL, action);
        printf("opened %d\n", isfinite(policy_clip(p)) && policy_clip(p) > 0);
        free(state), free(action), free(latent), policy_close(p);
    }
    return 0;
}
"""
SANITIZERS = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
NUMBERS = b"0e999 1e999 -1 4.5 1e400 00 +1 0x4 nan null [] - 1e 1. 16385 2147483647".split()
NUMBERS += [b"", b"4294967297", b"18446744073709551617"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> Path:
    """The reader and a program that acts once with each file, under the sanitizers."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("policy.c is tried where there is a C compiler named cc")
    folder = tmp_path_factory.mktemp("driver")
    shutil.copytree(READER, folder, dirs_exist_ok=True)
    (folder / "driver.c").write_text(DRIVER)
    made = subprocess.run(
        [compiler, "-std=c99", *SANITIZERS, "driver.c", "policy.c", "-o", "driver", "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if "cannot find" in made.stderr:  # a compiler without its sanitizers' libraries
        pytest.skip("the compiler has no sanitizers")
    assert made.returncode == 0, made.stderr
    return folder / "driver"


def answers(driver: Path, files: list[Path]) -> list[str]:
    """A line for each file; fails with the sanitizers' report."""
    found = subprocess.run([driver, *files], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[:3000]
    return found.stdout.splitlines()


def sealed(header: bytes, payload: bytes) -> bytes:
    """A file with a right digest."""
    header += b" " * (-len(header) % 8)
    payload += b"\0" * (-len(payload) % 8)
    digest = hashlib.sha256(header + payload).digest()
    return PREAMBLE.pack(MAGIC, VERSION, len(header), len(payload), digest) + header + payload


def originals(folder: Path) -> list[tuple[bytes, bytes]]:
    """Headers and payloads of small policies of three algorithms, in fp32 and fp16."""
    random = np.random.default_rng(0)
    shapes = {
        "BC": {"vae.d": [(5, 4), (4, 4), (4, 1)]},
        "IQL": {"actor.l": [(3, 40), (40, 40), (40, 2)]},
        "BCQ": {
            "vae.d": [(5, 4), (4, 4), (4, 1)],
            "actor.l": [(4, 20), (20, 20), (20, 1)],
            "critic.l": [(4, 20), (20, 20), (20, 1)],
        },
    }
    found = []
    for algorithm, networks in shapes.items():
        for values in ("fp32", "fp16"):
            arrays = {}
            for network, layers in networks.items():
                for i, (inputs, outputs) in enumerate(layers, 1):
                    weight = random.normal(size=(outputs, inputs)).astype(np.float32)
                    weight[random.random(weight.shape) < 0.9 * (inputs > 5)] = 0
                    arrays[f"{network}{i}.weight"] = weight
                    arrays[f"{network}{i}.bias"] = random.normal(size=outputs).astype(np.float32)
            settings = {"algorithm": algorithm, "max_action": 1.5, "latent_clip_bc": 0.25}
            if algorithm == "BC":
                settings |= {"action_low": [-2.0], "action_high": [2.5]}
            pack(folder / "original.tpk", arrays, {"settings": settings}, values)
            content = (folder / "original.tpk").read_bytes()
            (size,) = struct.unpack_from("<I", content, 12)
            found.append((content[56 : 56 + size].rstrip(), content[56 + size :]))
    assert any(b'"zlib"' in header for header, _ in found)
    return found


def test_mutated_files_are_refused_or_acted_with_and_touch_no_memory_of_others(driver, tmp_path):
    count, random = 400, np.random.default_rng(400)
    known = originals(tmp_path)
    files = []
    for i in range(count):
        header, payload = map(bytearray, known[random.integers(len(known))])
        for _ in range(random.integers(1, 4)):
            kind = random.integers(5)
            spans = [match.span() for match in re.finditer(rb"-?\d+(\.\d+)?", header)]
            if not spans or not payload:
                break
            if kind == 0:  # a number that is another, or none
                first, end = spans[random.integers(len(spans))]
                header[first:end] = NUMBERS[random.integers(len(NUMBERS))]
            elif kind == 1:  # a piece that is gone, or there twice
                first, end = sorted(random.integers(len(header), size=2))
                header[first:end] = header[first:end] * random.integers(3)
            elif kind == 2:
                header[random.integers(len(header))] = random.integers(256)
            elif kind == 3:
                payload[random.integers(len(payload))] = random.integers(256)
            else:
                del payload[random.integers(len(payload)) :]
        files.append(tmp_path / f"{i}.tpk")
        files[-1].write_bytes(sealed(bytes(header), bytes(payload)))
    lines = answers(driver, files)
    refused = [line for line in lines if line != "opened 1"]
    assert not [line for line in refused if line.startswith("opened")]
    assert len(lines) == count and count / 2 < len(refused) < count  # some mutations leave a policy
