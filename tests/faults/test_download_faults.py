"""Every download rule against a server that misbehaves in every way: whole and right, or an error.

Each rule's script runs as Snakemake runs it. Whatever the server did, there is the very output that
an undisturbed download gives, or none, and an error that names the address and says what to do;
then a second run against a server that behaves ends in that output.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from download_cases import Case, cases
from download_server import (
    Behaviour,
    Fault,
    answer,
    cut,
    flipped,
    login_page,
    redirect,
    served,
    serving,
    silent,
    status,
    wrong_start,
)

from triptych.core import job as job_module
from triptych.core.download import download

WHOLE, REFUSED = "verified file", "clear error, nothing taken for whole"
WHAT_TO_DO = "Run again|run again|see docs/|Open the address|open the address|Correct|correct the"
CASES = {case.name: case for case in cases()}


@dataclass
class Trouble:
    """What the server does: once each of `faults`, then `always`, or serve."""

    faults: tuple[Fault, ...] = ()
    always: Fault | None = None
    ranges: bool = True
    says: str | dict[str, str] | None = None
    """What the error says, perhaps by what the rule knows; None where the file arrives."""
    timeout: float = 60.0
    recorded: bool = False
    """Whether there was a first download, for what nobody published."""

    def error(self, case: Case) -> str | None:
        return self.says.get(case.knows) if isinstance(self.says, dict) else self.says


SIZE = r"expected \d+ bytes, the server has"
CUT = r"the connection was cut, 3 times in a row.*run again later"
SUM = r"expected (sha256|sha256_start|md5|git_blob) \w+, found \w+"
LONGER = {"size": SIZE, "checksum": SUM, "nothing": "the file goes on behind them"}
SILENT = "the server did not answer in time, 3 times in a row"
TROUBLES = {
    # What passes.
    "cut connections": Trouble((cut(0.4), cut(0.5), cut(0.1))),
    "cut, in chunks": Trouble((cut(0.4, chunked=True), served(chunked=True, pieces=5))),
    "cut, resumption ignored": Trouble((cut(0.4),), ranges=False),
    "cut, resumption refused by 416": Trouble((cut(0.4), status(416))),
    "cut, resumed from elsewhere": Trouble((cut(0.4), wrong_start)),
    "429": Trouble((status(429, Retry_After="0"), status(429))),
    "500": Trouble((status(500), cut(0.4), status(503))),
    "redirect": Trouble((redirect(), cut(0.4), redirect(code=307))),
    "redirect to another host": Trouble((redirect("localhost"), cut(0.4), redirect("localhost"))),
    "slow drip that ends": Trouble((served(pieces=20, pause=0.002),)),
    "stall in the middle": Trouble((cut(0.4, pieces=2, pause=0.5),), timeout=0.1),
    # What doesn't.
    "cut for good": Trouble(always=cut(0.4), ranges=False, says=CUT),
    "wrong length, too long": Trouble(
        always=served(told=1.5), says={"size": SIZE, "checksum": CUT, "nothing": CUT}
    ),
    "wrong length, too short": Trouble(always=served(told=0.5), says=LONGER),
    "wrong length, none": Trouble(always=answer(200, b""), says="answer was empty|server has 0"),
    "wrong checksum": Trouble(always=served(change=flipped), says=SUM, recorded=True),
    "403": Trouble(always=status(403), says="answered 403. The server refuses"),
    "404": Trouble(always=status(404), says="answered 404. The file has moved"),
    "429 for good": Trouble(always=status(429), says="answered 429, 3 times.*Run again later"),
    "500 for good": Trouble(always=status(500), says="answered 500, 3 times.*Run again later"),
    "redirect without end": Trouble(always=redirect(), says="one redirect after another"),
    "login page": Trouble(always=login_page, says="a web page came instead"),
    "login page, after a cut": Trouble((cut(0.4),), login_page, says="a web page came instead"),
    "silence": Trouble(always=silent(0.3), says=SILENT, timeout=0.1),
    "slow drip for good": Trouble(
        always=served(pieces=10_000, pause=0.02), says="only .* bytes came within", timeout=0.1
    ),
    "packed": Trouble(always=answer(200, b"x", Content_Encoding="gzip"), says="packed"),
}


@pytest.fixture
def address(behaviour: Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server's, with an empty working folder, short pauses, and little patience."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(download.__kwdefaults__, "attempts", 3)
    monkeypatch.setitem(download.__kwdefaults__, "wait_seconds", 0.001)
    monkeypatch.setattr(job_module, "package_versions", dict)  # slow, and not what this is about
    with serving(behaviour) as started:
        monkeypatch.setenv("HF_ENDPOINT", started)
        yield started


@pytest.fixture
def behaviour() -> Behaviour:
    return Behaviour()


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What undisturbed downloads give, by the case's name."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for case in CASES.values():
            patch.chdir(tmp_path_factory.mktemp("undisturbed"))
            with serving(Behaviour(files=case.files)) as started:
                patch.setenv("HF_ENDPOINT", started)
                case.run(started)
            found[case.name] = case.product()
    return found


def failure(case: Case, address: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the job says when it fails."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        case.run(address)
    assert ended.value.code == 1
    return capsys.readouterr().err


def nothing_is_taken_for_whole(case: Case, right: dict[str, bytes]) -> None:
    """No output; besides, only parts, what says of them where they belong, and finished files."""
    assert case.product() == {}
    whole = set(case.files.values())
    for path in Path().rglob("*"):
        known = path.suffix in (".part", ".log") or path.name.endswith(".part.json")
        if path.is_file() and "provenance" not in path.parts and not known:
            assert path.read_bytes() in whole, path
    assert right


def test_undisturbed_downloads_give_what_the_sources_have(
    products: dict[str, dict[str, bytes]],
) -> None:
    for name, case in CASES.items():
        sources = set(case.files.values())
        got = products[name]
        assert got
        if case.rule not in ("style_download_weights", "audio_download_passt"):  # those convert
            assert set(got.values()) <= sources
    assert set(products["audio_download_wavcaps (zip in parts)"]) == {
        *(f"SoundBible.z{number:02d}" for number in (1, 2)),
        "SoundBible.zip",
    }
    assert len(products["audio_text_model (JSON)"]) == 4


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", CASES)
def test_a_download_ends_in_a_verified_file_or_a_clear_error(
    name: str,
    trouble: str,
    address: str,
    behaviour: Behaviour,
    products: dict[str, dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tried,
) -> None:
    case, what = CASES[name], TROUBLES[trouble]
    monkeypatch.setitem(download.__kwdefaults__, "timeout_seconds", what.timeout)
    behaviour.files = case.files
    if what.recorded:
        case.run(address)
    behaviour.faults, behaviour.always = list(what.faults), what.always
    behaviour.ranges, behaviour.disturbed = what.ranges, case.disturbed
    says = what.error(case)
    if says is None:
        case.run(address)
        assert behaviour.faults == []
    else:
        said = failure(case, address, capsys)
        assert re.search(says, said, re.DOTALL), said
        assert re.search(WHAT_TO_DO, said), said
        assert address in said
        assert behaviour.played >= 1 + case.mirrored
        nothing_is_taken_for_whole(case, products[name])
        behaviour.behave()
        monkeypatch.setitem(download.__kwdefaults__, "timeout_seconds", 60.0)
        case.run(address)
    assert case.product() == products[name]
    tried("download", f"{case.rule}: {trouble}", REFUSED if says else WHOLE)
