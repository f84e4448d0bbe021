"""Whether a model's representations are what they should be, in a few numbers to watch while it trains.

Sharp selections have an entropy near 0; a dictionary that is used has an effective size well above 1; and the smaller
the residual, the more of the decoder's state is the tuple that its own outputs define (section 4.4). For words and
pictures see the analysis; this only gives numbers.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tpn2f.model.decoder import TupleDecoder
from tpn2f.model.tpn2f import Model
from tpn2f.tpr import decompose


@torch.no_grad()
def representation_health(
    model: Model,
    words: Int[Tensor, "batch words"],
    word_counts: Int[Tensor, "batch"],
    tuples: Int[Tensor, "batch tuples slots"],
    tuple_counts: Int[Tensor, "batch"],
    contextual: Float[Tensor, "batch words d_contextual"] | None = None,
) -> dict[str, float]:
    """What there is to say of this model; nothing of a side that is a plain LSTM.

    `filler_entropy`: mean entropy of a word's selection, in nats. `fillers_used`: the effective number of fillers, the
    exponential of the entropy of their mean use. `residual`: the mean of |Z| / |H| over the tuples.
    """
    found: dict[str, float] = {}
    encoding = model.encode(words, word_counts, contextual)
    for name, scores in (("filler", encoding.filler_scores), ("role", encoding.role_scores)):
        if scores is not None:
            chosen = _real(scores, encoding.mask)
            found[f"{name}_entropy"] = _entropy(chosen).mean().item()
            found[f"{name}s_used"] = _entropy(chosen.mean(0)).exp().item()
    if isinstance(model.decoder, TupleDecoder):
        seen = model.decode(words, word_counts, tuples, tuple_counts, contextual)
        parts = decompose(seen.hidden, model.decoder.position_unbinding, seen.relation_unbinding)
        real = torch.arange(tuples.shape[1], device=tuples.device) < tuple_counts[:, None]
        found["residual"] = parts.residual_ratio[real].mean().item()
    return found


def _real(
    scores: Float[Tensor, "batch directions words n"], mask: Bool[Tensor, "batch words"]
) -> Float[Tensor, "selections n"]:
    """The selections of real words, of all directions."""
    return scores.transpose(1, 2)[mask].flatten(0, 1)


def _entropy(distribution: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
    return torch.special.entr(distribution).sum(-1)
