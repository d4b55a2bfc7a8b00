"""The pages written from what was measured; made-up figures of a made-up device."""

import pytest

from triptych.cli import main
from triptych.core.cost import GPUS, Cost, Work
from triptych.core.errors import InputError
from triptych.gpu import pages
from triptych.plan import records
from triptych.plan.measured import calibrated, name_of

DEVICE = "NVIDIA A100-SXM4-80GB"
# A second of products at the assumed share of an A100's peak, in tf32.
SECOND = Work(operations=0.5 * 156e12)


def row(**own):
    common = dict.fromkeys(records.COLUMNS, "") | {
        **{"device": DEVICE, "part": "3", "scale": "paper", "torch": "2.15.0"},
        **{"date": "2026-12-01", "status": "measured"},
    }
    return common | own


def trial(task="rl update", precision="tf32", seconds="1.5", count=1, **own):
    return row(
        **{"study": "rl", "task": task, "size": "90 networks", "precision": precision},
        **{"seconds": seconds, "peak_bytes": "2.5e9", "operations": str(count * 0.5 * 156e12)},
        **{"traffic": "0", "kernels": "1", **own},
    )


ROWS = [
    row(part="1", step="tests", study="tests", task="tests/a.py::test_x", status="passed"),
    row(
        part="1", step="tests", study="tests", task="tests/a.py::test_y", status="failed", note="n"
    ),
    row(
        **{"part": "1", "step": "bench rl", "study": "rl", "task": "updates of a network"},
        **{"side": "ours", "size": "64 at once", "precision": "bf16", "seconds": "2e-5"},
        ratio="41.5",
    ),
    trial(),
    row(step="train audio passt_s", status="failed", note="CUDA out of memory"),
    row(step="train audio passt_s15", status="not reached", note="the part's time was spent"),
]


def test_the_page_shows_what_was_measured_and_what_was_not():
    page = pages.performance(ROWS)
    assert f"### {DEVICE}" in page
    assert "part 1 on 2026-12-01, part 3 on 2026-12-01; PyTorch 2.15.0" in page
    assert "Of 2 tests marked gpu 1 passed; these failed:\n\n- `tests/a.py::test_y`: n" in page
    assert "| rl update | 90 networks | tf32 | 1.5 | 2.50 | 1.50 |" in page
    assert "| rl: updates of a network, ours | 64 at once | bf16 | 2e-05 | 41.50 |" in page
    assert "- part 3, train audio passt_s: failed; CUDA out of memory" in page
    assert "- part 3, train audio passt_s15: not reached; the part's time was spent" in page
    assert pages.performance([]) == pages.NOTHING


def test_a_part_s_rows_replace_those_of_its_device_alone():
    old = [trial(seconds="9"), trial(device="Tesla T4"), row(part="1", task="kept")]
    found = records.merged(old, [trial(seconds="1")])
    assert [(each["device"], each["part"], each["seconds"]) for each in found] == [
        (DEVICE, "1", ""),
        (DEVICE, "3", "1"),
        ("Tesla T4", "3", "1.5"),
    ]


def test_rows_are_read_as_they_were_written(tmp_path):
    records.write(tmp_path / "rows.csv", ROWS)
    assert records.read(tmp_path / "rows.csv") == ROWS
    assert records.read(tmp_path / "none.csv") == []
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="expected the columns"):
        records.read(tmp_path / "other.csv")


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (DEVICE, "a100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H200", "h200"),
        ("Tesla T4", "t4"),
        ("NVIDIA A40", "a40"),
        ("NVIDIA RTX A4000", None),
        ("NVIDIA GH200 480GB", None),
    ],
)
def test_the_plan_knows_a_device_by_its_driver_s_name(device, name):
    assert name_of(device) == name


def test_a_factor_is_measured_over_computed_seconds_of_all_trials_of_a_step():
    rows = [trial(seconds="1"), trial(seconds="8", count=2), trial("other", scale="custom")]
    gpu = calibrated(rows)["a100"]
    assert gpu.measured_on == DEVICE
    assert gpu.factors == {("rl update", "tf32"): pytest.approx(9 / 3)}
    assert calibrated([]) == GPUS


def test_hours_of_a_measured_step_are_multiplied_in_its_precision_alone():
    gpu = calibrated([trial(seconds="3")])["a100"]
    cost = Cost({"tf32": SECOND * 10, "float32": SECOND}, step="rl update")
    of_float32 = GPUS["a100"].seconds(SECOND, "float32")
    assert cost.gpu_seconds(gpu) == pytest.approx(30 + of_float32)
    assert Cost({"tf32": SECOND}, step="another").gpu_seconds(gpu) == pytest.approx(1)


def test_docs_alone_take_what_lies_in_the_results(tmp_path, monkeypatch):
    for name, marks in (("performance", pages.MARKS), ("paper-scale", pages.PLAN_MARKS)):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / f"{name}.md").write_text(f"before\n{marks[0]}\n{marks[1]}\nafter\n")
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("triptych.gpu.pages.page_text", lambda *_: (True, "the plan\n"))
    records.write(tmp_path / "results" / "gpu" / "part3.csv", ROWS[3:])
    assert main(["gpu", "docs"]) == 1  # a step had failed
    assert records.read(tmp_path / records.KEPT) == ROWS[3:]
    assert "| rl update | 90 networks |" in (tmp_path / "docs" / "performance.md").read_text()
    assert "the plan" in (tmp_path / "docs" / "paper-scale.md").read_text()


def test_without_the_gpu_that_the_config_wants_it_says_what_to_do(tmp_path, monkeypatch, capsys):
    (tmp_path / "Snakefile").touch()
    (tmp_path / "config.yaml").write_text(
        "{device: cuda, style: {bench: {sizes: {}}}, audio: {pairs: []}}"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["gpu", "1"]) == 2
    assert "finds no GPU it can use" in capsys.readouterr().err
