"""The plan of a run: its graph, its time on a machine, its page."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from triptych.cli import main
from triptych.core.cost import GPUS, Cost, Work
from triptych.core.errors import InputError
from triptych.plan import records
from triptych.plan.dry_run import DryRun, Job, dry_run, missing, parents, read_config, read_jobs
from triptych.plan.pages import BEGIN, END, insert, plan_page
from triptych.plan.planned import Plan, costs_of, measured_seconds
from triptych.plan.schedule import Task, longest_chain, makespan
from triptych.studies import NAMES

ROOT = Path(__file__).parents[2]
PAPER = [Path("config/paper.yaml")]


@pytest.fixture(scope="module")
def paper_checkout(new_checkout, tmp_path_factory):
    return new_checkout(tmp_path_factory.mktemp("paper")).root


@pytest.fixture(scope="module")
def paper(paper_checkout):
    return dry_run(paper_checkout, [paper_checkout / PAPER[0]])


@pytest.fixture(scope="module")
def config(paper_checkout):
    return read_config(paper_checkout, [paper_checkout / PAPER[0]])


def test_every_job_that_snakemake_counts_is_read(paper):
    assert Counter(job.rule for job in paper.jobs) == paper.summary
    assert len(paper.jobs) > 140


def test_the_papers_graph_is_built_in_half_a_gigabyte(paper):
    assert paper.peak_bytes < 500e6


def test_every_table_and_figure_and_every_row_is_in_the_graph(paper, config):
    for rules in (ROOT / "rules").glob("report*.smk"):
        blocks = re.split(r"^rule ", rules.read_text(), flags=re.MULTILINE)[1:]
        told = {block.partition(":")[0] for block in blocks if "script:" in block}
        assert told and told <= set(paper.summary), rules.name
    for name, study in ((name, costs_of(name)) for name in NAMES):
        files = study.rows(config[name])
        assert missing(paper.jobs, files) == []
        without = [job for job in paper.jobs if job.rule not in ("rl_train", "style_time")]
        assert missing(without, files) == [
            row for row, file in files.items() if file.endswith(("scores.csv", "images.csv"))
        ]


def test_every_row_that_the_papers_print_has_a_run(config):
    audio = config["audio"]
    printed = pd.read_csv(ROOT / "resources" / "published" / "audio_table2.csv")
    own = printed[printed["source"].eq("this report") & printed["text_model"].notna()]
    labels = {
        kind: {name: each["label"] for name, each in audio[kind].items()}
        for kind in ("audio_models", "text_models")
    }
    pairs = {(labels["audio_models"][a], labels["text_models"][t]) for a, t in audio["pairs"]}
    assert set(zip(own["audio_model"], own["text_model"], strict=True)) == pairs
    sizes = pd.read_csv(ROOT / "resources" / "published" / "style_table1_seconds.csv")
    assert config["style"]["timing"]["sizes"] == sizes["image_size"].tolist()


def test_a_job_is_read_with_its_files_wildcards_and_gpus():
    text = """
[Fri Nov 20 20:10:57 2026]
rule rl_train:
    input: results/a.csv, results/b
    output: results/c.csv
    log: results/logs/rl_train/x.log
    jobid: 129
    reason: Missing output files: results/c.csv
    wildcards: task=hopper, stack=all
    resources: tmpdir=/tmp, runtime=360, gpu=1, mem_mb=8000
[Fri Nov 20 20:10:57 2026]
localrule all:
    input: results/c.csv
    jobid: 0
