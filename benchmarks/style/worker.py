"""One side of the bench, in a process of its own: `python -m` this module, and the side.

Tasks are [name, size, width].
"""

import os
import sys
import tempfile

from benchmarks.style.inputs import DEVICE
from benchmarks.style.ours import Ours
from benchmarks.style.plain_sides import Plain
from benchmarks.worker import answer_tasks

SIDES: dict[str, Plain | Ours] = {
    "plain": Plain(compiled=False, bf16=False),
    "compiled": Plain(compiled=True, bf16=False),
    "plain bf16": Plain(compiled=False, bf16=True),
    "compiled bf16": Plain(compiled=True, bf16=True),
    "float32": Ours("float32"),
    "bf16": Ours("bf16"),
}


if __name__ == "__main__":
    side = SIDES[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        # What an earlier run compiled would make this one's first call look quick.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        answer_tasks(side, DEVICE, (), ours=isinstance(side, Ours))
