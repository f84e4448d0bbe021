"""Reading with pre-trained words: a vector for every word of a text, from an encoder that others trained on language.

Needs the extra `pretrained`. The encoder is no part of a model, but for layers that are tuned with it: a checkpoint
names it with a sum.
"""

from tpn2f.contextual.reader import MISSING, PretrainedReader, is_installed, load_reader
from tpn2f.contextual.store import StoredReader, VectorStore
from tpn2f.contextual.text import WordReader, text_of
from tpn2f.contextual.tuned import LowerLayers, TunedReader, choose_store

__all__ = [
    "MISSING",
    "LowerLayers",
    "PretrainedReader",
    "StoredReader",
    "TunedReader",
    "VectorStore",
    "WordReader",
    "choose_store",
    "is_installed",
    "load_reader",
    "text_of",
]
