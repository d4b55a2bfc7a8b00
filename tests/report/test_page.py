"""The page: whole, self-contained, and safe whatever the data say."""

import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from markupsafe import Markup

from triptych.apps.plan import planned_run
from triptych.report.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED
from triptych.report.document import Item, read_document
from triptych.report.jobs import origins, time_by_rule
from triptych.report.markdown import inline, render
from triptych.report.page import Page, PageStudy, film_item, page_claims, page_item, render_page
from triptych.report.summary import Bars, Summary, write_summary
from triptych.report.tables import DASH, Table, write_table
from triptych.rl.report.claims import CLAIMS
from triptych.scale import FILES, shipped
from triptych.studies import NAMES

ROOT = Path(__file__).parents[2]
EVIL = "<script>alert(1)</script>"
EVIL_ATTRIBUTE = '"><img src=x onerror=alert(1)>'
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 648 288"><path d="M 1 2"/></svg>'
DOCUMENT = """# A study

Of *robots*, {{ rl.updates }} updates.

## First {#first}

:: keys rl.sweeps rl.tasks

Text before.

:: figure rl_figure2

Text between.

:: fold table rl_table

{% if rl.films %}
:: film {{ rl.films }}
{% endif %}

## Folded {#folded}

:: fold

:: fold table rl_table

## Without any product {#empty}

Gone.

:: figure rl_unmade
"""


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


def items(folder, text="shown"):
    """A figure, a table and a film, all of whose words are these."""
    figure, film = folder / "rl_figure2.svg", folder / "waves" / "plain" / "video.mp4"
    film.parent.mkdir(parents=True, exist_ok=True)
    figure.write_text(SVG)
    film.write_bytes(bytes(1000))
    files = [folder / f"rl_table.{kind}" for kind in ("csv", "md", "tex", "html")]
    table = Table("rl_table", text, text, (("", text), (text, text)), ((text, text),))
    write_table(pd.DataFrame({"value": [1]}), table, files)
    return {
        "rl_figure2": page_item(figure, text, text),
        "rl_table": page_item(files[-1], text, text),
        str(film): film_item(str(film), text),
    }


def document(folder, text="shown", **changes):
    values = {"rl": {"updates": text, "films": folder / "waves/plain/video.mp4"}}
    return read_document(DOCUMENT, values, {**items(folder, text), **changes})


def claims(**changes):
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
    published = pd.read_csv(ROOT / "resources" / "published" / "rl_claims.csv")
    rules = {claim.id: claim.rule for claim in CLAIMS}
    return page_claims("rl", verdicts.assign(**changes), published, rules)


def page(document, claims=(), summary="", **changes):
    study = PageStudy("rl", {"Seeds": "2"}, claims, Markup(summary), document)
    fields = {"subtitle": "What they are.", "scale": "demo", "studies": [study]}
    fields |= {"timings": Bars("", []), "colophon": "MIT."}
    return render_page(Page(**{**fields, **changes}))


def test_the_page_shows_every_claim_figure_table_and_film_and_asks_nothing_of_any_server(tmp_path):
    elements = Elements(page(document(tmp_path), claims()))
    ids = Counter(attrs["id"] for _, attrs in elements.seen if "id" in attrs)
    shown = {"rl_figure2", "rl_table", "video_waves_plain", "first", "folded"}
    assert ids.keys() >= {"timings", "rl", "rl-claims", "time", *shown} and "empty" not in ids
    for word in (*(claim.id for claim in CLAIMS), REPRODUCED, NOT_REPRODUCED, NOT_TESTABLE):
        assert word in elements.text
    assert "a; b; c; d; e" in elements.text and "Gone." not in elements.text
    assert elements.text.count("demo scale") > 3
    assert not elements.open
    assert not {tag for tag, _ in elements.seen} & {"script", "link", "iframe", "form", "base"}
    for tag, attrs in elements.seen:
        assert attrs.get("src", "data:").startswith("data:")
        assert "href" not in attrs or tag == "a"
    policy = next(attrs["content"] for _, attrs in elements.seen if "http-equiv" in attrs)
    assert "media-src data:" in policy and "default-src 'none'" in policy
    style = (ROOT / "workflow_scripts/triptych/report/templates/style.css").read_text()
    assert "url(" not in style and "@import" not in style


@pytest.mark.parametrize("evil", [EVIL, EVIL_ATTRIBUTE])
def test_text_from_data_never_becomes_an_element(tmp_path, evil):
    judged = claims(measured=evil, reason=evil, interval=evil)
    write_summary(Summary(evil, [(evil, evil)], evil, Bars(evil, [])), tmp_path / "summary.html")
    hostile = page(
        document(tmp_path, evil),
        judged,
        (tmp_path / "summary.html").read_text(),
        **{"subtitle": evil, "scale": evil, "colophon": f"{evil}\n\n- {evil}\n\n# {evil}"},
    )
    elements = Elements(hostile)
    assert "script" not in {tag for tag, _ in elements.seen}
    assert not any(name.startswith("on") for _, attrs in elements.seen for name in attrs)
    sources = {attrs.get("src", "")[:5] for tag, attrs in elements.seen if tag == "img"}
    assert sources == {"data:"}
    assert evil in elements.text  # shown as the text that it is


