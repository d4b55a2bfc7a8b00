"""Write envs/*.yaml: for each study the packages it imports, pinned as in requirements-dev.lock.

Run it with `make envs` after `make lock`. Each file pins Python and, through pip, every package
that those of PACKAGES need, in the very versions of the lock.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "3.11"

PACKAGES = {
    "audio": [
        "av",
        "jinja2",
        "markdown-it-py",
        "matplotlib",
        "numpy",
        "pandas",
        "pillow",
        "py7zr",
        "requests",
        "safetensors",
        "scikit-learn",
        "scipy",
        "soundfile",
        "soxr",
        "tokenizers",
        "torch",
        "tqdm",
        "transformers",
    ],
    "captions": ["numpy", "openai", "pandas", "tqdm"],
    "rl": [
        "gymnasium",
        "h5py",
        "imageio",
        "matplotlib",
        "mujoco",
        "numpy",
        "packaging",
        "pandas",
        "safetensors",
        "torch",
        "tqdm",
    ],
    "style": [
        "av",
        "h5py",
        "numpy",
        "onnx",
        "onnxruntime",
        "onnxscript",
        "opencv-python-headless",
        "pandas",
        "pillow",
        "requests",
        "safetensors",
        "scikit-image",
        "scikit-learn",
        "scipy",
        "tifffile",
        "torch",
        "torchvision",
        "tqdm",
    ],
    "report": [
        "jinja2",
        "jsonschema",
        "markdown-it-py",
        "matplotlib",
        "numpy",
        "pandas",
        "pillow",
        "pyyaml",
        "scipy",
    ],
    "download": ["requests", "tqdm"],
    "minari": ["gymnasium", "h5py", "minari[hdf5,hf]", "numpy"],
    # What runs Snakemake itself, for a machine that has conda and nothing else.
    "workflow": ["jsonschema", "pandas", "pyyaml", "snakemake", "snakemake-executor-plugin-slurm"],
}


def pins(packages: list[str]) -> list[str]:
    """`packages` and all they need as name==version, from the lock alone."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header"]
    command += ["--no-annotate", "--no-emit-index-url", "--python-version", PYTHON]
    command += ["--constraints", str(ROOT / "requirements-dev.lock"), "-"]
    compiled = subprocess.run(
        command, input="\n".join(packages), capture_output=True, text=True, check=True
    )
    return [line for line in compiled.stdout.splitlines() if line and not line.startswith("-")]


def environment(packages: list[str]) -> str:
    """The text of a conda environment file."""
    lines = ["# Written by make envs from requirements-dev.lock.", "channels:", "  - conda-forge"]
    lines += ["  - nodefaults", "dependencies:", f"  - python={PYTHON}", "  - pip", "  - pip:"]
    lines += [f"      - {pin}" for pin in pins(packages)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name, wanted in PACKAGES.items():
        (ROOT / "envs" / f"{name}.yaml").write_text(environment(wanted), encoding="utf-8")
