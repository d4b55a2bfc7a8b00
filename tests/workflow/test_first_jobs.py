"""What is looked at before anything trains, and what stays of the downloads."""

import csv
import re

import pytest
import yaml

PAPER = "config/paper.yaml"


def overlay(checkout, config):
    """A config file in a checkout."""
    path = checkout.root / "mine.yaml"
    path.write_text(yaml.safe_dump(config))
    return path.name


def test_without_keep_downloads_archives_go_once_shards_are_made(planned_in):
    mine = overlay(planned_in, {"base": "papers", "audio": {"keep_downloads": False}})
    deleted = {}
    for config in (mine, PAPER):
        text = planned_in.snakemake("audio", "--dry-run", config=config)
        deleted[config] = set(re.findall(r"^Would remove temporary output (\S+)", text, re.M))
    archives = "results/audio/downloads/wavcaps/Zip_files"
    for part in ("AudioSet_SL", "BBC_Sound_Effects", "FreeSound", "SoundBible"):
        assert f"{archives}/{part}" in deleted[mine]
    assert "results/audio/downloads/mp3/AUDIOCAPS.zip" in deleted[mine]
    assert "results/audio/sound/clotho/development" in deleted[mine]
    assert not deleted[PAPER]


def test_a_real_run_that_needs_pictures_begins_with_whom_to_write_to(fresh):
    said = fresh.snakemake("style_figure4", config=PAPER, check=False)
    assert "style.contact is empty" in said and "great_wave" in said and "Traceback" not in said
    assert not list(fresh.root.glob("results/logs/*/*"))  # no job has begun
    fresh.snakemake("style_figure4", "--dry-run", config=PAPER)


def test_tables_are_counted_before_the_archives_and_captions_need_no_recordings(listed):
    counts = {
        job["wildcards"]["dataset"]: number
        for number, job in enumerate(listed)
        if job["rule_name"] == "audio_count"
    }
    archives = {"clotho_audio": "clotho", "retrieval_audio.7z": "clotho", "AUDIOCAPS": "audiocaps"}
    awaited = {}
    for job in listed:
        file = job["wildcards"].get("file", "")
        if job["rule_name"] == "audio_download_wavcaps":
            awaited[job["wildcards"]["part"]] = (job["needs"], "wavcaps")
        elif names := [name for name in archives if file.startswith(name)]:
            awaited[file] = (job["needs"], archives[names[0]])
        elif job["rule_name"] == "audio_download":
            assert not job["needs"] and file.endswith((".csv", ".json"))
    assert len(awaited) == 4 + 4 + 1
    for needs, dataset in awaited.values():
        assert {*needs} == {counts[dataset]}
    (caption,) = [job for job in listed if job["rule_name"] == "audio_caption"]
    seen, queue = set(), [*caption["needs"]]
    while queue:
        seen.add(listed[number := queue.pop()]["rule_name"])
        queue += listed[number]["needs"]
    assert seen == {"audio_list_clotho", "audio_download"}


def test_a_table_that_is_counted_again_fetches_no_archive_again(fresh):
    archive, count = (
        "results/audio/downloads/mp3/AUDIOCAPS.zip",
        "results/inputs/audio/audiocaps.csv",
    )
    fresh.pretend(archive, config=PAPER)
    there, away = fresh.root / count, fresh.root / "away.csv"
    there.rename(away)
    assert not fresh.jobs(archive, config=PAPER)
    away.rename(there)
    fresh.edit("workflow_scripts/triptych/audio/data_sizes.py", "COUNTED = 0.005", "COUNTED = 0.01")
    assert {job["rule_name"] for job in fresh.jobs(archive, config=PAPER)} == {"audio_count"}


def test_what_lacked_is_asked_for_again_by_a_later_run(fresh):
    """Nothing listens where the one file is."""
    path = fresh.root / "resources/sources.yaml"
    sources = yaml.safe_load(path.read_text())
    entry = sources["d4rl"]["files"]["hopper_expert-v2"]
    entry |= {"url": "http://127.0.0.1:1/file", "mirror": "http://127.0.0.1:1/mirror"}
    path.write_text(yaml.safe_dump(sources))
    fresh.edit(
        "workflow_scripts/triptych/core/download.py", "attempts: int = 4", "attempts: int = 1"
    )
    tasks = {"hopper": {"source": "d4rl"}, "walker2d": None, "halfcheetah": None}
    mine = overlay(fresh, {"scale": "custom", "rl": {"tasks": tasks}})
    answers = fresh.root / "results/inputs/rl.csv"

    def asks():
        return [
            job["rule_name"] for job in fresh.jobs(answers.relative_to(fresh.root), config=mine)
        ]

    fresh.snakemake("results/inputs/rl.csv", config=mine)
    (line,) = csv.DictReader(answers.read_text().splitlines())
    assert "127.0.0.1:1/file" in line["problem"] and line["busy"] == "False"
    assert asks() == ["report_inputs"]
    answers.write_text("file,problem\nhopper_expert-v2,\n")
    assert not asks()


@pytest.mark.parametrize("target", ["style", "audio", "rl", "audio_published"])
def test_each_target_asks_for_what_it_downloads_first(planned_in, target):
    own = ["config/published.yaml"] if target == "audio_published" else []
    jobs = planned_in.jobs(target, "--configfile", PAPER, *own, config=None)
    found = [job["output"] for job in jobs if job["rule_name"] == "report_inputs"]
    assert found == [[f"results/inputs/{target}.csv"]]
