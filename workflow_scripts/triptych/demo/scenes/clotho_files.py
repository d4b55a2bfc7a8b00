"""The demo's Clotho: tables as in Clotho v2.1, the challenge's retrieval set and its labels.

clotho_captions_{split}.csv     file_name,caption_1,...,caption_5                      UTF-8
clotho_metadata_{split}.csv     file_name,keywords,sound_id,sound_link,start_end_samples,
                                manufacturer,license                                ISO-8859-1
retrieval_audio_metadata.csv    the same columns; retrieval_captions.csv: caption
metadata_eval.csv               query,audio_filenames (a Python list)
development/ validation/ evaluation/ retrieval_audio/    44.1 kHz, 16 bit, mono
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from triptych.core.files import write_csv
from triptych.demo.scenes.catalogue import LABELLED, Clip
from triptych.demo.scenes.language import Caption, answers, captions, keywords
from triptych.demo.scenes.names import LICENSES, archived, author, sound_link
from triptych.demo.scenes.signals import RATE, keyed

FILE_RATE = 44_100
CHALLENGE_FOLDER = "retrieval_audio"
UNCUT = 0.27
"""Part of clips whose start_end_samples is empty, as in Clotho's validation split."""


def captions_of(
    clips: Sequence[Clip], count: int, held_out: bool, seed: int
) -> list[list[Caption]]:
    """`count` captions of each clip, all of them different.

    held_out: whether words that training lacks may occur.
    """
    taken: set[str] = set()
    return [
        captions(clip.scene, count, keyed("captions", seed, clip.name), held_out, taken)
        for clip in clips
    ]


def clotho_captions(
    splits: Mapping[str, Sequence[Clip]], seed: int
) -> dict[str, list[list[Caption]]]:
    """Five captions of each clip of the labelled splits."""
    return {
        split: captions_of(splits[split], 5, split != "development", seed) for split in LABELLED
    }


def write_clotho_tables(
    splits: Mapping[str, Sequence[Clip]],
    captions: Mapping[str, list[list[Caption]]],
    folder: Path,
    seed: int,
) -> None:
    """All tables of `splits` (development, validation, evaluation, challenge)."""
    for split, texts in captions.items():
        clips = splits[split]
        write_csv(_caption_table(clips, texts), folder / f"clotho_captions_{split}.csv")
        _write_latin(_metadata(clips, seed), folder / f"clotho_metadata_{split}.csv")
        if split == "evaluation":
            write_csv(_labels(clips, texts), folder / "metadata_eval.csv")
    challenge = splits["challenge"]
    queries = [own[0].text for own in captions_of(challenge, 1, True, seed)]
    order = keyed("query order", seed).permutation(len(queries))
    shuffled = pd.DataFrame({"caption": [queries[i] for i in order]})
    write_csv(shuffled, folder / "retrieval_captions.csv")
    _write_latin(_metadata(challenge, seed), folder / "retrieval_audio_metadata.csv")


def clotho_path(clip: Clip) -> str:
    """Where the sound of a clip lies in the folder of the tables."""
    if clip.split == "challenge":
        return f"{CHALLENGE_FOLDER}/{archived(clip.file_name)}"
    return f"{clip.split}/{clip.file_name}"


def _caption_table(clips: Sequence[Clip], captions: list[list[Caption]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "file_name": [clip.file_name for clip in clips],
            **{f"caption_{i + 1}": [own[i].text for own in captions] for i in range(5)},
        }
    )


def _metadata(clips: Sequence[Clip], seed: int) -> pd.DataFrame:
    rows = []
    for clip in clips:
        generator = keyed("metadata", seed, clip.name)
        uploader = author(generator)
        start = 512 * int(generator.integers(0, 4000))
        end = start + 2 * round(clip.seconds * RATE)
        rows.append(
            {
                "file_name": clip.file_name,
                "keywords": ";".join(keywords(clip.scene, generator)),
                "sound_id": clip.sound_id,
                "sound_link": sound_link(clip.sound_id, uploader),
                "start_end_samples": "" if generator.uniform() < UNCUT else f"[{start}, {end}]",
                "manufacturer": uploader,
                "license": LICENSES[int(generator.integers(len(LICENSES)))],
            }
        )
    # whatever the draws: each table has an uploader beyond ASCII and an excerpt that is unknown
    rows[0] |= {"manufacturer": "Óscar Ñandú", "start_end_samples": ""}
    rows[0]["sound_link"] = sound_link(str(rows[0]["sound_id"]), "Óscar Ñandú")
    return pd.DataFrame(rows)


def _write_latin(table: pd.DataFrame, path: Path) -> None:
    path.write_bytes(table.to_csv(index=False, lineterminator="\n").encode("iso-8859-1"))


def _labels(clips: Sequence[Clip], captions: list[list[Caption]]) -> pd.DataFrame:
    """Every caption with all clips that it describes: the same sounds in the same relation, with
    the attributes that it mentions."""
    rows = [
        (
            caption.text,
            str(
                [
                    other.file_name
                    for other in clips
                    if answers(other.scene, clip.scene, caption.mentions)
                ]
            ),
        )
        for clip, own in zip(clips, captions, strict=True)
        for caption in own
    ]
    return pd.DataFrame(sorted(rows), columns=["query", "audio_filenames"])
