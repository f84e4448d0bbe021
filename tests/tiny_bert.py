"""A random BERT of a few layers in Hugging Face's format, made on the spot."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel

WIDTH, LONGEST = 32, 24
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz0123456789.,?#", "what", "is", "the", "sum"]
PIECES += [f"##{sign}" for sign in "abcdefghijklmnopqrstuvwxyz0123456789"]


def make_bert(folder: Path, seed: int = 0, pieces: list[str] = PIECES, width: int = WIDTH, layers: int = 2) -> Path:
    """Writes the folder. The tokenizer cuts and pads on its own, as published ones do."""
    generator = torch.random.get_rng_state()
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(PIECES),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    torch.random.set_rng_state(generator)
    tokenizer = Tokenizer(WordPiece({piece: place for place, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", pieces.index("[CLS]")), ("[SEP]", pieces.index("[SEP]"))]
    )
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
