"""The command `triptych`, as a person would type it."""

import subprocess
import sys

import pytest

from triptych.cli import main


def test_help_names_each_command_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom triptych.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as done:\n    assert done.code == 0\n"
        "assert not {'numpy', 'torch', 'pandas'} & set(sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "triptych policy export results/" in result.stdout
    assert "triptych stylize photo.jpg" in result.stdout


def test_version_is_that_of_the_package_or_says_that_it_is_not_installed(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out.startswith("triptych ")
