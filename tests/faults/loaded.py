"""Imports all that the scripts use, once, for a process that forks to run them.

Nothing is computed here: a process in which PyTorch has started threads must not be forked.
"""

import importlib
import re
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
LATER = (
    *("av", "cv2", "networkx", "onnxruntime", "onnxscript.function_libs.torch_lib.ops"),
    *("sklearn.feature_extraction.text", "skimage.metrics"),
    *("torch._dynamo", "torch.onnx._internal.exporter._core"),
    *("transformers.models.bert.modeling_bert", "transformers.models.roberta.modeling_roberta"),
)
"""What the library imports within functions."""

for script in SCRIPTS.glob("*/*.py"):
    for name in re.findall(r"^from (triptych[\w.]*) import", script.read_text(), re.MULTILINE):
        importlib.import_module(name)
for name in LATER:
    importlib.import_module(name)
