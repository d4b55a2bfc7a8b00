"""The page: whole, self-contained, and safe whatever the data say."""

from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
import synthetic

from triptych.report.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED
from triptych.report.markdown import inline, render
from triptych.report.page import (
    Page,
    PageFigure,
    PageStudy,
    PageVideo,
    Section,
    page_claims,
    page_figures,
    render_page,
)
from triptych.report.tables import Table
from triptych.report.timings import duration, job_table, timing_table, versions
from triptych.rl.report.claims import CLAIMS
from triptych.rl.report.inference import latency_long
from triptych.rl.report.memory import table1_long
from triptych.rl.report.page import TITLES, rl_sections
from triptych.rl.report.scores import run_scores
from triptych.rl.report.sensors import inputs_long
from triptych.rl.report.tables import comparisons_long, scores_long, variants_long

RESOURCES = Path(__file__).parents[2] / "resources"
EVIL = "<script>alert(1)</script>"
EVIL_ATTRIBUTE = '"><img src=x onerror=alert(1)>'


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


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("figures")
    for name in TITLES:
        (folder / f"{name}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    return [folder / f"{name}.svg" for name in TITLES]


def sections(pictures, layers=None, datasets=None, latency=None):
    published = pd.read_csv(RESOURCES / "published" / "rl_table1_megabytes.csv")
    latency = synthetic.latency() if latency is None else latency
    return rl_sections(
        figures=page_figures(
            "rl", TITLES, pictures, {name: f"Caption of {name}." for name in TITLES}
        ),
        table1=table1_long(synthetic.sizes(), published, task="halfcheetah", scale="demo"),
        scores=scores_long(
            run_scores(synthetic.scores(), 2), sparsity_percent=95, scale="demo", units={}
        ),
        latency=latency_long(latency, scale="demo"),
        comparisons=comparisons_long(run_scores(synthetic.scores(), 2), scale="demo", units={}),
        inputs=inputs_long(synthetic.inputs(), sparsity_percent=95, scale="demo"),
        latency_task="halfcheetah",
        observations="normalised",
        varied=variants_long(run_scores(synthetic.with_a_variant(), 2), scale="demo", units={}),
        variants=synthetic.VARIANTS,
        units={},
        layers=synthetic.layers() if layers is None else layers,
        datasets=synthetic.datasets() if datasets is None else datasets,
    )


PRICES = {"rl-bcq-95": "config/night.yaml decides it."}


def claims(prices={}, **changes):  # noqa: B006
    verdicts = pd.DataFrame(
        {
            "id": [claim.id for claim in CLAIMS],
            "verdict": [REPRODUCED, NOT_REPRODUCED, NOT_TESTABLE, *[REPRODUCED] * 4],
            "measured": "first; second",
            "interval": None,
            "scale": "demo",
            "reason": "a; b; c; d; e",
        }
    )
    published = pd.read_csv(RESOURCES / "published" / "rl_claims.csv")
    return page_claims("rl", verdicts.assign(**changes), published, CLAIMS, prices)


def study(**changes):
    fields = {
        "anchor": "rl",
        "title": "A study",
        "paper": "Of *robots*.",
        "facts": {"Seeds": "2"},
        "claims": [],
        "sections": [],
    }
    return PageStudy(**{**fields, **changes})


def page(claims=(), sections=(), **changes):
    jobs = job_table({})
    fields = {
        "title": "Studies",
        "subtitle": "What they are.",
        "scale": "demo",
        "studies": [study(claims=claims, sections=sections)],
        "timings": timing_table(jobs),
        "versions": {},
        "differences": "None.",
        "colophon": "MIT.",
    }
    return render_page(Page(**{**fields, **changes}))


def test_the_page_shows_every_figure_table_claim_and_its_scale(pictures):
    html = page(claims=claims(), sections=sections(pictures))
    elements = Elements(html)
    ids = {attrs.get("id") for _, attrs in elements.seen}
    tables = {"rl_table1", "rl_scores", "rl_emptied_layers", "rl_datasets", "timings"}
    assert ids >= set(TITLES) | tables | {"rl", "rl-claims", "time", "differences"}
    for claim in CLAIMS:
        assert claim.id in elements.text
    assert elements.text.count("demo scale") > 5
    for word in (REPRODUCED, NOT_REPRODUCED, NOT_TESTABLE):
        assert word in elements.text
    assert not elements.open


def test_the_page_asks_nothing_of_any_server(pictures):
    elements = Elements(page(claims=claims(), sections=sections(pictures)))
    tags = {tag for tag, _ in elements.seen}
    assert not tags & {"script", "link", "iframe", "object", "embed", "form", "base"}
    for tag, attrs in elements.seen:
        if "src" in attrs:
            assert tag == "img" and attrs["src"].startswith("data:image/")
        if "href" in attrs:
            assert tag == "a"
    style = (Path(render_page.__code__.co_filename).parent / "templates/style.css").read_text()
    assert "url(" not in style and "@import" not in style


@pytest.mark.parametrize("evil", [EVIL, EVIL_ATTRIBUTE])
def test_text_from_data_never_becomes_an_element(pictures, evil):
    layers = synthetic.layers().replace({"task": {"hopper": evil}, "layer": {"e2": evil}})
    datasets = synthetic.datasets(source=evil).assign(task=evil, file=evil)
    latency = synthetic.latency().replace({"kernel": {"torch CSR": evil}})
    table = Table(evil, evil, evil, (("", evil), (evil, evil)), ((evil, evil),))
    figure = PageFigure(evil, evil, evil, "data:image/png;base64,AAAA")
    video = PageVideo(evil, evil, evil, "data:video/mp4;base64,AAAA", evil)
    hostile = page(
        title=evil,
        subtitle=evil,
        scale=evil,
        studies=[
            PageStudy(
                evil,
                evil,
                evil,
                {evil: evil},
                claims(measured=evil, reason=evil, interval=evil),
                [
                    *sections(pictures, layers, datasets, latency),
                    Section(evil, evil, evil, [figure], [table], [video]),
                ],
            )
        ],
        versions={evil: evil},
        differences=f"{evil}\n\n- {evil}\n\n| {evil} |\n|---|\n| {evil} |\n\n# {evil}",
        colophon=evil,
    )
    elements = Elements(hostile)
    assert "script" not in {tag for tag, _ in elements.seen}
    assert not any(name.startswith("on") for _, attrs in elements.seen for name in attrs)
    sources = {attrs.get("src", "")[:5] for tag, attrs in elements.seen if tag == "img"}
    assert sources == {"data:"}
    # It is shown as the text that it is, not dropped.
    assert evil in elements.text


def test_more_reasons_than_three_are_counted_and_listed():
    text = Elements(page(claims=claims())).text
    assert "a; b; c; and 2 more" in text and "a; b; c; d; e" in text


def test_collected_data_are_said_not_to_be_d4rls(pictures):
    collected = Elements(page(sections=sections(pictures))).text
    assert "easier to clone" in collected
    d4rl = sections(pictures, datasets=synthetic.datasets("d4rl"))
    assert "easier to clone" not in Elements(page(sections=d4rl)).text


def test_a_figure_without_title_or_caption_is_named(pictures):
    captions = {name: "A caption." for name in TITLES}
    with pytest.raises(ValueError, match="lacks the title of rl_figure1"):
        page_figures("rl", {}, pictures[:1], captions)
    without = {name: text for name, text in captions.items() if name != "rl_figure2"}
    with pytest.raises(ValueError, match="lacks the caption of rl_figure2"):
        page_figures("rl", TITLES, pictures, without)
    assert page_figures("style", {}, pictures, {}) == {}  # of other studies


def test_a_verdict_on_an_unknown_claim_is_an_error():
    verdicts = pd.DataFrame({"id": ["rl-new"], "verdict": [REPRODUCED]})
    published = pd.read_csv(RESOURCES / "published" / "rl_claims.csv")
    with pytest.raises(ValueError, match="rl-new"):
        page_claims("rl", verdicts, published, CLAIMS, {})


def test_every_product_of_the_study_has_a_caption_of_its_own():
    texts = [
        (RESOURCES / "captions" / f"{name}.rst").read_text()
        for name in [*TITLES, "rl_table1", "rl_scores", "report_claims", "report_page"]
    ]
    assert len(set(texts)) == len(texts) and all(len(text) > 80 for text in texts)


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
    *(
        "<!-- -->",
        "<![CDATA[x]]>",
        "<?php x ?>",
        "<b>bold</b>",
        "&lt;script&gt;",
        "    <b>code</b>",
    ),
    *("![x](https://example.org/x.png)", "<https://example.org>", "<javascript:alert(1)>"),
    *("[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](&#106;avascript:alert(1))"),
    *("[x](data:text/html,y)", "[x](vbscript:y)", "[x](//example.org/x.html)", "[x](/x.html)"),
    *('[x](https://example.org/"onclick="y)', "[x](<https://example.org/ onclick=y>)"),
    *('[x](https://example.org/ "t\' onclick=y")', '[x](x.html" onclick="y)'),
    *("[x]: javascript:alert(1)\n\n[x]", "> " * 200 + "x", "[" * 2000, "*" * 2000 + "x"),
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("written", [inline, render])
def test_hostile_markdown_makes_no_element_but_the_house_s_own(written, text):
    elements = Elements(str(written(text)))
    assert not elements.open
    lists_and_tables = {"ul", "li", "div", "table", "thead", "tbody", "tr", "th", "td"}
    allowed = {"p", "h3", "code", "strong", "em", "a", *lists_and_tables}
    for tag, attributes in elements.seen:
        assert tag in allowed
        assert set(attributes) <= {"href", "title", "class", "tabindex"}
        address = attributes.get("href", "search.html")
        assert address.startswith("https://example.org") or address == "search.html"


def test_timings_sum_the_jobs_of_a_rule():
    record = {"rule": "rl_train", "peak_memory_bytes": 2e9, "device": "cpu"}
    records = {f"{seconds}": {**record, "seconds": seconds} for seconds in (30.0, 90.0)}
    table = timing_table(job_table(records))
    assert table.rows[0][:5] == ("rl_train", "2", "2 min 00 s", "1 min 30 s", "2.00 GB")


def test_a_sidecar_without_keys_is_shown_as_unknown():
    row = timing_table(job_table({"provenance/rl_prune/a.json": {}})).rows[0]
    assert row[0] == "rl_prune" and row[5] == "unknown"


def test_versions_that_differ_between_jobs_are_all_shown():
    jobs = job_table({version: {"packages": {"torch": version}} for version in ("2.1", "2.2")})
    assert versions(jobs, ["torch", "mujoco"]) == {"torch": "2.1, 2.2"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3.21, "3.2 s"),
        (59.4, "59 s"),
        (59.9, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3599.7, "1 h 00 min"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations_read_as_a_person_says_them(seconds, text):
    assert duration(seconds) == text
