"""Download rules against a server that misbehaves: whole and right, or an error.

Whatever the server did, there is the very output that an undisturbed download gives, or none, and
an error that names the address and says what to do; then a second run against a server that behaves
ends in that output.
"""

import re
from dataclasses import dataclass

import pytest
from download_cases import Case, cases, failure, nothing_is_taken_for_whole
from download_server import (
    Behaviour,
    Fault,
    cut,
    flipped,
    login_page,
    redirect,
    served,
    silent,
    status,
    wrong_start,
)

from triptych.core import job as job_module
from triptych.core.download import download

WHAT_TO_DO = "Run again|run again|see docs/|Open the address|open the address|Correct|correct the"
CASES = {case.name: case for case in cases()}


@dataclass
class Trouble:
    """What the server does: once each of `faults`, then `always`, or serve."""

    faults: tuple[Fault, ...] = ()
    always: Fault | None = None
    ranges: bool = True
    says: str | dict[str, str] | None = None
    """What the error says, perhaps by what the rule knows; nothing where the file arrives."""
    timeout: float = 60.0
    recorded: bool = False
    """Whether there was a first download, for what nobody published."""

    def error(self, case: Case) -> str | None:
        return self.says.get(case.knows) if isinstance(self.says, dict) else self.says


SIZE = r"expected \d+ bytes, the server has"
CUT = r"the connection was cut, 3 times in a row.*run again later"
SUM = r"expected (sha256|sha256_start|md5|git_blob) \w+, found \w+"
MORE = "the file goes on behind them"
LONGER = {"size": SIZE, "checksum": SUM, "nothing": MORE, "list": MORE}
FLIPPED = {"list": "not a list of files", "size": SUM, "checksum": SUM, "nothing": SUM}
SILENT = "the server did not answer in time, 3 times in a row"
TROUBLES = {
    # What passes.
    "cut connections": Trouble((cut(0.4), cut(0.5), cut(0.1))),
    "cut, in chunks": Trouble((cut(0.4, chunked=True), served(chunked=True, pieces=5))),
    "cut, resumption ignored": Trouble((cut(0.4),), ranges=False),
    "cut, resumed from elsewhere": Trouble((cut(0.4), wrong_start)),
    "429 and 500": Trouble((status(429, Retry_After="0"), status(500), cut(0.4), status(503))),
    "redirect to another host": Trouble((redirect("localhost"), cut(0.4), redirect("localhost"))),
    "stall in the middle": Trouble((cut(0.4, pieces=2, pause=0.5),), timeout=0.1),
    # What doesn't.
    "cut for good": Trouble(always=cut(0.4), ranges=False, says=CUT),
    "wrong length, too long": Trouble(
        always=served(told=1.5),
        says={"size": SIZE},  # without one, 416 tells the true length
    ),
    "wrong length, too short": Trouble(always=served(told=0.5), says=LONGER),
    "wrong checksum": Trouble(always=served(change=flipped), says=FLIPPED, recorded=True),
    "404": Trouble(always=status(404), says="answered 404. The file has moved"),
    "500 for good": Trouble(always=status(500), says="answered 500, 3 times.*Run again later"),
    "login page, after a cut": Trouble((cut(0.4),), login_page, says="a web page came instead"),
    "silence": Trouble(always=silent(0.3), says=SILENT, timeout=0.1),
}


@pytest.fixture(scope="module")
def products(server: tuple[Behaviour, str], small_networks, tmp_path_factory):
    """What undisturbed downloads give from the same server, by the case's name."""
    behaviour, address = server
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", address)
        patch.setattr(job_module, "package_versions", dict)
        for case in CASES.values():
            patch.chdir(tmp_path_factory.mktemp("undisturbed"))
            vars(behaviour).update(vars(Behaviour(files=case.files)))
            case.run(address)
            found[case.name] = case.product()
            if case.rule not in ("style_download_weights", "audio_download_passt"):  # those convert
                assert found[case.name] and set(found[case.name].values()) <= {*case.files.values()}
    return found


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", CASES)
def test_a_download_ends_in_a_verified_file_or_a_clear_error(
    name, trouble, products, address, behaviour, monkeypatch, capsys
):
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
        nothing_is_taken_for_whole(case, what.recorded)
        behaviour.behave()
        monkeypatch.setitem(download.__kwdefaults__, "timeout_seconds", 60.0)
        case.run(address)
    assert case.product() == products[name]


@pytest.mark.parametrize("trouble", ["404", "wrong checksum", "cut for good"])
def test_where_the_first_address_fails_the_mirror_serves(trouble, products, address, behaviour):
    case = CASES["rl_download"]
    first, mirror = case.files
    behaviour.files, behaviour.disturbed = case.files, first
    behaviour.always, behaviour.ranges = TROUBLES[trouble].always, TROUBLES[trouble].ranges
    case.run(address)
    assert case.product() == products[case.name]
    assert behaviour.requests[-1]["path"] == mirror


def test_where_no_server_answers_that_is_said(address, capsys):
    down = "http://127.0.0.1:9"
    said = failure(CASES["rl_download"], down, capsys)
    assert re.search(f"{down}.*the connection failed.*3 times in a row.*Run again later", said)
    nothing_is_taken_for_whole(CASES["rl_download"])
