"""What pyproject.toml can't say: the wheel holds the whole workflow.

It lies in the folder triptych_workflow, laid out as here, with the library in it, and a .pth file
by which Python finds the library there, as in an editable install.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
FOLDER = "triptych_workflow"
NAMES = ("Snakefile", "config.yaml", "config", "rules", "envs", "profiles", "resources", "docs")
NAMES += ("report",)


class WithWorkflow(build_py):
    """Moves the library into the workflow's folder; an editable install is left as it is."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)  # of an earlier build
        super().run()
        built = Path(self.build_lib)
        workflow = built / FOLDER
        scripts = workflow / "workflow_scripts"
        scripts.mkdir(parents=True)
        (built / "triptych").rename(scripts / "triptych")
        for script in (HERE / "workflow_scripts").glob("*/*.py"):
            if script.parent.name != "triptych":
                (scripts / script.parent.name).mkdir(exist_ok=True)
                shutil.copy(script, scripts / script.parent.name)
        for name in NAMES:
            copy = shutil.copytree if (HERE / name).is_dir() else shutil.copy
            copy(HERE / name, workflow / name)
        (built / "triptych.pth").write_text(f"{FOLDER}/workflow_scripts\n")


setup(cmdclass={"build_py": WithWorkflow})
