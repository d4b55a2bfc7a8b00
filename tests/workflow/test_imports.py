"""Which scripts import PyTorch, which takes seconds: none that can do without."""

import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
WITH_TORCH = {
    *("audio_download_checkpoint", "audio_download_passt", "audio_finetune", "audio_pretrain"),
    "audio_published",
    *("rl_latency", "rl_prune", "rl_train"),
    *("style_download_weights", "style_fetch_weights", "style_optimize"),
    *("style_quality", "style_stylize", "style_time", "style_train"),
    "style_video",
    # They resize as everything else does, by PyTorch's bicubic.
    *("style_cut_contents", "style_prepare_content", "style_prepare_painting"),
}
PROGRAM = """
import importlib, re, sys
from pathlib import Path
for name in sys.argv[1:]:
    for module in re.findall(r"^from (triptych[\\w.]*) import", Path(name).read_text(), re.M):
        importlib.import_module(module)
    heavy = {"torch", "transformers"} & set(sys.modules)
    if heavy:
        sys.exit(f"{name} imports {', '.join(sorted(heavy))}")
"""


def test_jobs_that_compute_without_pytorch_do_not_import_it():
    """Tables, figures, claims, page, lists and inputs, whatever they import."""
    others = sorted(
        {
            f"{path.parent.name}_{path.stem}"
            for path in SCRIPTS.glob("*/*.py")
            if path.parent.name != "triptych"
        }
        - WITH_TORCH
    )
    assert len(others) > 40
    paths = [name.replace("_", "/", 1) + ".py" for name in others]
    subprocess.run(
        [sys.executable, "-c", PROGRAM, *paths],
        cwd=SCRIPTS,
        env={"PYTHONPATH": str(SCRIPTS)},
        check=True,
    )
