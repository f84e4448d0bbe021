"""An encoder whose last layers are trained with the model, above frozen ones whose states can be kept on disk.

The tuned layers are weights of the model, which carries them; a checkpoint only names what is below them. They start as
they are published, and drop nothing out: the model has a dropout of its own behind them. The vector of a word is made
as `reader.py` says, so that layers which learn nothing read as the frozen encoder does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from tpn2f.contextual.reader import LAYERED, PretrainedReader, after
from tpn2f.contextual.store import StoredReader
from tpn2f.contextual.text import text_of
from tpn2f.contextual.windows import Window, in_batches, in_words
from tpn2f.domain import Problem
from tpn2f.errors import ConfigError

WORTH_KEEPING = 2
"""So many frozen layers are worth a place on disk."""


class LowerLayers:
    """What is read below tuned layers: for every text the states of its pieces, window after window, with their ends.

    The states are those of the middle layer, which a word's vector needs, or of a lower one if tuning begins there.
    """

    def __init__(self, live: PretrainedReader, layers: int) -> None:
        """`layers` is how many are tuned. Raises ConfigError where the encoder has not so many."""
        if not 1 <= layers <= live.layers:
            raise ConfigError(f"model.reader_layers is {layers}, but the reader {live.name} has {live.layers} layers")
        if live.kind not in LAYERED:
            raise ConfigError(
                f"model.reader_layers is {layers}, but the layers of the reader {live.name} cannot be tuned: it is "
                f"of the kind {live.kind}; expected {', '.join(LAYERED)}"
            )
        self.live, self.width = live, live.width
        self.depth = min(live.layers // 2, live.layers - layers)

    def identity(self) -> Mapping[str, object]:
        return self.live.identity()

    def key(self) -> str:
        return f"{self.live.key()}-pieces{self.depth}"

    def read(self, problems: Sequence[Problem]) -> list[Tensor]:
        return self.read_texts([text_of(problem) for problem in problems])

    @torch.no_grad()
    def read_texts(self, texts: Sequence[Sequence[str]]) -> list[Tensor]:
        """For every text [pieces, width]; one row of zeros for an empty text."""
        windows = self.live.windows(texts)
        states = in_batches(
            windows, lambda part: self.live.lower_states([windows[place] for place in part], self.depth)
        )
        found: list[list[Tensor]] = [[] for _ in texts]
        for window, rows in zip(windows, states):
            found[window.text].append(rows)
        return [torch.cat(parts) if parts else torch.zeros(1, self.width) for parts in found]


def choose_store(live: PretrainedReader, layers: int) -> StoredReader | None:
    """What keeps the states below so many tuned layers; None where they are sooner read again than from a disk."""
    if not layers:
        return StoredReader(live)
    lower = LowerLayers(live, layers)
    return StoredReader(lower) if lower.depth >= WORTH_KEEPING else None


class TunedReader:
    """An encoder with tuned layers, which are those of the model: whoever trains the model trains them."""

    def __init__(self, live: PretrainedReader, layers: int, lower: LowerLayers | StoredReader | None = None) -> None:
        """`lower` may be a store of what the lower layers give. Raises ConfigError."""
        below = LowerLayers(live, layers)
        self.lower = lower or below
        self.live, self.width = live, live.width
        own = list(live.encoder_layers)
        self.middle = live.layers // 2 - below.depth
        """How many of the layers above the lower ones lead to the middle one."""
        self.fixed = own[below.depth : live.layers - layers]
        self.tuned = nn.ModuleList([deepcopy(layer) for layer in own[live.layers - layers :]]).requires_grad_(True)
        for module in self.tuned.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0

    def identity(self) -> Mapping[str, object]:
        return self.live.identity()

    def read(self, problems: Sequence[Problem]) -> list[Tensor]:
        """For every problem [words, width], where the tuned layers are; gradients reach these."""
        distinct = {text_of(problem): problem for problem in problems}
        texts = list(distinct)
        windows = self.live.windows(texts)
        states = self._by_window(windows, self.lower.read(list(distinct.values())))
        read = in_batches(
            windows, lambda part: self._read([windows[place] for place in part], [states[place] for place in part])
        )
        found = dict(zip(texts, in_words(texts, windows, read, self.width)))
        return [found[text_of(problem)] for problem in problems]

    def _by_window(self, windows: Sequence[Window], rows: Sequence[Tensor]) -> list[Tensor]:
        """The states of every window: those of a text follow one another."""
        found: list[Tensor] = []
        start = [0] * len(rows)
        for window in windows:
            end = start[window.text] + self.live.n_ends + len(window.pieces)
            found.append(rows[window.text][start[window.text] : end])
            start[window.text] = end
        return found

    def _read(self, windows: Sequence[Window], rows: Sequence[Tensor]) -> list[Tensor]:
        """For every window one vector a piece, from the states of the lower layers."""
        states = nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
        mask = (torch.arange(states.shape[1]) < torch.tensor([[len(row)] for row in rows]))[:, None, None]
        device = next(self.tuned.parameters()).device
        above = [states]
        for layer in self.fixed:
            above.append(after(layer, above[-1], mask))
        above, mask = [part.to(device) for part in above], mask.to(device)
        for layer in self.tuned:
            above.append(after(layer, above[-1], mask))
        return self.live.without_ends(windows, (above[self.middle] + above[-1]) / 2)
