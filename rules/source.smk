"""Where the workflow's own files lie: the folder of this checkout, wherever snakemake runs.

Snakemake reads rules and scripts from anywhere, and a git repository too (github(...), gitfile(...));
config, resources and the library are read as files, so those of a repository are unpacked first.
"""

from contextlib import suppress
from io import BytesIO
from os import environ
from pathlib import Path
from subprocess import check_output
from tarfile import open as open_tar
from tempfile import mkdtemp

from snakemake.sourcecache import HostingProviderFile, LocalSourceFile


def _unpacked(file):
    """The folder with all files of the commit that a source file is read from."""
    hosted = isinstance(file, HostingProviderFile)
    path = str(file.hosted_repo.repo_clone if hosted else file.repo_path)
    git = ["git", "-C", path, "-c", "safe.directory=*"]
    # Hooks and `git rebase --exec` name their own repository in GIT_DIR.
    env = {name: environ[name] for name in environ if not name.startswith("GIT_")}
    commit = check_output(
        [*git, "rev-parse", f"{file.ref}^{{commit}}"], env=env, text=True
    )
    folder = Path(".snakemake", "triptych", "source", commit.strip()).resolve()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(mkdtemp(dir=folder.parent))
        packed = BytesIO(check_output([*git, "archive", file.ref], env=env))
        with open_tar(fileobj=packed) as archive:
            archive.extractall(new, filter="data")
        with suppress(OSError):  # another process was faster
            new.rename(folder)
    return folder


_HERE = workflow.current_basedir
if isinstance(_HERE, LocalSourceFile):
    SOURCE = Path(_HERE.get_path_or_uri(secret_free=True)).resolve().parent
else:
    SOURCE = _unpacked(_HERE)
