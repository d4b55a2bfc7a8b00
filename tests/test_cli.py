"""The command `triptych`, as a person would type it."""

import argparse
import os
import re
import subprocess
import sys

import pytest

from triptych.cli import _parser, main
from triptych.core.provenance import LIBRARY


def test_help_names_each_command_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom triptych.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as done:\n    assert done.code == 0\n"
        "assert not {'numpy', 'torch', 'pandas'} & set(sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    parser = _parser()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for name in commands.choices:
        assert re.search(rf"^  {name} +\w", result.stdout, re.MULTILINE), name


@pytest.mark.parametrize(
    ("given", "command", "meant"),
    [
        ("stylize a.jpg --style x -o b.jpg --keep-colors", "stylize", "--keep-colours"),
        ("policy export a.safetensors --metod=snip", "policy export", "--method"),
        ("search rain --index a --top 5", "search", None),
        ("search rain --index a --limit 3", "search", None),
        ("search rain --index a --perfile 3", "search", "--per-file"),
        ("plan --config style=a", "plan", "--configfile"),
    ],
)
def test_an_unknown_option_is_told_in_its_commands_name_with_what_is_meant(
    capsys, given, command, meant
):
    with pytest.raises(SystemExit) as ended:
        main(given.split())
    *usage, said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and usage[0].startswith(f"usage: triptych {command} ")
    unknown = re.search(r"--(keep-colors|metod|top|limit|perfile|config)\b", given).group()
    assert said.startswith(f"triptych {command}: error: ") and unknown in said
    assert re.findall(r"--[\w-]+", said.partition(unknown)[2]) == [meant] * (meant is not None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("serch rain", "maybe you meant search?"),
        ("search --index a rain and dog", "and dog; a TEXT of several words"),
    ],
)
def test_a_misspelt_command_and_forgotten_quotation_marks_are_told(capsys, given, said):
    with pytest.raises(SystemExit):
        main(given.split())
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["verify"], "results/manifest.json: no such file below {}; a whole run makes it last"),
        (["verify", "other"], "other/manifest.json: no such file below {}"),
        (["plan"], "no Snakefile in {}: go to a checkout of Triptych"),
        (["demo"], "no Snakefile in {}: go to a checkout of Triptych"),
    ],
)
def test_from_a_folder_without_a_run_it_is_said_where_to_go(
    tmp_path, monkeypatch, capsys, command, said
):
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    printed = capsys.readouterr().err
    assert said.format(tmp_path) in printed and printed.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_reader_that_has_enough_is_no_error():
    """`triptych stylize --networks | head -0`"""
    command = [sys.executable, "-m", "triptych.cli", "stylize", "--networks"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_ctrl_c_during_an_import_ends_the_command_behind_it(tmp_path):
    module = "import signal\nsignal.raise_signal(signal.SIGINT)\nopen('whole', 'w').close()\n"
    (tmp_path / "imported.py").write_text(module)
    code = (
        "import sys, time\nfrom triptych import cli\nfrom triptych.apps import plan\n"
        "plan._plan = lambda _: __import__('imported') and time.sleep(60)\n"
        "sys.exit(cli.main(['plan']))"
    )
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 130 and (tmp_path / "whole").exists()
    assert done.stderr.startswith("triptych plan: stopped") and done.stderr.count("\n") == 1


def test_a_terminal_that_is_gone_ends_no_work():
    """ml-evs/matador#190: of a disowned run"""
    terminal, shown = os.openpty()
    os.close(terminal)
    code = "import sys; from triptych.cli import main; sys.exit(main(['stylize', '--networks']))"
    done = subprocess.run([sys.executable, "-c", code], stdout=shown, stderr=subprocess.PIPE)
    os.close(shown)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_files_name_can_do_nothing_to_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = "\x1b]0;mine\x07 \u202e gnp \udce9.png"
    assert main(["stylize", name, "--style", "none", "-o", name]) == 2
    printed = capsys.readouterr()
    assert r"\x1b]0;mine\x07 \u202e gnp \udce9.png" in printed.out + printed.err
    assert not {"\x1b", "\x07", "\u202e", "\udce9"} & set(printed.out + printed.err)


@pytest.mark.parametrize("folder", ["copy", "."])
def test_another_checkouts_code_is_not_run(tmp_path, folder, monkeypatch, capsys):
    """That of an environment that was copied along with its checkout, or is a link to another's."""
    (tmp_path / "copy" / "workflow_scripts").mkdir(parents=True)
    (tmp_path / "workflow_scripts").symlink_to(LIBRARY)
    checkout = (tmp_path / folder).resolve()
    monkeypatch.setattr("sys.argv", [str(checkout / ".venv/bin/triptych")])
    monkeypatch.chdir(checkout)
    assert main(["verify"]) == 2
    said = capsys.readouterr().err
    assert (f"{checkout} runs the code of {LIBRARY.parent}" in said) == (folder == "copy")
