"""Sizes and choices of a model. The defaults are the paper's for MathQA; what goes beyond the paper is off.

Holds no vocabulary sizes: those come from the data, beside the config.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from tpn2f.model.bounds import Amount, Bounds, Count, Layers, Positive, Rate, Size, check_settings

PAD = 0
"""Fills rows up to the length of their batch, in every vocabulary. Never predicted."""
START = 1
"""The tuple before the first one has this in every slot."""
END = 2
"""The relation of the tuple after the last one."""
NONE = 3
"""The argument of a position that the relation does not have. No relation has this number."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What a model is made of. `docs/equations.md` gives the reason for every default that the paper leaves open."""

    # The family: TP-N2F, and with one or both sides replaced the paper's ablations.
    encoder: Literal["tpr", "lstm", "gru"] = "tpr"
    decoder: Literal["tpr", "lstm", "tree", "saps"] = "tpr"
    """`tree` and `saps` write the program as a tree: the decoders of Seq2Tree and SAPS, re-implemented; `gru` is the
    encoder of Seq2Tree."""
    variant: str = ""
    """Your own model: an entry point of the group `tpn2f.models`, or `file.py:Name`. Empty for the family."""

    # Encoder (section 4.2; appendix A.1 for the numbers).
    n_fillers: Size = 150
    d_filler: Size = 30
    n_roles: Size = 50
    d_role: Size = 20
    d_word: Size = 128
    """Width of a word embedding. The paper is silent; the published code has 128."""
    temperature: Positive = 0.1
    summary: Literal["sum", "last"] = "sum"
    """What represents the whole problem: the sum of its bindings, or the last one (an ablation of the appendix)."""

    # Reasoning MLP.
    reasoning_layers: Layers = 1
    initial_cell: Literal["mapped", "zero"] = "mapped"
    """c_0 of the Tuple-LSTM: the last layer before its tanh, as the published code has it, or zero."""

    # Decoder (section 4.2).
    d_relation: Size = 20
    d_argument: Size = 10
    d_position: Size = 5
    d_symbol: Size = 128
    """Width of the embedding of a relation or argument. The paper is silent; the published code has 128."""
    attention: Literal["dot", "general"] = "dot"
    """The paper's dot product with the projected bindings, or with a projection of its own for the query."""
    attention_tanh: bool = False
    """H = tanh(K [h ; s]): Luong's and the published code's form; the paper has no tanh."""

    # Sides that are plain LSTMs. The paper's baselines have 100.
    d_hidden: Size = 100
    encoder_layers: Layers = 1
    """How many LSTMs or GRUs read one above the other, the first the words, each other the states below it."""

    # Beyond the paper.
    grounded: bool = False
    """An argument that is also a word of the text, such as n0, is scored and fed back by the bindings where it stands,
    beside its learned score and embedding; see `grounding.py`."""
    d_grounded: Size = 64
    """Width of the product of query and key that scores a grounded argument."""
    d_chained: Count = 0
    """Width of a layer by which an argument also sees the relation and the arguments before it in its tuple; 0 for the
    paper's decoder, which reads all of them from H, each by itself; see `chaining.py`."""
    d_static: Count = 0
    """Width of fixed word vectors that are projected and added to the learned ones; 0 for none. `training.word_vectors`
    names their file; the model carries them."""
    d_contextual: Count = 0
    """Width of the vectors that a pre-trained encoder gives the words of a text, which are projected and added; 0 for
    none. `data.reader` names the encoder; the model does not carry it."""
    reader_layers: Count = 0
    """How many of the encoder's last layers are trained with the model, which carries them; 0 keeps all frozen."""
    contextual_states: bool = False
    """A state of a plain encoder also has the contextual vector of its word, projected; it begins without it."""
    repeats: bool = False
    """A word that comes again later in the text, or that has come before, gets a learned vector more for each: what a
    question asks about is what its story named."""
    normalised: bool = False
    """Attention and grounding see bindings of length 1. Otherwise a word that selects softly has little effect."""
    sharpness: Annotated[float | None, Bounds("above 0", lambda value: value > 0)] = None
    """A learned factor on the scores of attention, and where it starts; None for none."""
    attention_guide: Amount = 0.0
    """A part of the training loss: how little attention a tuple pays to its own arguments, where the text has them."""
    bidirectional: bool = False
    """A second encoder reads from right to left; the bindings of a word are concatenated."""
    biases: bool = False
    """Additive biases of selection, dictionaries, W_dual and outputs: the published code has them, the paper not."""
    dropout_words: Rate = 0.0
    """On the word embeddings; a word keeps its mask within a batch, but not with contextual vectors."""
    dropout_own: Rate = 0.0
    """How often a word is read by its fixed or contextual vector alone, as one that training does not have will be."""
    dropout_context: Rate = 0.0
    """On the filler of every binding (a whole row of T), for the summary and for attention, not for the recurrence."""
    dropout_summary: Rate = 0.0
    """On the representation of the whole problem, before the Reasoning MLP, which is where texts are memorised."""
    dropout_symbols: Rate = 0.0
    """On the embeddings of the previous tuple; a symbol keeps its mask within a batch."""
    dropout_hidden: Rate = 0.0
    """On H before it is unbound, not on the H that goes on to the next tuple."""
    dropout_recurrent: Rate = 0.0
    """On the recurrent weights of encoder and decoder (DropConnect): one mask per batch."""
    label_smoothing: Rate = 0.0

    # Initialisation. The defaults are the published code's.
    embedding_scale: float = 0.1
    """Embeddings are uniform within plus and minus this."""
    dictionary_deviation: float | None = None
    """Normal fillers and roles with this deviation; None for uniform within 1 / sqrt(number of them)."""
    selection_scale: float = 1.0
    """A factor on the uniform +- 1 / sqrt(d_T) of W_fa and W_ra."""
    position_init: Literal["uniform", "orthogonal"] = "uniform"
    """The p'_i: uniform in [0, 1], or orthonormal."""
    forget_bias: float = 0.0
    """Added to the forget gates' biases."""

    kernel: Literal["fused", "reference"] = "fused"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.reader_layers and not self.d_contextual:
            raise ValueError(f"reader_layers is {self.reader_layers}, but d_contextual is 0: there is no reader")
        if self.contextual_states and (not self.d_contextual or self.encoder == "tpr"):
            raise ValueError(
                "contextual_states is for plain encoders that are given contextual vectors; got encoder "
                f"{self.encoder!r} and d_contextual {self.d_contextual}"
            )
        if self.d_chained and self.decoder != "tpr":
            raise ValueError(
                f"d_chained is for a tpr decoder, which writes tuples; got decoder {self.decoder!r} and d_chained "
                f"{self.d_chained}"
            )
        if self.writes_trees and self.knows_names:
            raise ValueError(
                f"a {self.decoder} decoder can have neither grounded arguments nor guided attention; "
                f"got grounded {self.grounded}, attention_guide {self.attention_guide}"
            )

    @property
    def writes_trees(self) -> bool:
        """Whether programs are written from the root down, not tuple by tuple."""
        return self.decoder in ("tree", "saps")

    @property
    def knows_names(self) -> bool:
        """Whether the model must know which words are arguments."""
        return self.grounded or self.attention_guide > 0

    @property
    def d_binding(self) -> int:
        """d_T: the length of a flattened binding T = f (x) r."""
        return self.d_filler * self.d_role

    @property
    def d_tuple(self) -> int:
        """d_H: the length of a flattened tuple representation H."""
        return self.d_argument * self.d_relation * self.d_position

    @property
    def d_state(self) -> int:
        """The width of the decoder's recurrent state."""
        return self.d_tuple if self.decoder == "tpr" else self.d_hidden

    @property
    def d_context(self) -> int:
        """The width of what attention sees of one word."""
        return (2 if self.bidirectional else 1) * (self.d_binding if self.encoder == "tpr" else self.d_hidden)


systems: MappingProxyType[str, dict[str, Any]] = MappingProxyType(
    {
        "tpn2f": {},
        # A plain LSTM side keeps the customs of attentional LSTMs: the last state as summary, tanh after attention.
        "lstm2tp": {"encoder": "lstm", "summary": "last"},
        "tp2lstm": {"decoder": "lstm", "attention_tanh": True},
        "lstm2lstm": {"encoder": "lstm", "decoder": "lstm", "summary": "last", "attention_tanh": True},
    }
)
"""The paper's systems as overrides of a ModelConfig: `replace(config, **systems["lstm2tp"])`."""

tree_systems: MappingProxyType[str, dict[str, Any]] = MappingProxyType(
    {
        "seq2tree": {"encoder": "gru", "decoder": "tree", "summary": "last"},
        "saps": {"encoder": "lstm", "decoder": "saps", "summary": "last", "bidirectional": True, "encoder_layers": 2},
    }
)
"""The systems of others beside which the paper's Table 2 stands, re-implemented: overrides like those of `systems`."""
