"""The workflow's front door: targets, scales, messages."""

import json
import re

import pytest
import yaml
from tiny_checkout import COLD

from triptych.core.files import sha256_of
from triptych.core.provenance import PLAN


def test_the_targets_read_like_a_table_of_contents(planned_in):
    text = planned_in.snakemake("--list-target-rules", config=None)
    listed = set(re.findall(r"^(?:\x1b\[\d+m)?(\w+)", text, re.MULTILINE))
    pages = "".join(path.read_text() for path in (planned_in.root / "report").glob("*.md"))
    products = set(re.findall(r"^:: (?:fold )?(?:figure|table) (\w+)$", pages, re.MULTILINE))
    assert len(products) > 25 and {"all", "rl", "style", "audio"} <= listed
    further = {"rl_criteria", "rl_variants", "rl_small_data", "audio_published"}
    assert products - listed <= further  # made where a config has what they show
    assert "rl_figure3 (Figure 3. Weights kept by layer.)" in text


def test_a_wrong_value_gets_one_message_before_any_job(fresh):
    overlay = {"rl": {"training": {"updates": "many"}}}
    (fresh.root / "wrong.yaml").write_text(yaml.safe_dump(overlay))
    text = fresh.snakemake("--dry-run", config="wrong.yaml", check=False)
    assert "rl.training.updates is 'many' (str); allowed is a value of type integer" in text
    assert text.count("updates") == 1
    assert "Traceback" not in text


def test_a_clusters_job_fails_when_what_it_reads_again_has_changed(fresh, monkeypatch):
    """A job on a cluster is a Snakemake of its own, told of the plan by an environment variable."""
    read = ["Snakefile", "config.yaml", "tiny.yaml", "resources/sources.yaml"]
    paths = [fresh.root / name for name in read]
    paths += [path for folder in ("config", "rules") for path in (fresh.root / folder).rglob("*.*")]
    files = {str(path): sha256_of(path) for path in paths}
    monkeypatch.setenv(PLAN, json.dumps({"code": {}, "read": files}))
    remote = ("rl", "--mode", "remote", "--dry-run")
    assert "rl_train" in fresh.snakemake(*remote)
    for name in ("tiny.yaml", "rules/rl.smk"):
        file = fresh.root / name
        text = file.read_text()
        file.write_text(f"{text}\n# edited\n")
        said = fresh.snakemake(*remote, check=False)
        file.write_text(text)
        assert f"{file} changed after Snakemake had read it" in said
        assert "Traceback" not in said


def test_a_stack_that_the_config_does_not_make_is_refused_by_name(planned_in):
    made = "results/rl/hopper/narrow/bcq-mine/scores.csv"
    said = planned_in.snakemake(made, "--dry-run", check=False)
    assert "'bcq-mine'" in said and "bcq-paper, bcq-raw" in said


@pytest.mark.slow
def test_every_job_has_a_log_a_benchmark_and_provenance_under_its_rules_name(finished_once):
    results = finished_once.root / "results"
    rules = {path.name for path in (results / "provenance").iterdir()}
    assert {"rl_collect", "rl_train", "rl_figure3"} <= rules
    for rule in rules:
        names = {path.stem for path in (results / "provenance" / rule).iterdir()}
        assert names == {path.stem for path in (results / "logs" / rule).iterdir()}
        assert names == {path.stem for path in (results / "benchmarks" / rule).iterdir()}
        for path in (results / "provenance" / rule).iterdir():
            assert json.loads(path.read_text())["params"]["code"]


@pytest.mark.slow
def test_two_runs_of_one_config_make_the_same_files(finished_once, fresh):
    """Once in processes that are forked, once in such as begin anew."""
    networks = "results/rl/hopper/narrow/bcq-paper/policies.safetensors"
    fresh.snakemake(networks, python=COLD)
    fresh.snakemake("rl_table1")
    made = [
        path for folder in ("tables", "rl") for path in (fresh.root / "results" / folder).rglob("*")
    ]
    made = [path for path in made if path.suffix in (".csv", ".md", ".tex", ".safetensors")]
    assert len(made) > 8
    for path in made:
        twin = finished_once.root / path.relative_to(fresh.root)
        assert path.read_bytes() == twin.read_bytes(), path


@pytest.mark.slow
def test_snakemakes_own_report_can_be_made(finished):
    said = finished.snakemake("rl", "--report", "snakemake-report.html", cores=None)
    assert not re.search("warning|missing|error", said, re.IGNORECASE), said
    figures = {file.name for file in (finished.root / "results/figures").glob("rl_*.svg")}
    assert len(figures) > 6 and figures <= set(re.findall(r"^Adding (\S+)", said, re.MULTILINE))
    assert (finished.root / "snakemake-report.html").stat().st_size > 500_000


def test_a_password_in_the_address_of_a_server_reaches_no_file(fresh):
    address = "http://anna:geheimwort@localhost:9/v1"  # pragma: allowlist secret
    own = f'audio={{"captions": {{"backend": "openai", "base_url": "{address}"}}}}'
    said = fresh.snakemake("audio_caption", "--config", own, check=False)
    assert "base_url is not plain http" in said
    files = [path for path in fresh.root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in files if b"geheimwort" in path.read_bytes()]
    assert "geheimwort" not in said


def test_a_value_that_names_a_file_which_is_not_shipped_is_refused(planned_in):
    own = "style={networks: {initial_weights: misspelt}}"
    said = planned_in.snakemake("style", "--dry-run", "--config", own, check=False)
    assert "resources/style/networks/misspelt.safetensors" in said and "MissingInput" not in said


def test_numbers_of_the_command_line_are_those_of_a_file(planned_in):
    own = "rl={training: {updates: 7}, sweeps: {bcq: {seeds: [3]}}, tasks: {walker2d: null}}"
    jobs = planned_in.jobs("rl", "--config", own)
    assert "rl_train" in {job["rule_name"] for job in jobs}


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ("", "audiocaps, wavcaps would be synthesised and clotho would not"),
        (
            ', "audiocaps": {"source": "none"}, "wavcaps": {"source": "none"}',
            "config: audio.captions.backend is template",
        ),
    ],
)
def test_recordings_are_not_mixed_with_what_the_demo_synthesises(planned_in, sources, said):
    own = f'audio={{"sources": {{"clotho": {{"source": "path", "path": "x"}}{sources}}}}}'
    assert said in planned_in.snakemake("audio", "--dry-run", "--config", own, check=False)
