"""What a folder of one's own holds: a small Snakefile, a config to edit, profiles."""

import shutil
from pathlib import Path

from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.source import SOURCE

SNAKEFILE = '''\
"""A study of one's own: Triptych's workflow, with this folder's config laid over the demo's.

triptych demo                       everything, as config.yaml says
snakemake --cores 8 rl_table1       one table
snakemake --list-target-rules       the table of contents
"""

from triptych.core.source import SNAKEFILE


configfile: "config.yaml"


module triptych:
    snakefile:
        SNAKEFILE
    config:
        config


use rule * from triptych
'''


def begin(folder: Path) -> list[str]:
    """Write what a person edits, and which files these are: names in `folder`, which is made.

    Raises InputError where one of them is there already, and writes nothing then.
    """
    if not (SOURCE / "Snakefile").is_file():
        raise InputError(
            f"there is no workflow in {SOURCE}: this library was installed without it. "
            "Install the wheel of Triptych, or use a checkout (docs/travel.md)"
        )
    texts = {"Snakefile": SNAKEFILE, "config.yaml": (SOURCE / "config/config.yaml").read_text()}
    if there := [name for name in (*texts, "profiles") if (folder / name).exists()]:
        raise InputError(
            f"{folder} has {' and '.join(there)} already, and nothing is overwritten: "
            "name a new folder, or remove what is there"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with atomic_path(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    shutil.copytree(SOURCE / "profiles", folder / "profiles")
    return [*texts, "profiles/"]
