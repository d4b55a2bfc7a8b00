"""The plan as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from triptych.core.cost import GPUS, Cost, Processor
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.plan.dry_run import DryRun, parents
from triptych.plan.planned import OTHERS, Plan, study_of
from triptych.plan.schedule import Task, makespan
from triptych.studies import NAMES

BEGIN, END = "<!-- plan: begin -->", "<!-- plan: end -->"

LINE = 50e6
"""Bytes a second of the line that downloads share: assumed."""
START = 5.0
"""Seconds that a job takes to begin and end: measured, where it imports PyTorch."""
CORES = 8
"""Beside each GPU: assumed."""
SUMMARY_GPUS = ("a40", "a100", "h100")


def plan_page(
    plan: Plan,
    found: DryRun,
    gpu: str,
    measured: dict[int, float],
    gpus: Mapping[str, Processor] = GPUS,
) -> str:
    """Summary by study, time by number of GPUs, what is known of them, and the table by rule.

    measured: seconds of jobs that ran here, by number;  gpus: with what was measured on them
    """
    chosen = gpus[gpu]
    shown = [gpus[name] for name in dict.fromkeys((*SUMMARY_GPUS, gpu))]
    parts = [_graph(plan, found), _summary(plan, shown), _time(plan, chosen, measured)]
    parts += [_money(plan), _known(shown), _rules(plan, chosen, measured)]
    return "\n\n".join(parts) + "\n"


def insert(page: Path, text: str, marks: tuple[str, str] = (BEGIN, END)) -> None:
    """Put `text` between the marks of a page. Raises InputError where it hasn't both."""
    try:
        old = page.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{page}: cannot be read ({error.strerror})") from error
    before, begin, rest = old.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not (begin and end):
        raise InputError(f"{page}: expected the lines {marks[0]} and {marks[1]} in it")
    with atomic_path(page) as temporary:
        temporary.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def _graph(plan: Plan, found: DryRun) -> str:
    rows = ", ".join(f"{count} of {NAMES[name]}" for name, count in plan.rows.items())
    whole = (
        f"Every row of every table has its job: {rows}."
        if not plan.missing
        else f"**No job makes {len(plan.missing)} rows**: {', '.join(plan.missing)}."
    )
    return (
        f"The dry run found {len(plan.jobs)} jobs of {len(found.summary)} rules in "
        f"{found.seconds:.1f} s ({found.cpu_seconds:.1f} s of a core) with "
        f"{found.peak_bytes / 1e6:.0f} MB. {whole}"
    )


def _summary(plan: Plan, gpus: Sequence[Processor]) -> str:
    head = ["study", "jobs", "EFLOP", *(f"GPU h, {gpu.name}" for gpu in gpus)]
    head += ["CPU core h", "downloads", "disk at the end", "checkpoints, at most"]
    lines = []
    for study in (*NAMES, OTHERS):
        costs = [
            c for job, c in zip(plan.jobs, plan.costs, strict=True) if study_of(job.rule) == study
        ]
        lines.append([NAMES.get(study, "Report"), *_totals(costs, gpus)])
    lines.append(["**all**", *_totals(plan.costs, gpus)])
    return "### By study\n\n" + table(head, lines)


def _totals(costs: Sequence[Cost], gpus: Sequence[Processor]) -> list[str]:
    return [
        str(len(costs)),
        _number(sum(cost.operations for cost in costs) / 1e18),
        *(_number(sum(cost.gpu_seconds(gpu) for cost in costs) / 3600) for gpu in gpus),
        _number(sum(cost.cpu_seconds for cost in costs) / 3600),
        _size(sum(cost.download for cost in costs)),
        _size(sum(cost.disk for cost in costs)),
        _size(sum(cost.scratch for cost in costs)),
    ]


def _time(plan: Plan, gpu: Processor, measured: dict[int, float]) -> str:
    before = parents(plan.jobs)
    lines = []
    for count in (1, 8):
        cells = []
        for downloads in (True, False):
            tasks = [
                _task(plan, number, gpu, measured, before[number], downloads)
                for number in range(len(plan.jobs))
            ]
            cells.append(_duration(makespan(tasks, count, CORES * count)))
        lines.append([f"{count} x {gpu.name}, {CORES * count} cores", *cells])
    head = ["machine", "from nothing", "with all downloads there"]
    return "### From the first job to the last\n\n" + table(head, lines)


