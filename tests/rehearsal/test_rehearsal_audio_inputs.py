"""The audio study's stand-ins: sizes, names and layouts are those of the real sources."""

import hashlib
import io
import json
import math
import os
import re
import subprocess
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import audio_inputs
import audio_tables
import numpy as np
import pandas as pd
import py7zr
import pytest
import soundfile
import torch
import yaml
from audio_inputs import make_audio
from encoder_repositories import (
    ENCODERS,
    Encoder,
    configuration,
    published_shapes,
    tokenizer,
    write_encoder,
)
from safetensors.numpy import load_file, save_file
from server import serving
from sources import ROOT, real_sources

from triptych.audio.models.audio_encoders import PasstSettings
from triptych.audio.models.sentences import SentenceEncoder

# Weights without pooler and heads, as counted for the published models.
ENCODER_WEIGHTS = {
    "bert_base": 108_891_648,
    "bert_large": 334_092_288,
    "roberta_base": 124_055_040,
    "roberta_large": 354_310_144,
}


def file_length(encoder):
    """Bytes of a safetensors file: eight, the table of contents as JSON, all numbers."""
    shapes, end = published_shapes(encoder), 0
    table = {"__metadata__": {"format": "pt"}}
    for name in sorted(shapes):
        kind, width = ("I64", 8) if name.endswith("position_ids") else ("F32", 4)
        begin, end = end, end + width * math.prod(shapes[name])
        table[name] = {"dtype": kind, "shape": list(shapes[name]), "data_offsets": [begin, end]}
    text = len(json.dumps(table, separators=(",", ":")))
    return 8 + text + -text % 8 + end


@pytest.mark.parametrize(("name", "difference"), [("bert_base", 0), ("roberta_base", 200)])
def test_files_of_weights_have_the_published_length(name, difference):
    published = real_sources()["audio"]["text_models"]["files"][name]["size"]
    assert abs(file_length(ENCODERS[name]) - published) <= difference


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_are_those_of_the_library_at_their_true_size(name):
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

    encoder = ENCODERS[name]
    config, model = {"bert": (BertConfig, BertModel), "roberta": (RobertaConfig, RobertaModel)}[
        encoder.kind
    ]
    with torch.device("meta"):
        made = model(config(**configuration(encoder)), add_pooling_layer=False)
    assert sum(each.numel() for each in made.parameters()) == ENCODER_WEIGHTS[name]
    later_names = {"gamma": "weight", "beta": "bias"}
    stored = {
        re.sub(r"LayerNorm\.(gamma|beta)$", lambda m: f"LayerNorm.{later_names[m[1]]}", key): shape
        for key, shape in published_shapes(encoder).items()
    }
    wanted = {f"{encoder.kind}.{key}": tuple(v.shape) for key, v in made.named_parameters()}
    assert wanted.items() <= stored.items()
    assert {key.split(".")[0] for key in stored} == {
        encoder.kind,
        "cls" if encoder.kind == "bert" else "lm_head",
    }


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_an_encoder_takes_its_weights_from_under_the_published_names(tmp_path, kind):
    """BERT's layer norms are called gamma and beta there, and heads stand beside the encoder."""
    write_encoder(tmp_path, Encoder(kind, 16, 2, 2), ["a gate creaks"], seed=0)
    file = tmp_path / "model.safetensors"
    random = np.random.default_rng(1)
    stored = {
        key: value if key.endswith("ids") else random.normal(size=value.shape).astype(np.float32)
        for key, value in load_file(file).items()
    }
    save_file(stored, file, {"format": "pt"})
    model = SentenceEncoder.from_folder(tmp_path, dropout=0.2).model
    first = {"weight": "gamma", "bias": "beta"} if kind == "bert" else {}
    for name, value in model.named_parameters():
        stem, _, end = f"{kind}.{name}".rpartition(".")
        end = first.get(end, end) if "LayerNorm" in stem else end
        assert np.array_equal(value.detach().numpy(), stored[f"{stem}.{end}"])


