"""The page: whole, self-contained, and safe whatever the data say."""

from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from triptych.core.config import completed, read_yaml
from triptych.report.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED
from triptych.report.jobs import origin_on_page, origins, time_by_rule
from triptych.report.markdown import inline, render
from triptych.report.page import (
    Page,
    PageFigure,
    PageStudy,
    PageVideo,
    Section,
    page_claims,
    render_page,
)
from triptych.report.summary import Bars
from triptych.report.tables import Table
from triptych.report.timings import duration
from triptych.rl.report.claims import CLAIMS
from triptych.studies import studies

RESOURCES = Path(__file__).parents[2] / "resources"
EVIL = "<script>alert(1)</script>"
EVIL_ATTRIBUTE = '"><img src=x onerror=alert(1)>'
PRICES = {"rl-bcq-95": "config/night.yaml decides it."}


class Elements(HTMLParser):
    """Collects elements, their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "link", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        self.text += data


def section(text="shown"):
    table = Table(text, text, text, (("", text), (text, text)), ((text, text),))
    figure = PageFigure(text, text, text, "data:image/png;base64,AAAA")
    video = PageVideo(text, text, text, "data:video/mp4;base64,AAAA", text)
    return Section(text, text, text, [figure], [table], [video])


RULES = {claim.id: claim.rule for claim in CLAIMS}


def claims(prices={}, **changes):  # noqa: B006
    verdicts = pd.DataFrame(
        {
            "id": [claim.id for claim in CLAIMS],
            "verdict": [
                REPRODUCED,
                NOT_REPRODUCED,
                NOT_TESTABLE,
                *[REPRODUCED] * (len(CLAIMS) - 3),
            ],
            **{"measured": "first; second", "interval": None, "scale": "demo", "seen": ""},
            "reason": "a; b; c; d; e",
        }
    )
    published = pd.read_csv(RESOURCES / "published" / "rl_claims.csv")
    return page_claims("rl", verdicts.assign(**changes), published, RULES, prices)


def study(**changes):
    fields = {"anchor": "rl", "title": "A study", "paper": "Of *robots*."}
    fields |= {"facts": {"Seeds": "2"}, "claims": [], "sections": []}
    return PageStudy(**{**fields, **changes})


def page(claims=(), sections=(), **changes):
    fields = {"subtitle": "What they are.", "scale": "demo"}
    fields |= {"studies": [study(claims=claims, sections=sections)]}
    fields |= {"timings": Bars("", []), "colophon": "MIT."}
    return render_page(Page(**{**fields, **changes}))


def test_the_page_shows_every_claim_figure_and_table_and_asks_nothing_of_any_server():
    elements = Elements(page(claims=claims(), sections=[section()]))
    ids = {attrs.get("id") for _, attrs in elements.seen}
    assert ids >= {"shown", "timings", "rl", "rl-claims", "time"}
    for word in (*(claim.id for claim in CLAIMS), REPRODUCED, NOT_REPRODUCED, NOT_TESTABLE):
        assert word in elements.text
    assert "a; b; c; d; e" in elements.text
    assert elements.text.count("demo scale") > 5
    assert not elements.open
    assert not {tag for tag, _ in elements.seen} & {"script", "link", "iframe", "form", "base"}
    for tag, attrs in elements.seen:
        assert attrs.get("src", "data:").startswith("data:")
        assert "href" not in attrs or tag == "a"
    style = (Path(render_page.__code__.co_filename).parent / "templates/style.css").read_text()
    assert "url(" not in style and "@import" not in style


@pytest.mark.parametrize("evil", [EVIL, EVIL_ATTRIBUTE])
def test_text_from_data_never_becomes_an_element(evil):
    judged = claims(measured=evil, reason=evil, interval=evil)
    hostile = page(
        **{"subtitle": evil, "scale": evil, "colophon": f"{evil}\n\n- {evil}\n\n# {evil}"},
        studies=[PageStudy(evil, evil, evil, {evil: evil}, judged, [section(evil)])],
    )
    elements = Elements(hostile)
    assert "script" not in {tag for tag, _ in elements.seen}
    assert not any(name.startswith("on") for _, attrs in elements.seen for name in attrs)
    sources = {attrs.get("src", "")[:5] for tag, attrs in elements.seen if tag == "img"}
    assert sources == {"data:"}
    assert evil in elements.text  # shown as the text that it is


def test_markdown_renders_what_the_differences_use():
    html = render(
        "# Title\n\nA *word*, a **bold** one, `x < y`.\n- one\n  goes on\n- two\n\n"
        "| a | b \\| c |\n|---|---|\n| 1 | 2 |\n\n"
        "[out](https://example.org/a) [in](docs/x.md)"
    )
    assert "<h3>Title</h3>" in html
    assert "<em>word</em>" in html and "<strong>bold</strong>" in html
    assert "<code>x &lt; y</code>" in html
    assert "<li>one\ngoes on</li>\n<li>two</li>" in html
    assert '<div class="scroll" tabindex="0"><table class="text">' in html
    assert "<th>b | c</th>" in html and "<td>2</td>" in html
    assert '<a href="https://example.org/a">out</a>' in html
    assert "docs/x.md" not in html and "in</p>" in html


HOSTILE = [
    *(EVIL, EVIL_ATTRIBUTE, f"**{EVIL}**", f"`{EVIL}`", f"[{EVIL}](search.html)", f"# {EVIL}"),
    *(f"- {EVIL}\n- {EVIL_ATTRIBUTE}", f"| {EVIL} |\n|---|\n| {EVIL_ATTRIBUTE} |"),
    *("<!-- -->", "<![CDATA[x]]>", "<?php x ?>", "<b>bold</b>", "&lt;script&gt;", "    <b>x</b>"),
    *("![x](https://example.org/x.png)", "<https://example.org>", "<javascript:alert(1)>"),
    *("[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](&#106;avascript:alert(1))"),
    *("[x](data:text/html,y)", "[x](vbscript:y)", "[x](//example.org/x.html)", "[x](/x.html)"),
    *('[x](https://example.org/"onclick="y)', "[x](<https://example.org/ onclick=y>)"),
    *('[x](https://example.org/ "t\' onclick=y")', '[x](x.html" onclick="y)'),
    *("[x]: javascript:alert(1)\n\n[x]", "> " * 200 + "x", "[" * 2000, "*" * 2000 + "x"),
]


@pytest.mark.parametrize("written", [inline, render])
def test_hostile_markdown_makes_no_element_but_the_house_s_own(written):
    lists_and_tables = {"ul", "li", "div", "table", "thead", "tbody", "tr", "th", "td"}
    allowed = {"p", "h3", "code", "strong", "em", "a", *lists_and_tables}
    for text in HOSTILE:
        elements = Elements(str(written(text)))
        assert not elements.open, text
        for tag, attributes in elements.seen:
            assert tag in allowed, text
            assert set(attributes) <= {"href", "title", "class", "tabindex"}, text
            address = attributes.get("href", "search.html")
            assert address.startswith("https://example.org") or address == "search.html", text


@pytest.fixture
def records(tmp_path, monkeypatch):
    """Records of two trainings and of the figure and table that show them, one with a benchmark."""
    monkeypatch.chdir(tmp_path)
    jobs = {
        "rl_train/a": ([], ["results/rl/a/scores.csv"]),
        "rl_train/b": ([], ["results/rl/b/scores.csv"]),
        "rl_draw_figure2/rl_draw_figure2": (
            ["results/rl/a/scores.csv", "results/rl/b/scores.csv"],
            ["results/figures/rl_figure2.svg", "results/tables/rl_figure2.csv"],
        ),
    }
    code = {"rl/draw_figure1.py": "1", "triptych/report/tables.py": "2"}
    made = {
        f"results/provenance/{name}.json": {
            "rule": name.partition("/")[0],
            "inputs": inputs,
            "outputs": outputs,
            "params": {"code": code},
            "seconds": 90.0,
            "attempts": [30.0, 60.0],
            "peak_memory_bytes": 2e9,
            "device": "cpu",
        }
        for name, (inputs, outputs) in jobs.items()
    }
    benchmark = tmp_path / "results" / "benchmarks" / "rl_train" / "a.tsv"
    benchmark.parent.mkdir(parents=True)
    benchmark.write_text("s\th:m:s\tmax_rss\n70.5\t0:01:10\t-\n")
    return made


def test_below_a_figure_stand_rule_script_keys_and_data(records):
    made = origins(records)
    files = ["results/rl/a/scores.csv"]
    made["rl_rows"] = origin_on_page(files, records)
    figure = PageFigure("rl_figure2", "Figure 2.", "", "data:,")
    table = Table("rl_rows_best", "T", "", (("", "a"), ("", "b")), (("1", "2"),))
    parts = study(sections=[Section("s", "S", "", [figure], [table])], keys={"s": ("rl.sweeps",)})
    elements = Elements(page(studies=[parts], origins=made))
    text = " ".join(elements.text.split())
    for shown in ("rl_draw_figure2", "workflow_scripts/rl/draw_figure1.py", "rl_train (2 jobs)"):
        assert shown in text
    assert "report_page" in text and text.count("rl.sweeps") == 2
    links = [attrs["href"] for tag, attrs in elements.seen if tag == "a"]
    assert [link for link in links if link.endswith(("csv", "svg"))] == [
        "tables/rl_figure2.csv",
        "figures/rl_figure2.svg",
        "rl/a/scores.csv",
    ]


def test_time_is_that_of_snakemakes_benchmarks_and_of_earlier_attempts(records):
    bars = time_by_rule(records)
    train, draw = bars.bars
    assert (train.label, draw.label) == ("rl_train", "rl_draw_figure2")
    assert train.value == (30.0 + 70.5) + 90.0
    assert train.text == "2 jobs, 3 min 10 s, 2.00 GB"
    assert "3 jobs" in bars.caption and "4 min 40 s" in bars.caption


@pytest.mark.parametrize("name", studies())
def test_keys_named_below_figures_are_keys_of_the_config(name):
    keys = [key for part in studies()[name].PARTS.values() for key in part.keys]
    config = completed(read_yaml(RESOURCES.parent / "config.yaml"), RESOURCES.parent)
    for key in keys:
        value = config
        for part in key.split("."):
            assert part in value, key
            value = value[part]


def test_durations_read_as_a_person_says_them():
    said = {3.21: "3.2 s", 59.4: "59 s", 59.9: "1 min 00 s", 185: "3 min 05 s"}
    for seconds, text in (said | {3599.7: "1 h 00 min", 7800: "2 h 10 min"}).items():
        assert duration(seconds) == text
