"""Files of word vectors: every form becomes the same file, and a wrong one is reported in one line."""

from __future__ import annotations

import gzip
import json
import math
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from test_training_loop import CONFIG, make_trainer
from tpn2f.errors import ConfigError, DataError, N2FError
from tpn2f.training.vector_file import convert_vectors, read_vectors
from tpn2f.training.word_start import OWN

TABLE = {"the": [0.5, 0.0, 0.0], "apple": [0.0, 2.0, 0.0], "ate": [0.0, 0.0, -1.0]}
TEXT = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in TABLE.items())
WINK = {"dimensions": 3, "words": list(TABLE), "vectors": {word: [*vector, 1.0, 7] for word, vector in TABLE.items()}}


def make_source(folder: Path, form: str) -> Path:
    place = folder / f"vectors{form}"
    if form == ".txt":
        place.write_text(TEXT)
    elif form == ".vec":
        place.write_text(f"3 3\n{TEXT}")
    elif form == ".gz":
        place.write_bytes(gzip.compress(TEXT.encode()))
    elif form == ".json":
        place.write_text(json.dumps(WINK))
    else:
        inner = folder / "some-100d.json"
        inner.write_text(json.dumps(WINK))
        with tarfile.open(place, "w:gz") as archive:
            archive.add(inner, "package/some-100d.json")
    return place


@pytest.mark.parametrize("form", [".txt", ".vec", ".gz", ".json", ".tgz"])
def test_every_form_gives_the_same_vectors(form: str, tmp_path: Path) -> None:
    target = tmp_path / "out.safetensors"
    assert convert_vectors(make_source(tmp_path, form), target, 10) == (3, 3)
    read = read_vectors(target)
    assert read.words == tuple(TABLE) and read.width == 3
    expected = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])  # of length 1; zero for a word that is not there
    torch.testing.assert_close(read.of(["apple", "pear"]), expected)


def test_the_frequent_words_are_kept(tmp_path: Path) -> None:
    convert_vectors(make_source(tmp_path, ".txt"), tmp_path / "out", 2)
    assert read_vectors(tmp_path / "out").words == ("the", "apple")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no word vectors"),
        ("the 1 2\nan 1\n", "'an' has 1 numbers; expected 2"),
        ("the one two\n", "line 1: expected a word and its numbers"),
        ("the nan 1\n", "not finite"),
    ],
)
def test_a_source_that_is_none_is_told(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        convert_vectors(tmp_path / "bad.txt", tmp_path / "out", 5)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no file"):
        read_vectors(tmp_path / "none")
    (tmp_path / "text").write_text(TEXT)
    with pytest.raises(ConfigError, match="not a file of word vectors"):
        read_vectors(tmp_path / "text")


def test_training_reads_words_that_it_never_saw(tmp_path: Path) -> None:
    """Fixed vectors: further words join the vocabulary, only seen words have a part of their own, and runs resume."""
    convert_vectors(make_source(tmp_path, ".txt"), tmp_path / "vectors", 10)
    config = replace(
        CONFIG,
        data=replace(CONFIG.data, more_words=3),
        model=replace(CONFIG.model, d_static=3),
        training=replace(CONFIG.training, word_vectors=str(tmp_path / "vectors"), epochs=1),
    )
    trainer = make_trainer(tmp_path / "run", config)
    words = trainer.codec.words
    embedding = trainer.model.encoder.embedding
    assert "apple" in words and not embedding.weight[words.id("apple")].any()
    assert embedding.static[words.id("apple")].tolist() == [0.0, 1.0, 0.0]
    list(trainer.run())
    again = make_trainer(tmp_path / "run", config)
    again.resume()
    torch.testing.assert_close(again.model.encoder.embedding.table(), embedding.table(), rtol=0, atol=0)


def test_without_a_width_for_fixed_vectors_they_are_the_start_of_learned_ones(tmp_path: Path) -> None:
    """Words of the file begin with its directions, the others and the names of values anywhere; all are learned."""
    (tmp_path / "vectors.txt").write_text("what 1 0 0\nis 0 1 0\nn0 0 0 1\n")
    convert_vectors(tmp_path / "vectors.txt", tmp_path / "vectors", 10)
    training = replace(CONFIG.training, epochs=1)
    config = replace(CONFIG, training=replace(training, word_vectors=str(tmp_path / "vectors")))
    trainer = make_trainer(tmp_path / "run", config)
    plain = make_trainer(tmp_path / "plain", replace(CONFIG, training=training)).model.encoder.embedding.weight
    words, embedding = trainer.codec.words, trainer.model.encoder.embedding
    start = embedding.weight.detach().clone()
    length = plain.square().sum(1).mean().sqrt()
    for word, place in (("what", 0), ("is", 1)):
        expected = OWN * plain[words.id(word)]
        expected[place] += math.sqrt(1 - OWN**2) * length
        torch.testing.assert_close(start[words.id(word)], expected)
    assert "n0" in words and torch.equal(start[words.id("n0")], plain[words.id("n0")])
    assert embedding.projection is None and "encoder.embedding.static" not in trainer.model.state_dict()
    list(trainer.run())
    assert not torch.equal(embedding.weight[words.id("what")], start[words.id("what")])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_static": 4}, "d_static is 4, but .* width 3"),
        ({"d_static": 0}, "more_words needs model.d_static"),
    ],
)
def test_a_config_that_does_not_fit_the_file_is_told(settings: dict, message: str, tmp_path: Path) -> None:
    convert_vectors(make_source(tmp_path, ".txt"), tmp_path / "vectors", 10)
    config = replace(
        CONFIG,
        data=replace(CONFIG.data, more_words=3),
        model=replace(CONFIG.model, **settings),
        training=replace(CONFIG.training, word_vectors=str(tmp_path / "vectors")),
    )
    with pytest.raises(N2FError, match=message):
        make_trainer(tmp_path / "run", config)
