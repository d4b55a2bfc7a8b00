"""The plan as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from triptych.core.cost import GPUS, Cost, Processor
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.plan.dry_run import DryRun
from triptych.plan.machines import LINE, Machine, machines_of, machines_with, seconds_on
from triptych.plan.planned import OTHERS, Plan, study_of
from triptych.plan.settles import decided, phrase
from triptych.report.verdicts import NOT, Verdict
from triptych.studies import NAMES

BEGIN, END = "<!-- plan: begin -->", "<!-- plan: end -->"

SUMMARY_GPUS = ("a40", "a100", "h100")


def plan_page(
    plan: Plan,
    found: DryRun,
    gpu: str,
    measured: dict[int, float],
    gpus: Mapping[str, Processor] = GPUS,
    core: Processor | None = None,
    claims: Mapping[str, Verdict] | None = None,
) -> str:
    """Summary by study, time by machine, which claims it decides, what is known of the machines,
    and the table by rule.

    measured: seconds of jobs that ran here, by number;  gpus: with what was measured on them
    core: of a machine without a GPU, where the config wants none;  claims: as foreseen
    """
    chosen = core or gpus[gpu]
    shown = [gpus[name] for name in dict.fromkeys((*SUMMARY_GPUS, gpu))] if core is None else [core]
    machines = machines_of(core) if core else machines_with(chosen)
    unit = "core" if core else "GPU"
    parts = [_graph(plan, found), _summary(plan, shown, unit), _time(plan, machines, measured)]
    parts += [_settles(claims)] if claims else []
    parts += [_money(plan), _known(shown, unit), _rules(plan, chosen, measured, unit)]
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


def _summary(plan: Plan, processors: Sequence[Processor], unit: str) -> str:
    head = ["study", "jobs", "EFLOP", *(f"{unit} h, {each.name}" for each in processors)]
    head += ["CPU core h", "downloads", "disk at the end", "checkpoints, at most"]
    lines = []
    for study in (*NAMES, OTHERS):
        costs = [
            c for job, c in zip(plan.jobs, plan.costs, strict=True) if study_of(job.rule) == study
        ]
        lines.append([NAMES.get(study, "Report"), *_totals(costs, processors)])
    lines.append(["**all**", *_totals(plan.costs, processors)])
    return "### By study\n\n" + table(head, lines)


def _totals(costs: Sequence[Cost], gpus: Sequence[Processor]) -> list[str]:
    return [
        str(len(costs)),
        digits(sum(cost.operations for cost in costs) / 1e18),
        *(digits(sum(cost.gpu_seconds(gpu) for cost in costs) / 3600) for gpu in gpus),
        digits(sum(cost.cpu_seconds for cost in costs) / 3600),
        size(sum(cost.download for cost in costs)),
        size(sum(cost.disk for cost in costs)),
        size(sum(cost.scratch for cost in costs)),
    ]


def _time(plan: Plan, machines: Sequence[Machine], measured: dict[int, float]) -> str:
    lines = [
        [
            machine.name,
            *(duration(seconds_on(plan, machine, measured, there)) for there in (True, False)),
        ]
        for machine in machines
    ]
    head = ["machine", "from nothing", "with all downloads there"]
    return "### From the first job to the last\n\n" + table(head, lines)


def _settles(claims: Mapping[str, Verdict]) -> str:
    lines = [[f"`{name}`", decided(each), phrase(each)] for name, each in claims.items()]
    count = sum(decided(each) != NOT for each in claims.values())
    text = (
        f"{count} of {len(claims)} claims, if all goes well: that policies learn and trainings end "
    )
    text += "isn't in the config. What is seen on other data is never called reproduced."
    head = ["claim", "decided", "why not, or on what else"]
    return f"### What it settles\n\n{text}\n\n{table(head, lines, numbers=False)}"


def _money(plan: Plan) -> str:
    asked = sum(cost.money for cost in plan.costs)
    return " ".join(["### Money\n\n" + f"{asked:.2f} with this config.", *plan.notes])


def _known(gpus: Sequence[Processor], unit: str) -> str:
    """Which steps were measured, and how far they were from what is computed at assumed shares."""
    lines = [
        [f"{step}, {precision}", gpu.name, gpu.measured_on, digits(factor)]
        for gpu in gpus
        for (step, precision), factor in sorted(gpu.factors.items())
        if unit == "GPU" or precision == "float32"  # of a core all are one
    ]
    text = f"No step has been measured: all {unit} hours are computed at the assumed shares."
    if lines:
        head = ["step", unit, "measured on", "times the seconds computed"]
        text = "Hours of these steps are multiplied by what was measured; all others are computed "
        text += f"at the assumed shares.\n\n{table(head, lines)}"
    return f"### What was measured\n\n{text}"


def _rules(plan: Plan, gpu: Processor, measured: dict[int, float], unit: str) -> str:
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
                digits(sum(cost.operations for cost in costs) / 1e15),
                digits(sum(cost.gpu_seconds(gpu) for cost in costs) / 3600),
                digits(_held(plan, numbers, gpu, measured)) if any(held) else "",
                digits(sum(cost.cpu_seconds for cost in costs) / 3600),
                _approximately(costs, [cost.download for cost in costs]),
                _approximately(costs, [cost.disk for cost in costs]),
                _how(costs, numbers, any(held), measured, gpu),
            ]
        )
    head = ["rule", "jobs", "PFLOP", f"{unit} computes, h ({gpu.name})", "GPU is taken, h"]
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
    return ("about " if about else "") + size(sum(sizes)) if sum(sizes) else ""


def size(count: float) -> str:
    """Bytes as a person writes them, nothing for none."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{digits(count / unit)} {name}"
    return "" if not count else "under 1 kB"


def digits(value: float) -> str:
    """Three digits at most; what rounds to nothing is told from nothing."""
    if not value:
        return ""
    if value < 0.005:
        return "<0.01"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def duration(seconds: float) -> str:
    """As a person says it: in hours, or in days."""
    hours = seconds / 3600
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} h"


def table(head: Sequence[str], lines: Sequence[Sequence[str]], numbers: bool = True) -> str:
    """A Markdown table whose columns but the first are numbers, or none."""
    rule = ["---", *["---:" if numbers else "---"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *lines))