def test_a_document_is_text_and_products_in_its_order_some_folded(tmp_path):
    read = document(tmp_path)
    assert (read.title, read.paper) == ("A study", "Of *robots*, shown updates.")
    first, folded = read.sections
    assert (first.anchor, first.title, first.folded) == ("first", "First", False)
    assert [block.item.kind if block.item else block.text for block in first.blocks] == [
        "<p>Text before.</p>\n",
        "figure",
        "<p>Text between.</p>\n",
        "table",
        "film",
    ]
    assert [block.folded for block in first.blocks] == [False, False, False, True, False]
    assert folded.folded and first.keys == ["rl.sweeps", "rl.tasks"]


@pytest.mark.parametrize("line", [":: figuer rl_figure2", ":: table rl_figure2", ":: figure"])
def test_a_directive_that_is_none_or_of_another_kind_is_refused(tmp_path, line):
    with pytest.raises(ValueError, match=line):
        read_document(f"# A\n\n## B {{#b}}\n\n{line}\n", {}, items(tmp_path))


def test_a_row_of_a_claim_shows_what_was_measured_or_what_it_would_take():
    assert {claim["brief"] for claim in claims()} >= {"first; second"}
    untested = {claim["brief"] for claim in claims(verdict=NOT_TESTABLE)}
    assert untested == {"a; b; c; d; e"}
    assert {claim["brief"] for claim in claims(reason="", verdict=NOT_TESTABLE)} == {DASH}


@cache
def outputs(scale):
    """Of all jobs of a run."""
    jobs = planned_run(ROOT, [ROOT / file for file in FILES[scale]]).jobs
    return [output for job in jobs for output in job.outputs]


@pytest.mark.slow
@pytest.mark.parametrize("study", NAMES)
@pytest.mark.parametrize("scale", ["demo", "beyond"])
def test_a_document_shows_each_product_of_a_run_once_and_names_keys_of_the_config(
    warm_python, study, scale
):
    """A product that no shipped scale has is named in the rules."""
    made = Counter(
        Path(output).stem
        for output in outputs(scale)
        if re.search(rf"/(figures/{study}_.*\.svg|tables/{study}_.*\.html)$", output)
    )
    text = (ROOT / f"report/{study}.md").read_text(encoding="utf-8")
    named = re.findall(r"^:: (?:fold )?(figure|table) (\w+)$", text, re.M)
    known = {name: Item(kind, name, Markup(), None) for kind, name in named}
    config, films = shipped(scale, ROOT), ["results/a/plain/video.mp4"]
    known |= {film: Item("film", film, Markup(), None) for film in films}
    values = {**config, "films": films, "missing": {"lake": "no answer"}}
    read = read_document(text, values, known)
    blocks = [block for section in read.sections for block in section.blocks if block.item]
    shown = Counter(block.item.title for block in blocks)
    assert {*shown.values()} == {1}
    del made[f"{study}_summary"]
    assert made.keys() <= shown.keys()
    rules = "".join(file.read_text() for file in (ROOT / "rules").glob(f"{study}*.smk"))
    assert not [name for name in shown.keys() - made.keys() - {*films} if f'"{name}"' not in rules]
    for key in (key for section in read.sections for key in section.keys):
        value = config
        for part in key.split("."):
            assert part in value, key
            value = value[part]


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
        "rl_figure2/rl_figure2": (
            ["results/rl/a/scores.csv", "results/rl/b/scores.csv"],
            ["results/figures/rl_figure2.svg", "results/tables/rl_figure2.csv"],
        ),
    }
    code = {"rl/figure2.py": "1", "triptych/report/tables.py": "2"}
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


def test_below_a_figure_stand_rule_script_keys_and_data(records, tmp_path):
    origin = origins(records)["rl_figure2"]
    with_origin = items(tmp_path)["rl_figure2"]._replace(origin=origin)
    elements = Elements(page(document(tmp_path, rl_figure2=with_origin)))
    text = " ".join(elements.text.split())
    for shown in ("Made by rl_figure2", "workflow_scripts/rl/figure2.py", "rl_train (2 jobs)"):
        assert shown in text
    assert text.count("Keys of the config: rl.sweeps, rl.tasks.") == 1
    links = [attrs["href"] for tag, attrs in elements.seen if tag == "a"]
    assert [link for link in links if link.endswith(("csv", "svg"))] == [
        "tables/rl_figure2.csv",
        "figures/rl_figure2.svg",
    ]


def test_time_is_that_of_snakemakes_benchmarks_and_of_earlier_attempts(records):
    bars = time_by_rule(records)
    train, draw = bars.bars
    assert (train.label, draw.label) == ("rl_train", "rl_figure2")
    assert train.value == (30.0 + 70.5) + 90.0
    assert train.text == "2 jobs, 3 min 10 s, 2.00 GB"
    assert "3 jobs" in bars.caption and "4 min 40 s" in bars.caption
