"""The usual BERT encoder in plain torch. `transformers` reads the same folders, and many others, but takes seconds to
load; a test checks that the two agree.

Names are those of the published weights. Nothing is trained here, and nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

USUAL = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}
"""What the settings of a usual BERT say, or leave out."""
SIZES = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    *("vocab_size", "max_position_embeddings", "type_vocab_size"),
)
UNUSED = ("pooler.", "embeddings.position_ids", "cls.")
"""Weights that the hidden states do not need."""


class EncoderStates(NamedTuple):
    """What every layer made of the texts; the first are the embeddings."""

    hidden_states: tuple[Tensor, ...]


class Dense(nn.Linear):
    """Without a first value, which would cost time and random numbers: the weights come from a file."""

    def reset_parameters(self) -> None:
        pass


class Lookup(nn.Embedding):
    """The same for a table."""

    def reset_parameters(self) -> None:
        pass


class BertEmbeddings(nn.Module):
    """Pieces, places and the one kind of text, summed."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        width = settings["hidden_size"]
        self.word_embeddings = Lookup(settings["vocab_size"], width)
        self.position_embeddings = Lookup(settings["max_position_embeddings"], width)
        self.token_type_embeddings = Lookup(settings["type_vocab_size"], width)
        self.LayerNorm = nn.LayerNorm(width, settings["layer_norm_eps"])

    def forward(self, input_ids: Tensor) -> Tensor:
        places = self.position_embeddings.weight[: input_ids.shape[1]] + self.token_type_embeddings.weight[0]
        return self.LayerNorm(self.word_embeddings(input_ids) + places)


class BertLayer(nn.Module):
    """Self-attention and two dense maps, each added to what came in."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        width, inner, eps = settings["hidden_size"], settings["intermediate_size"], settings["layer_norm_eps"]
        self.heads = settings["num_attention_heads"]
        asked = nn.ModuleDict({name: Dense(width, width) for name in ("query", "key", "value")})
        self.attention = nn.ModuleDict({"self": asked, "output": _added(width, width, eps)})
        self.intermediate = nn.ModuleDict({"dense": Dense(width, inner)})
        self.output = _added(inner, width, eps)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """`mask` [rows, 1, 1, pieces] says which pieces are there."""
        asked: Any = self.attention["self"]
        query, key, value = (
            asked[name](states).unflatten(2, (self.heads, -1)).transpose(1, 2) for name in ("query", "key", "value")
        )
        found = _attend(query, key, value, mask)
        states = _add(self.attention["output"], found.transpose(1, 2).flatten(2), states)
        return _add(self.output, functional.gelu(self.intermediate["dense"](states)), states)


class Bert(nn.Module):
    """The encoder, called as `transformers` calls its own."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.embeddings = BertEmbeddings(settings)
        layers = nn.ModuleList(BertLayer(settings) for _ in range(settings["num_hidden_layers"]))
        self.encoder = nn.Module()
        self.encoder.layer = layers

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.word_embeddings

    def forward(self, input_ids: Tensor, attention_mask: Tensor, output_hidden_states: bool = True) -> EncoderStates:
        mask = attention_mask.bool()[:, None, None]
        states = [self.embeddings(input_ids)]
        for layer in self.encoder.layer:  # type: ignore[union-attr]
            states.append(layer(states[-1], mask))
        return EncoderStates(tuple(states))


def read_bert(settings_path: Path, weights_path: Path) -> Bert | None:
    """The encoder of a folder; None if it is not a usual BERT, or something is wrong with it that others can tell."""
    try:
        settings = json.loads(settings_path.read_text(encoding="utf-8"))
        if any(settings.get(name, usual) != usual for name, usual in USUAL.items()):
            return None
        if any(type(settings.get(name)) is not int or settings[name] < 1 for name in SIZES):
            return None
        settings = {"layer_norm_eps": 1e-12, **settings}
        weights = {name.removeprefix("bert."): tensor for name, tensor in load_file(weights_path).items()}
        bert = Bert(settings)
        kept = {name: tensor.float() for name, tensor in weights.items() if not name.startswith(UNUSED)}
        bert.load_state_dict(kept, assign=True)
    except (OSError, ValueError, TypeError, AttributeError, RuntimeError, RecursionError, SafetensorError):
        return None
    return bert


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Softmax attention. Learning on a CPU, with gradients and bf16, torch's own takes about four times as long."""
    if not (query.requires_grad and query.device.type == "cpu"):
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(2, 3)
    absent = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -torch.inf)
    return torch.softmax(scores.float() + absent, -1).to(value.dtype) @ value


def _added(n_in: int, n_out: int, eps: float) -> nn.ModuleDict:
    return nn.ModuleDict({"dense": Dense(n_in, n_out), "LayerNorm": nn.LayerNorm(n_out, eps)})


def _add(output: Any, found: Tensor, states: Tensor) -> Tensor:
    return output["LayerNorm"](output["dense"](found) + states)
