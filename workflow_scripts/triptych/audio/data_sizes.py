"""How large the audio study's data are, and what new captions cost."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from triptych.audio.captions.cost import Prices, estimated_input, expected_output
from triptych.audio.captions.prompt import caption_prompt
from triptych.audio.experiments import audio_runs


@dataclass(frozen=True)
class Clips:
    """Some recordings; the captions of all of them together."""

    count: int
    seconds: float  # mean length
    captions: int

    @property
    def total_seconds(self) -> float:
        """Of all recordings together."""
        return self.count * self.seconds


CLOTHO = {
    "development": Clips(3839, 23.99 * 3600 / 3839, 19_195),
    "validation": Clips(1045, 6.57 * 3600 / 1045, 5_225),
    "evaluation": Clips(1045, 6.50 * 3600 / 1045, 5_225),
    "retrieval_audio": Clips(1000, 22.5, 1_000),
}
"""Clotho v2.1 and the challenge's set: clips and hours as counted from its files."""
AUDIOCAPS = {"all": Clips(51_308, 10.0, 49_838 + 2_475 + 4_875)}
WAVCAPS = {
    "AudioSet_SL": Clips(108_317, 10.0, 108_317),
    "BBC_Sound_Effects": Clips(31_201, 115.04, 31_201),
    "FreeSound": Clips(262_300, 85.98, 262_300),
    "SoundBible": Clips(1_232, 13.12, 1_232),
}
"""Table 1 of Mei et al. 2023 (arXiv:2303.17395): 403,050 clips, 7,568 hours."""


CAPTION = "A person is walking on gravel while birds are singing in the trees nearby"
KEYWORDS = ("gravel", "footsteps", "walking", "birdsong", "field-recording", "ambience", "spring")
"""Of the mean length of Clotho's captions (11 words and more) and number of its keywords (7)."""


def clips_of(config: Mapping[str, Any], dataset: str) -> dict[str, Clips]:
    """A data set's parts by name: published, or as the config has them synthesised."""
    source = config["sources"][dataset]
    if source["source"] == "none":
        return {}
    if source["source"] == "synthesised":
        made = config["synthesis"]
        mean = sum(made["seconds"]) / 2
        if dataset != "clotho":
            return {"all": Clips(made[dataset], mean, made[dataset])}
        named = {"retrieval_audio": "challenge"}
        return {
            split: Clips(made[named.get(split, split)], mean, 5 * made[named.get(split, split)])
            for split in CLOTHO
        }
    parts = {"clotho": CLOTHO, "audiocaps": AUDIOCAPS, "wavcaps": WAVCAPS}[dataset]
    return {name: parts[name] for name in source.get("parts", parts)}


def trained_on(
    config: Mapping[str, Any], corpus: str, datasets: tuple[str, ...]
) -> list[tuple[str, Clips]]:
    """Data set and clips of each part that a corpus trains on, before leaks are left out."""
    chosen = config["corpora"][corpus]
    first = {"audiocaps"} if chosen.get("audiocaps_captions") == "first" else set()
    return [
        (dataset, replace(clips, captions=clips.count) if dataset in first else clips)
        for dataset in datasets
        for split, clips in clips_of(config, dataset).items()
        if dataset != "clotho" or split in chosen["splits"]
    ]


def judged_by(config: Mapping[str, Any], corpus: str) -> dict[str, Clips]:
    """The splits of Clotho that a corpus doesn't train on."""
    splits = config["corpora"][corpus]["splits"]
    return {
        split: clips for split, clips in clips_of(config, "clotho").items() if split not in splits
    }


def rephrased(config: Mapping[str, Any]) -> int:
    """Captions that new ones are written for: of every split that a fine-tuned model trains on."""
    runs = audio_runs(config)
    corpora = set(runs[runs["captions"] == "gpt"]["corpus"])
    splits = {split for corpus in corpora for split in config["corpora"][corpus]["splits"]}
    return sum(
        clips.captions for split, clips in clips_of(config, "clotho").items() if split in splits
    )


def caption_money(config: Mapping[str, Any]) -> float:
    """What the backend `openai` asks for all of them, at the config's prices."""
    captions = config["captions"]
    prices = Prices(**captions["prices"])
    count = captions["variations"]
    prompt = estimated_input(caption_prompt(CAPTION, KEYWORDS, count))
    answer = expected_output(count, captions["thinking_tokens"])
    return rephrased(config) * prices.of(prompt, answer)
