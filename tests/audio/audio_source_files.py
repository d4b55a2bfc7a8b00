"""Small files in the exact layouts of Clotho, AudioCaps, WavCaps and the leak lists."""

import csv
import json

CAPTION_HEADER = ["file_name", *(f"caption_{number}" for number in range(1, 6))]
METADATA_HEADER = ["file_name", "keywords", "sound_id", "sound_link", "start_end_samples", "author"]
# split: (file name, Freesound id, [start, end] in samples or ""), every quirk once.
CLOTHO = {
    "development": [
        ("Harbour, gulls.wav", "501", "[44100, 882000]"),
        (" kettle with a blank.wav", "502", ""),
        ("unknown origin.wav", "Not found", "[0, 661500]"),
        ("shared with validation.wav", "503", "[0, 661500]"),
    ],
    "validation": [
        ("same recording, other excerpt.wav", "503", "[700000, 1361500]"),
        ("Harbour, gulls.wav", "511", ""),
    ],
    "evaluation": [
        ("tram.wav", "521", "[0, 882000]"),
        ("lost.wav", "Not found", ""),
        ("hail.wav", "522", "[0, 882000]"),
    ],
}
CHALLENGE = [("Wet Road : Night.wav", "531", ""), ("gate: creak.wav", "532", "[0, 882000]")]
QUERIES = ["A gate creaks twice.", "Cars pass by, on a wet road."]


def write_rows(path, header, rows, encoding="utf-8", delimiter=","):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding=encoding) as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerows([header, *rows])


def captions_of(file_name):
    """Five captions, one with a comma and one with quotation marks."""
    stem = file_name.strip().removesuffix(".wav")
    return [
        f"Somebody plays {stem}.",
        f"{stem}, and then silence",
        f'a voice says "{stem}"',
        f"Far away {stem} can be made out",
        f"{stem} without end",
    ]


def metadata_row(file_name, sound_id, start_end):
    link = "" if sound_id == "Not found" else f"https://freesound.org/people/x/sounds/{sound_id}"
    keywords = "field-recording;zoom-h4n; café ;"
    return [file_name, keywords, sound_id, link, start_end, "José Müller"]


def write_clotho(folder, splits=None, challenge=True):
    """Clotho's files; returns the folder."""
    for split, clips in (CLOTHO if splits is None else splits).items():
        captions = [[name, *captions_of(name)] for name, *_ in clips]
        write_rows(folder / f"clotho_captions_{split}.csv", CAPTION_HEADER, captions)
        write_metadata(folder / f"clotho_metadata_{split}.csv", reversed(clips))
    if challenge:
        write_metadata(folder / "retrieval_audio_metadata.csv", CHALLENGE)
        write_rows(folder / "retrieval_captions.csv", ["caption"], [[text] for text in QUERIES])
    return folder


def write_metadata(path, clips):
    """Of clips (file name, Freesound id, [start, end])."""
    rows = [metadata_row(*clip) for clip in clips]
    write_rows(path, METADATA_HEADER, rows, encoding="iso-8859-1")


def write_wavcaps(folder, part, records):
    """One part's JSON file in the layout of the hub repository."""
    parts = {
        "AudioSet_SL": "as",
        "BBC_Sound_Effects": "bbc",
        "FreeSound": "fsd",
        "SoundBible": "sb",
    }
    path = folder / "json_files" / part / f"{parts[part]}_final.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"num_captions_per_audio": 1, "data": records}), encoding="utf-8")
    return folder


def record(identifier, caption="A sound goes on.", duration=12.5, **more):
    return {"id": identifier, "caption": caption, "duration": duration, "audio": "wav_path", **more}


def write_leaks(folder, full=(), wavcaps_all=(), wavcaps_test=(), dcase=(), videos=()):
    """The four leak lists under their own names and in their own layouts."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, sounds in (("all", wavcaps_all), ("test", wavcaps_test)):
        content = {"AudioSet": [f"Y{video}.wav" for video in videos], "FreeSound": list(sounds)}
        path = folder / f"blacklist_exclude_{name}_ac.json"
        path.write_text(json.dumps(content, indent=4), encoding="utf-8")
    write_rows(folder / "blacklist_clotho.full.v2.csv", ["index", "id"], list(enumerate(full)))
    excluded = folder / "dcase2025_task6_excluded_freesound_ids.csv"
    write_rows(excluded, ["sound_id"], [[item] for item in dcase])
    return folder