def test_tokenizers_number_their_special_tokens_as_published():
    bert = tokenizer(ENCODERS["bert_base"], ["a gate creaks twice", "an engine hums"])
    assert bert.get_vocab_size() == 30_522
    specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    assert [bert.token_to_id(token) for token in specials] == [0, 100, 101, 102, 103]
    assert bert.encode("a gate creaks").tokens == ["[CLS]", "a", "gate", "creaks", "[SEP]"]
    assert bert.encode("ghat").tokens == ["[CLS]", "g", "##h", "##a", "##t", "[SEP]"]
    roberta = tokenizer(ENCODERS["roberta_base"], ["a gate creaks twice", "an engine hums"])
    assert roberta.get_vocab_size() == 50_265
    specials = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    assert [roberta.token_to_id(token) for token in specials] == [0, 1, 2, 3, 50_264]
    encoded = roberta.encode("a gate creäks")
    assert (encoded.ids[0], encoded.ids[-1]) == (0, 2)
    assert roberta.decode(encoded.ids) == "a gate creäks"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(served folder, address, sources, environment), of tiny models and short sounds."""
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch, serving(folder) as address:
        tiny = {name: Encoder(each.kind, 16, 1, 2) for name, each in ENCODERS.items()}
        patch.setattr(audio_inputs, "ENCODERS", tiny)
        passt = PasstSettings(
            stride=(16, 16), frames=100, dim=24, depth=1, heads=2, patchout=(0, 0)
        )
        patch.setattr(audio_inputs, "PUBLISHED", dict.fromkeys(audio_inputs.PUBLISHED, passt))
        patch.setattr(audio_tables, "LONGEST", 1.5)
        patch.setattr(audio_tables, "USUAL", 0.5)
        sources, environment = make_audio(folder, address)
        yield folder, address, sources["audio"], environment


def get(address):
    with urllib.request.urlopen(address) as answer:
        return answer.read()


def test_every_file_is_served_with_the_real_source_s_kinds_of_sums(made):
    _, address, sources, _ = made
    real = real_sources()["audio"]
    assert sources.keys() == real.keys()
    compared = 0
    for group, each in real.items():
        if group in ("finished", "mp3"):
            continue  # no scale asks for a finished model of others, or for copies as MP3
        for name, entry in each["files"].items():
            ours = sources[group]["files"][name]
            assert ours.keys() == entry.keys()
            for key in ("size", "md5", "sha256"):
                assert (ours.get(key) is None) == (entry.get(key) is None)
            if name == "clotho_v2_gpt.json":
                continue  # nothing asks for it
            assert {key: ours[key] for key in ("repository", "revision") if key in entry} == {
                key: entry[key] for key in ("repository", "revision") if key in entry
            }
            url = ours.get("url") or (
                f"{address}/{ours['repository']}/resolve/{ours['revision']}/model.safetensors"
            )
            assert url.startswith(address)
            content = get(url)
            if ours["size"] is not None:
                assert len(content) == ours["size"]
            for algorithm in ("md5", "sha256"):
                if ours.get(algorithm) is not None:
                    assert hashlib.new(algorithm, content).hexdigest() == ours[algorithm]
                    compared += 1
    assert compared > 15


def served(made, group, name):
    return get(made[2][group]["files"][name]["url"])


def test_clotho_s_tables_have_their_oddities(made):
    table = served(made, "clotho", "clotho_metadata_development.csv")
    with pytest.raises(UnicodeDecodeError):
        table.decode("utf-8")
    metadata = pd.read_csv(io.BytesIO(table), encoding="iso-8859-1", dtype=str)
    assert ",".join(metadata) == (
        "file_name,keywords,sound_id,sound_link,start_end_samples,manufacturer,license"
    )
    assert "Not found" in set(metadata["sound_id"])
    assert metadata["start_end_samples"].isna().any()
    assert metadata["file_name"].str.startswith(" ").any()
    captions = pd.read_csv(
        io.BytesIO(served(made, "clotho", "clotho_captions_development.csv")), encoding="utf-8"
    )
    assert list(captions) == ["file_name", *(f"caption_{n}" for n in range(1, 6))]
    assert set(captions["file_name"]) == set(metadata["file_name"])


def test_clotho_s_archives_hold_a_folder_of_mono_wav_files(made, tmp_path):
    for name, wrapper in (
        ("clotho_audio_development.7z", "development"),
        ("retrieval_audio.7z", "test"),
    ):
        with py7zr.SevenZipFile(io.BytesIO(served(made, "clotho", name))) as archive:
            archive.extractall(tmp_path)
        files = list((tmp_path / wrapper).iterdir())
        assert len(files) == made[2]["clotho"]["files"][name].get("clips", 11)
        for file in files:
            if file.name == "damaged.wav":
                continue
            sound = soundfile.info(file)
            assert (sound.samplerate, sound.channels, sound.subtype) == (44_100, 1, "PCM_16")
    challenge = pd.read_csv(
        io.BytesIO(served(made, "clotho", "retrieval_audio_metadata.csv")), encoding="iso-8859-1"
    )
    on_disk = {file.name for file in (tmp_path / "test").iterdir()}
    assert {"Wet Road : Night.wav", "gate: creak.wav"} == {
        name for name in challenge["file_name"] if name not in on_disk
    }
    assert {"Wet Road_Night.wav", "gate_creak.wav"} < on_disk


def test_audiocaps_has_one_caption_a_clip_in_training_and_five_elsewhere(made):
    for split, count in (("train", 1), ("val", 5), ("test", 5)):
        table = pd.read_csv(io.BytesIO(served(made, "audiocaps", f"{split}.csv")))
        assert list(table) == ["audiocap_id", "youtube_id", "start_time", "caption"]
        assert table["youtube_id"].str.fullmatch(r"[\w-]{11}").all()
        assert set(table.groupby("youtube_id").size()) == {count}


def test_the_stand_in_for_yt_dlp_cuts_a_window_and_knows_of_lost_videos(made, tmp_path):
    environment = os.environ | made[3]
    options = "--no-playlist --no-progress --quiet --format=bestaudio/best --extract-audio"
    command = ["yt-dlp", *options.split(), "--audio-format=flac", "--download-sections=*12-22"]
    command += [f"--output={tmp_path}/sound.%(ext)s", "--"]
    address = "https://www.youtube.com/watch?v="
    subprocess.run([*command, address + "cars_in_19x"], env=environment, check=True)
    sound = soundfile.info(tmp_path / "sound.flac")
    assert (sound.samplerate, sound.channels, sound.duration) == (48_000, 2, 10.0)
    gone = subprocess.run(
        [*command, address + "gone_video0"], env=environment, capture_output=True, text=True
    )
    assert gone.returncode == 1
    assert gone.stderr == "ERROR: [youtube] gone_video0: Video unavailable\n"


def test_wavcaps_archives_come_in_parts_as_the_hub_lists_them(made):
    _, address, sources, _ = made
    repository, revision = (sources["wavcaps"][key] for key in ("repository", "revision"))
    for part, count in (("FreeSound", 5), ("SoundBible", 1)):
        tree = f"{address}/api/datasets/{repository}/tree/{revision}/Zip_files%2F{part}?expand=x"
        entries = json.loads(get(tree))
        parts = {Path(entry["path"]).name: entry for entry in entries}
        numbered = [f"{part}.z{n:02d}" for n in range(1, len(parts))]
        assert sorted(parts) == [*numbered, f"{part}.zip"]
        assert len(parts) >= count
        whole = b""
        for name in sorted(parts):
            where = f"{address}/datasets/{repository}/resolve/{revision}/Zip_files/{part}/{name}"
            content = get(where)
            assert hashlib.sha256(content).hexdigest() == parts[name]["lfs"]["oid"]
            whole += content
        assert whole[:4] == (b"PK\x07\x08" if numbered else b"PK\x03\x04")
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:  # SoundBible's, of one part
        names = archive.namelist()
        sound = soundfile.info(io.BytesIO(archive.read(names[0])))
    assert all(re.fullmatch(r"mnt/fast/.*/SoundBible_flac/\d+\.flac", name) for name in names)
    assert (sound.samplerate, sound.format) == (32_000, "FLAC")
    records = json.loads(served(made, "wavcaps", "json_files/SoundBible/sb_final.json"))
    assert records.keys() == {"num_captions_per_audio", "data"}
    assert len(names) > len(records["data"])


def test_published_captions_are_records_as_the_authors_code_writes_them(made):
    records = json.loads(served(made, "captions", "variations.json"))
    keys = "idx path caption query response variations finish_reason usage"
    assert {tuple(record) for record in records} == {tuple(keys.split())}
    assert {len(record["variations"]) for record in records} == {5}


def test_the_rehearsal_has_every_model_of_the_paper_and_no_other_pair():
    def read(name):
        return yaml.safe_load((ROOT / "config" / name).read_text())["audio"]

    paper, rehearsal = read("paper.yaml"), read("rehearsal.yaml")
    pairs = [tuple(pair) for pair in rehearsal["pairs"]]
    assert set(pairs) <= {tuple(pair) for pair in paper["pairs"]}
    assert {audio for audio, _ in pairs} == set(paper["audio_models"])
    assert {text for _, text in pairs} == set(paper["text_models"])
    assert not {"audio_models", "text_models", "model", "sources", "captions"} & set(rehearsal)
    amounts = {"batch", "epochs", "rampdown_epochs", "warmup_epochs", "workers"}
    amounts |= {"checkpoint_minutes"}
    assert {key for stage in rehearsal["stages"].values() for key in stage} == amounts


def test_addresses_are_the_real_ones_behind_the_server(made):
    _, address, sources, environment = made
    assert environment["HF_ENDPOINT"] == address
    real = real_sources()["audio"]["passt"]["files"]["passt_s15"]["url"]
    ours = sources["passt"]["files"]["passt_s15"]["url"]
    parts = urlsplit(real)
    assert ours == f"{address}/{parts.netloc}{parts.path}"