def _task(
    plan: Plan,
    number: int,
    gpu: Processor,
    measured: dict[int, float],
    before: set[int],
    downloads: bool,
) -> Task:
    job, cost = plan.jobs[number], plan.costs[number]
    fetching = cost.download > 0
    seconds = measured.get(number, cost.seconds(gpu, LINE))
    if fetching and not downloads:
        seconds = 0.0
    line = fetching and downloads and not cost.waits
    return Task(START + seconds, job.gpus, cost.cores, line, frozenset(before))


def _money(plan: Plan) -> str:
    asked = sum(cost.money for cost in plan.costs)
    return " ".join(["### Money\n\n" + f"{asked:.2f} with this config.", *plan.notes])


def _known(gpus: Sequence[Processor]) -> str:
    """Which steps were measured, and how far they were from what is computed at assumed shares."""
    lines = [
        [f"{step}, {precision}", gpu.name, gpu.measured_on, _number(factor)]
        for gpu in gpus
        for (step, precision), factor in sorted(gpu.factors.items())
    ]
    text = "No step has been measured: all GPU hours are computed at the assumed shares."
    if lines:
        head = ["step", "GPU", "measured on", "times the seconds computed"]
        text = "Hours of these steps are multiplied by what was measured; all others are computed "
        text += f"at the assumed shares.\n\n{table(head, lines)}"
    return f"### What was measured\n\n{text}"


def _rules(plan: Plan, gpu: Processor, measured: dict[int, float]) -> str:
    by_rule: dict[str, list[int]] = {}
    for number, job in enumerate(plan.jobs):
        by_rule.setdefault(job.rule, []).append(number)
    lines, small = [], []
    for rule in sorted(by_rule, key=_place):
        numbers = by_rule[rule]
        costs = [plan.costs[number] for number in numbers]
        if all(cost == Cost() for cost in costs) and not plan.jobs[numbers[0]].gpus:
            small.append(f"`{rule}` ({len(numbers)})")
            continue
        held = [plan.jobs[number].gpus for number in numbers]
        lines.append(
            [
                f"`{rule}`",
                str(len(numbers)),
                _number(sum(cost.operations for cost in costs) / 1e15),
                _number(sum(cost.gpu_seconds(gpu) for cost in costs) / 3600),
                _number(_held(plan, numbers, gpu, measured)) if any(held) else "",
                _number(sum(cost.cpu_seconds for cost in costs) / 3600),
                _approximately(costs, [cost.download for cost in costs]),
                _approximately(costs, [cost.disk for cost in costs]),
                _how(costs, numbers, any(held), measured, gpu),
            ]
        )
    head = ["rule", "jobs", "PFLOP", f"GPU computes, h ({gpu.name})", "GPU is taken, h"]
    head += ["CPU core h", "downloads", "disk", "GPU hours are"]
    rest = f"Minutes at most, and no GPU (jobs in brackets): {', '.join(small)}."
    return f"### By rule\n\n{table(head, lines)}\n\n{rest}"


def _held(plan: Plan, numbers: Iterable[int], gpu: Processor, measured: dict[int, float]) -> float:
    """Hours in which jobs have a GPU, whether it computes or waits."""
    return sum(
        measured.get(number, plan.costs[number].seconds(gpu, LINE)) / 3600 for number in numbers
    )


def _how(
    costs: Sequence[Cost],
    numbers: Sequence[int],
    on_gpu: bool,
    measured: dict[int, float],
    gpu: Processor,
) -> str:
    """In a word or two how a rule's GPU hours are known."""
    if not on_gpu:
        return ""
    known = sum(number in measured for number in numbers)
    if known == len(numbers):
        return "measured"
    steps = {(cost.step, precision) for cost in costs for precision in cost.work}
    if not steps:
        return "not counted"
    of_steps = steps & gpu.factors.keys()
    ways = [f"measured ({known})"] * (known > 0)
    ways += [f"measured on {gpu.measured_on}"] * bool(of_steps)
    ways += ["computed"] * (of_steps != steps)
    return ", ".join(ways)


def _place(rule: str) -> tuple[int, str]:
    return [*NAMES, OTHERS].index(study_of(rule)), rule


def _approximately(costs: Sequence[Cost], sizes: Sequence[float]) -> str:
    about = any(cost.about and size for cost, size in zip(costs, sizes, strict=True))
    return ("about " if about else "") + _size(sum(sizes)) if sum(sizes) else ""


def _size(count: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{_number(count / unit)} {name}"
    return "" if not count else "under 1 kB"


def _number(value: float) -> str:
    """Three digits at most; what rounds to nothing is told from nothing."""
    if not value:
        return ""
    if value < 0.005:
        return "<0.01"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _duration(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} h"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns but the first are numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *lines))
