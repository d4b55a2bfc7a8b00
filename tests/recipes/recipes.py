"""Recipes of CONTRIBUTING.md, carried out in a checkout."""

import re
from pathlib import Path

import yaml

BOOK = Path(__file__).parents[2] / "CONTRIBUTING.md"
STEP = re.compile(
    r"^In [^`\n]*`(?P<file>[^`]+)`, (?:below `(?P<line>[^`]+)`|a new file):\n\n"
    r"```\w+\n(?P<text>.*?)```$",
    re.DOTALL | re.MULTILINE,
)


def follow(title, root):
    """Do what the section says. Returns {file: whether it is new} of the files touched."""
    section = re.split(r"^## ", BOOK.read_text(), flags=re.MULTILINE)
    (recipe,) = (each for each in section if each.startswith(f"{title}\n"))
    touched = {}
    for step in STEP.finditer(recipe):
        path = root / step["file"]
        touched[step["file"]] = step["line"] is None
        if step["line"] is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step["text"])
        else:
            lines = path.read_text().splitlines(keepends=True)
            (at,) = (n for n, line in enumerate(lines) if line.startswith(step["line"]))
            path.write_text("".join([*lines[: at + 1], step["text"], *lines[at + 1 :]]))
    return touched


def keep_alone(root, wing):
    """Take the three papers but `wing` out of a checkout, and their sections out of its config."""
    others = "|".join({"style", "audio", "rl"} - {wing})
    studies = root / "workflow_scripts" / "triptych" / "studies.py"
    kept = [
        line
        for line in studies.read_text().splitlines(keepends=True)
        if not re.match(rf' +("({others})": |from triptych\.({others})\b)', line)
    ]
    studies.write_text("".join(kept))
    for name in others.split("|"):
        for folder in ("schema", "paper"):
            (root / "config" / folder / f"{name}.yaml").unlink()
    config = yaml.safe_load((root / "config.yaml").read_text())
    own = {key: config[key] for key in ("scale", "device", wing) if key in config}
    (root / "config.yaml").write_text(yaml.safe_dump(own))
