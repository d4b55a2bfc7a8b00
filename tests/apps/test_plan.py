"""The plan of a run: Snakemake's jobs, what a job costs, the time of all of them."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from triptych.apps.downloads import downloads_page
from triptych.apps.listing import Job
from triptych.apps.plan import Cost, PlannedRun, wall_seconds
from triptych.cli import main
from triptych.scale import scale_of, shipped

ROOT = Path(__file__).parents[2]
DOWNLOAD = Job("rl_download", (), ("results/data.hdf5",), "results/benchmarks/rl_download/data.tsv")
TRAIN = Job(
    "rl_train",
    ("results/data.hdf5",),
    ("results/one/masks.safetensors", "results/one/scores.csv"),
    "results/benchmarks/rl_train/one.tsv",
    threads=4,
    gpu=True,
)
TIMED = Job("rl_latency", ("results/one/scores.csv",), ("results/page.html",), "", threads=1000)
JOBS = [DOWNLOAD, TRAIN, TIMED]


def test_jobs_wait_for_their_inputs_for_cores_for_gpus_and_for_the_line():
    costs = {
        "rl_download": Cost(download_mb=500),
        "rl_train": Cost(core_seconds=400, gpu_hours=0.1),
        "rl_latency": Cost(core_seconds=30),
    }
    assert wall_seconds(JOBS, costs, cores=8, gpus=1) == 10 + 360 + 30
    assert wall_seconds(JOBS, costs, cores=1, gpus=1) == 10 + 400 + 30
    many = [Job("rl_train", (), (str(n),), "", gpu=True) for n in range(10)]
    on_gpu = {"rl_train": Cost(gpu_hours=1.0)}
    assert wall_seconds(many, on_gpu, cores=16, gpus=1) == 10 * 3600
    assert wall_seconds(many, on_gpu, cores=16, gpus=5) == 2 * 3600
    assert wall_seconds(many, {"rl_train": Cost(core_seconds=60)}, cores=2, gpus=0) == 300


def test_jobs_are_scheduled_one_after_another_where_lower_bounds_say_less():
    """Three jobs of 1 h on two GPUs after a download of 1 h: 3 h, and 2.5 at most by any bound."""
    files = [str(number) for number in range(3)]
    jobs = [Job("rl_download", (), ("data",), "")]
    jobs += [Job("rl_train", ("data",), (file,), "", gpu=True) for file in files]
    jobs += [Job("all", tuple(files), (), "")]
    costs = {"rl_download": Cost(download_mb=50 * 3600), "rl_train": Cost(gpu_hours=1.0)}
    assert wall_seconds(jobs, costs, cores=8, gpus=2) == 3 * 3600
    assert wall_seconds(jobs, costs, cores=8, gpus=3) == 2 * 3600
    two = [Job("rl_download", (), (file,), "") for file in files[:2]]
    assert wall_seconds(two, costs, cores=8, gpus=2) == 2 * 3600  # they share the line


def test_the_longest_chain_goes_first():
    short = [Job("short", (), (f"short{number}",), "") for number in range(2)]
    chain = [Job("long", (), ("one",), ""), Job("long", ("one",), ("two",), "")]
    costs = {"short": Cost(core_seconds=10), "long": Cost(core_seconds=10)}
    assert wall_seconds([*short, *chain], costs, cores=2, gpus=0) == 20


def test_downloads_are_listed_with_host_bytes_and_licence_and_what_is_not_stated():
    sources = {
        "data": {
            "licence": "MIT",
            "files": {
                "a.zip": {"url": "https://one.org/a.zip", "size": 1_500_000_000},
                "b.zip": {"url": "https://two.org/b.zip", "size": None, "licence": "CC0"},
            },
        },
        "bare": {"files": {"c": {"url": "https://two.org/c"}}},
        "audio": {
            "models": {"licence": "Apache-2.0", "files": {"bert": {"size": 7}}},
            "parted": {"licence": "BSD", "repository": "some/data", "files": {"x.json": {}}},
        },
    }
    model = {
        f"bert, {name}": {"url": f"https://hub.org/bert/{name}"} for name in ("a", "b.safetensors")
    }
    parted = {
        "z.zip": {"url": "https://hub.org/some/data/z.zip"},
        "own": {"url": "http://three.org"},
    }
    rl = SimpleNamespace(downloads=sources["data"]["files"] | sources["bare"]["files"])
    audio = SimpleNamespace(downloads=model | parted, published={})
    lines = downloads_page({"rl": rl, "audio": audio}, sources).splitlines()
    rows = [re.split(r"  +", line) for line in lines[1:9]]
    assert {row[0]: row[1:] for row in rows[:3]} == {
        "a.zip": ["one.org", "1,500,000,000", "MIT"],
        "b.zip": ["two.org", "not stated", "CC0"],
        "c": ["two.org", "not stated", "not stated"],
    }
    assert [row[2:] for row in rows[3:5]] == [["not stated", "Apache-2.0"], ["7", "Apache-2.0"]]
    assert rows[5][0].startswith("z.zip ") and rows[5][1:] == ["hub.org", "not stated", "BSD"]
    assert rows[6][1:] == ["three.org", "not stated", "not stated"]
    nothing = SimpleNamespace(downloads={}, published={})
    assert len(downloads_page({"audio": nothing}, sources).splitlines()) == 1


@pytest.mark.parametrize(
    "given",
    [
        ["--cores", "0"],
        ["--cores", "-1"],
        ["--gpus", "-1"],
        ["--missing", "--downloads"],
    ],
)
def test_impossible_options_are_refused(monkeypatch, capsys, given):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as ended:
        main(["plan", *given])
    assert ended.value.code == 2 and given[0] in capsys.readouterr().err


@pytest.mark.parametrize("listing", [[], ["--missing"], ["--downloads"]])
def test_a_config_that_is_not_there_is_named(monkeypatch, capsys, listing):
    monkeypatch.chdir(ROOT)
    assert main(["plan", *listing, "--configfile", "config/paper.yaml", "config/papr.yaml"]) == 2
    printed = capsys.readouterr().err
    assert "config/papr.yaml" in printed and printed.count("\n") == 1


@pytest.mark.parametrize("updates", [1_000_000, 5])
def test_values_that_a_plan_does_not_count_are_named(monkeypatch, capsys, updates):
    config = shipped("paper", ROOT)
    config["rl"]["training"]["updates"] = updates
    config["scale"] = "custom"
    run = PlannedRun(JOBS, config, ROOT, scale_of(config, ROOT))
    monkeypatch.setattr("triptych.apps.plan.planned_run", lambda root, overlays: run)
    monkeypatch.chdir(ROOT)
    assert main(["plan", "--cores", "4"]) == 0
    printed = capsys.readouterr().out
    uncounted = re.findall(r"^Hours.* scale (\w+)'s jobs: .*updates.*keep_downloads", printed, re.M)
    assert uncounted == ["paper"] * (updates == 5)


@pytest.mark.slow
def test_the_command_knows_every_rule_of_the_papers_graph(warm_python, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["plan", "--configfile", "config/paper.yaml", "--cores", "8"]) == 0
    said = capsys.readouterr().out
    assert (
        "unknown" not in said
        and f"\n{'total':<10}" in said
        and "style.contact is empty" in said
        and "Scale paper: about" in said
    )
    (hours,) = re.findall(r"about ([\d.]+) h on 8 cores and 1 GPU", said)
    assert float(hours) > 30
    assert "rl-ours-shuffled: no. " in said
