"""The bench of the style study compares the same functions."""

import torch

from benchmarks.style import bench, commands, plain
from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork


def images(count, side):
    return torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(1))


def test_the_plain_networks_of_the_bench_are_the_same_functions():
    torch.manual_seed(0)
    ours, theirs = TransformationNetwork(Architecture(8, "nearest")), plain.PlainNetwork(8)
    theirs.load_state_dict(ours.state_dict())
    x = images(2, 64)
    torch.testing.assert_close(theirs(255 * x) / 255, ours(x))
    ours = TransformationNetwork(Architecture(8, "nearest", styles=3))
    theirs = plain.PlainNetwork(8, 3)
    for norm in ours.of_styles().values():
        torch.nn.init.normal_(norm)
    theirs.load_state_dict(ours.state_dict())
    styles = torch.tensor([2, 0])
    torch.testing.assert_close(theirs(255 * x, styles) / 255, ours.of_each(styles)(x))
    alone = ours.alone()[2](x[:1])
    torch.testing.assert_close(theirs(255 * x[:1], styles[:1]) / 255, alone)


SECONDS = {"plain": [4.0, 6.0, 4.0], "plain bf16": [3.0, 2.0, 2.0], "bf16": [1.0, 2.0, 0.5]}


class Answers:
    """In the place of a bench's process: seconds that are known, and no compiler."""

    def __init__(self, module, side, *, threads):
        self._rounds = [{"trouble": "no C++ compiler"}] * 3
        if side in SECONDS:
            rounds = SECONDS[side]
            self._rounds = [{"seconds": each, "first_seconds": 7.0} for each in rounds]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def ask(self, task):
        return self._rounds.pop(0)


def test_a_side_is_compared_with_plain_code_and_with_the_fastest_of_its_kinds(monkeypatch):
    monkeypatch.setattr(bench, "Worker", Answers)
    sides = ["plain", "compiled", "plain bf16", "bf16"]
    rows = {row["side"]: row for row in bench.compare("forward", 64, 8, sides, 3, 1)}
    ours = rows["bf16"]
    assert (ours["seconds"], ours["first_seconds"]) == (1.0, 7.0)
    assert (ours["ratio"], ours["ratio_minimum"], ours["ratio_maximum"]) == (4, 3, 8)
    assert (ours["ahead"], ours["ahead_minimum"], ours["ahead_maximum"]) == (3, 1, 4)
    assert rows["plain bf16"]["ahead"] == 1 and rows["plain"]["ahead"] == 0.5
    assert rows["compiled"]["trouble"] == "no C++ compiler" and "ratio" not in rows["compiled"]


def test_a_side_that_is_left_out_starts_no_process_and_says_so(monkeypatch):
    started = []

    class Counted(Answers):
        def __init__(self, module, side, *, threads):
            started.append(side)
            super().__init__(module, side, threads=threads)

    monkeypatch.setattr(bench, "Worker", Counted)
    slow = ["plain bf16", "bf16"]
    rows = bench.compare("forward", 64, 8, ["plain", *slow], 3, 1, left_out=slow)
    assert started == ["plain"]
    assert [row.get("trouble") for row in rows] == [None, bench.NOT_MEASURED, bench.NOT_MEASURED]
    assert rows[0]["ahead"] == 1


def test_a_command_is_timed_beside_ours_and_one_that_is_not_installed_has_no_row(monkeypatch):
    run, clock = commands._seconds, iter([9.0, 9.0, 4.0, 1.0, 6.0, 3.0])  # ours, the other's

    def seconds(words, threads):
        assert run(words, threads) > 0
        return next(clock)

    monkeypatch.setattr(commands, "_seconds", seconds)
    known = {"copy": ["cp", "{photograph}", "{result}"], "none": ["no-such-command", "{result}"]}
    ours, copy = commands.compare_commands(known, [64], rounds=2, threads=1)
    assert (ours["side"], copy["side"]) == ("triptych", "copy")
    assert (ours["seconds"], ours["ratio"], copy["seconds"]) == (5, 1, 2)
    assert (copy["ratio_minimum"], copy["ratio_maximum"]) == (0.25, 0.5)