"""
    first, last = read_jobs(text)
    assert first == Job(
        "rl_train",
        {"task": "hopper", "stack": "all"},
        ("results/a.csv", "results/b"),
        ("results/c.csv",),
        "results/logs/rl_train/x.log",
        1,
    )
    assert (last.rule, last.gpus, last.outputs) == ("all", 0, ())
    within = Job("reads", {}, ("results/b/file", "results/c.csv"), (), "", 0)
    folder = Job("makes", {}, (), ("results/b",), "", 0)
    assert parents([first, folder, within]) == [{1}, set(), {0, 1}]


def test_what_snakemake_refuses_is_told_in_its_words(paper_checkout, monkeypatch):
    refusal = "import sys; print('config: rl.training.updates is many'); sys.exit(1)"
    monkeypatch.setattr("triptych.plan.dry_run.CHILD", refusal)
    with pytest.raises(InputError, match="updates is many"):
        dry_run(paper_checkout, [])


def test_a_folder_without_workflow_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plan"]) == 2
    assert "no Snakefile" in capsys.readouterr().err
    assert main(["plan", "--configfile", "none.yaml"]) == 2
    assert "none.yaml: there is no such file" in capsys.readouterr().err


def task(seconds, *before, gpus=0, cores=1, line=False):
    return Task(seconds, gpus, cores, line, frozenset(before))


def test_jobs_wait_for_their_inputs_and_for_room():
    chain = [task(1), task(2, 0), task(3, 1)]
    assert longest_chain(chain) == [6, 5, 3]
    assert makespan(chain, gpus=1, cores=8) == 6
    trainings = [task(5, gpus=1) for _ in range(4)]
    assert makespan(trainings, gpus=1, cores=8) == 20
    assert makespan(trainings, gpus=2, cores=8) == 10
    assert makespan([task(5, cores=4) for _ in range(4)], gpus=1, cores=8) == 10
    assert makespan([task(5, line=True) for _ in range(4)], gpus=1, cores=8) == 20


def test_the_longest_chain_goes_first_and_large_jobs_take_what_there_is():
    # The short job before the long chain would make it 4 + 3 + 5.
    tasks = [task(4, gpus=1), task(3, gpus=1), task(5, 1)]
    assert makespan(tasks, gpus=1, cores=8) == 8
    assert makespan([task(2, gpus=4, cores=64)], gpus=1, cores=8) == 2


def small_plan():
    jobs = [
        Job("rl_download", {}, (), ("data",), "", 0),
        Job("rl_train", {"task": "a"}, ("data",), ("one",), "results/logs/rl_train/a.log", 1),
        Job("rl_train", {"task": "b"}, ("data",), ("two",), "results/logs/rl_train/b.log", 1),
        Job("report_page", {}, ("one", "two"), ("page",), "", 0),
    ]
    training = Cost({"tf32": Work(operations=0.5 * 156e12 * 7200)}, disk=3e9)  # 2 h on an A100
    costs = [Cost(download=50e6 * 3600, disk=180e9, about=True), training, training, Cost()]
    found = DryRun(jobs, Counter(job.rule for job in jobs), 1.5, 1.2, 150_000_000)
    plan = Plan(jobs, costs, {"rl": 2}, [], ["10 requests, for about 0.50 USD."])
    return plan, found


def test_the_page_tells_hours_sizes_and_how_they_are_known():
    plan, found = small_plan()
    page = plan_page(plan, found, "a100", {})
    assert "4 jobs of 3 rules in 1.5 s (1.2 s of a core) with 150 MB" in page
    assert "| `rl_train` | 2 | 1,123 | 4.00 | 4.00 |  |  | 6.00 GB | computed |" in page
    assert "| `rl_download` | 1 |  |  |  |  | about 180 GB | about 180 GB |  |" in page
    assert "no GPU (jobs in brackets): `report_page` (1)." in page
    # An hour of downloads, then the trainings one after the other or side by side.
    assert "| 1 x A100 80 GB, 8 cores | 5.0 h | 4.0 h |" in page
    assert "| 8 x A100 80 GB, 64 cores | 3.0 h | 2.0 h |" in page
    assert "10 requests, for about 0.50 USD" in page


def test_what_was_measured_stands_in_the_place_of_what_was_computed():
    plan, found = small_plan()
    page = plan_page(plan, found, "a100", {1: 3600.0})
    assert (
        "| `rl_train` | 2 | 1,123 | 4.00 | 3.00 |  |  | 6.00 GB | measured (1), computed |" in page
    )
    assert "| 4.00 | 2.00 |  |  | 6.00 GB | measured |" in plan_page(
        plan, found, "a100", {1: 3600.0, 2: 3600.0}
    )


def test_a_step_measured_on_a_gpu_stands_with_the_device_s_name():
    plan, found = small_plan()
    plan = replace(plan, costs=[replace(cost, step="rl update") for cost in plan.costs])
    factors = {("rl update", "tf32"): 1.5}
    gpus = GPUS | {"a100": replace(GPUS["a100"], measured_on="NVIDIA A100", factors=factors)}
    page = plan_page(plan, found, "a100", {}, gpus)
    assert "| rl update, tf32 | A100 80 GB | NVIDIA A100 | 1.50 |" in page
    assert "| 6.00 | 6.00 |  |  | 6.00 GB | measured on NVIDIA A100 |" in page
    assert "measured (1), measured on NVIDIA A100 |" in plan_page(
        plan, found, "a100", {1: 3600.0}, gpus
    )
    # What another precision takes is still computed, and so is another GPU.
    mixed = [replace(cost, work={**cost.work, "bf16": Work(1.0)}) for cost in plan.costs]
    page = plan_page(replace(plan, costs=mixed), found, "a100", {}, gpus)
    assert "measured on NVIDIA A100, computed |" in page
    assert "No step has been measured" in plan_page(plan, found, "h100", {}, GPUS)
    assert "measured on" not in plan_page(plan, found, "t4", {}, gpus).partition("### By rule")[2]


def test_the_gpu_that_was_measured_is_the_one_that_is_shown(
    paper, paper_checkout, monkeypatch, capsys
):
    operations = str(0.5 * 494.7e12)
    measured = dict.fromkeys(records.COLUMNS, "") | {
        **{"device": "NVIDIA H100 80GB HBM3", "scale": "paper", "task": "audio training step"},
        **{"precision": "bf16", "seconds": "2", "operations": operations},
        **{"traffic": "0", "kernels": "1"},
    }
    kept = paper_checkout / records.KEPT
    records.write(kept, [measured])
    monkeypatch.chdir(paper_checkout)
    monkeypatch.setattr("triptych.plan.dry_run.dry_run", lambda *_: paper)
    try:
        assert main(["plan", "--configfile", str(PAPER[0])]) == 0
    finally:
        kept.unlink()
    page = capsys.readouterr().out
    assert "GPU computes, h (H100 SXM)" in page
    # Twice the seconds at half of the peak in tf32 are four times those in bf16.
    assert "| audio training step, bf16 | H100 SXM | NVIDIA H100 80GB HBM3 | 4.00 |" in page
    # Pretraining and fine-tuning: those in bf16, while the ones as published are in fp16.
    assert page.count("| measured on NVIDIA H100 80GB HBM3, computed |") == 2


def test_rows_without_a_job_are_named():
    plan, found = small_plan()
    lost = Plan(plan.jobs, plan.costs, plan.rows, ["Offline RL: hopper"], plan.notes)
    assert "**No job makes 1 rows**: Offline RL: hopper" in plan_page(lost, found, "a100", {})


def test_only_records_of_a_gpu_count_as_measured(tmp_path):
    _, found = small_plan()
    folder = tmp_path / "results" / "provenance" / "rl_train"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"seconds": 12.5, "device": "AMD EPYC"}')
    assert measured_seconds(tmp_path, found, []) == {}


def test_the_tables_take_the_place_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Before\n\n{BEGIN}\nold\n{END}\n\nAfter\n")
    for _ in range(2):
        insert(page, "| new |\n")
    assert page.read_text() == f"Before\n\n{BEGIN}\n\n| new |\n\n{END}\n\nAfter\n"
    page.write_text("no marks")
    with pytest.raises(InputError, match="expected the lines"):
        insert(page, "new")


def test_the_command_prints_every_rule_of_the_papers_graph(
    paper, paper_checkout, monkeypatch, capsys
):
    monkeypatch.chdir(paper_checkout)
    monkeypatch.setattr("triptych.plan.dry_run.dry_run", lambda *_: paper)
    assert main(["plan", "--configfile", str(PAPER[0]), "--gpu", "h200"]) == 0
    page = capsys.readouterr().out
    rules = dict(re.findall(r"`(\w+)` (?:\| |\()(\d+)", page))
    assert {rule: int(count) for rule, count in rules.items()} == dict(paper.summary)
    assert "Every row of every table has its job" in page
    # Every job that has a GPU has something to compute on it.
    assert "not counted" not in page
    assert page.count("| computed |") == len({job.rule for job in paper.jobs if job.gpus})


def test_the_page_of_the_repository_is_of_this_graph(paper):
    page = (ROOT / "docs" / "paper-scale.md").read_text()
    rules = dict(re.findall(r"`(\w+)` (?:\| |\()(\d+)", page.partition(BEGIN)[2]))
    assert {rule: int(count) for rule, count in rules.items()} == dict(paper.summary)
