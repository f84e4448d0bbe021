"""The recurrences as the paper's appendix writes them: a loop over the steps, for any autograd. The specification.

Rows are padded to a common length. A step beyond a row's count is computed and thrown away, which costs time and
changes nothing. The gates of an LSTM are stacked in the order forget, input, output, candidate.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tpn2f.kernels.precision import of_one_type
from tpn2f.tpr import bind


class TPRScan(NamedTuple):
    """What the encoder's recurrence gives for every word. Zero beyond a row's count."""

    filler_scores: Float[Tensor, "batch words n_fillers"]
    role_scores: Float[Tensor, "batch words n_roles"]
    fillers: Float[Tensor, "batch words d_filler"]
    roles: Float[Tensor, "batch words d_role"]


class AttentionScan(NamedTuple):
    """What the decoder's recurrence gives for every step. Zero beyond a row's count."""

    hidden: Float[Tensor, "batch steps d_hidden"]
    attention: Float[Tensor, "batch steps words"]


class Attended(NamedTuple):
    """One step of the decoder's recurrence."""

    hidden: Float[Tensor, "batch d_hidden"]
    cell: Float[Tensor, "batch d_hidden"]
    attention: Float[Tensor, "batch words"]


@of_one_type
def tpr_scan(
    table: Float[Tensor, "types d_gates"],
    index: Int[Tensor, "batch words"],
    counts: Int[Tensor, "batch"],
    recurrent: Float[Tensor, "d_gates d_binding"],
    filler_selection: Float[Tensor, "n_fillers d_binding"],
    role_selection: Float[Tensor, "n_roles d_binding"],
    filler_bias: Float[Tensor, "n_fillers"] | None,
    role_bias: Float[Tensor, "n_roles"] | None,
    filler_dictionary: Float[Tensor, "d_filler n_fillers"],
    role_dictionary: Float[Tensor, "d_role n_roles"],
    temperature: float,
) -> TPRScan:
    """Filler-LSTM and Role-LSTM, whose common hidden state is the flattened binding T = f (x) r (appendix A.2.1).

    `table` holds U w + b and `recurrent` V, both for the two LSTMs: forget gates of filler and role, then input gates,
    output gates, candidates. The biases belong to the selection and are None in the paper.
    """
    inputs = table[index].unbind(1)
    batch, d_binding = index.shape[0], recurrent.shape[1]
    binding = table.new_zeros(batch, d_binding)
    cell_filler = cell_role = table.new_zeros(batch, d_binding)
    steps = []
    for given in inputs:
        gates = given + binding @ recurrent.T
        forget_f, forget_r, input_f, input_r, output_f, output_r, new_f, new_r = gates.chunk(8, dim=1)
        cell_filler = forget_f.sigmoid() * cell_filler + input_f.sigmoid() * new_f.tanh()
        cell_role = forget_r.sigmoid() * cell_role + input_r.sigmoid() * new_r.tanh()
        hidden_filler = output_f.sigmoid() * cell_filler.tanh()
        hidden_role = output_r.sigmoid() * cell_role.tanh()
        filler_scores = _select(hidden_filler, filler_selection, filler_bias, temperature)
        role_scores = _select(hidden_role, role_selection, role_bias, temperature)
        filler = filler_scores @ filler_dictionary.T
        role = role_scores @ role_dictionary.T
        binding = bind(filler, role).flatten(1)
        steps.append((filler_scores, role_scores, filler, role))
    real = within(counts, index.shape[1]).unsqueeze(-1)
    return TPRScan(*(torch.stack(values, dim=1) * real for values in zip(*steps)))


def _select(hidden: Tensor, selection: Tensor, bias: Tensor | None, temperature: float) -> Tensor:
    scores = hidden @ selection.T
    if bias is not None:
        scores = scores + bias
    return (scores / temperature).softmax(dim=1)


@of_one_type
def lstm_scan(
    table: Float[Tensor, "types d_gates"],
    index: Int[Tensor, "batch words"],
    counts: Int[Tensor, "batch"],
    recurrent: Float[Tensor, "d_gates d_hidden"],
) -> Float[Tensor, "batch words d_hidden"]:
    """The states of a plain LSTM that begins with zeros; zero beyond a row's count. `table` holds U w + b."""
    hidden = cell = table.new_zeros(index.shape[0], recurrent.shape[1])
    steps = []
    for given in table[index].unbind(1):
        forget, write, show, new = (given + hidden @ recurrent.T).chunk(4, dim=1)
        cell = forget.sigmoid() * cell + write.sigmoid() * new.tanh()
        hidden = show.sigmoid() * cell.tanh()
        steps.append(hidden)
    return torch.stack(steps, dim=1) * within(counts, index.shape[1]).unsqueeze(-1)


@of_one_type
def attention_scan(
    table: Float[Tensor, "types d_gates"],
    index: Int[Tensor, "batch steps slots"],
    counts: Int[Tensor, "batch"],
    hidden: Float[Tensor, "batch d_hidden"],
    cell: Float[Tensor, "batch d_hidden"],
    fillers: Float[Tensor, "batch directions words d_filler"],
    roles: Float[Tensor, "batch directions words d_role"],
    mask: Bool[Tensor, "batch words"],
    recurrent: Float[Tensor, "d_gates d_hidden"],
    query: Float[Tensor, "d_hidden d_context"],
    value: Float[Tensor, "d_hidden d_context"],
    output: Float[Tensor, "d_hidden d_both"],
    squash: bool,
) -> AttentionScan:
    """The attentional LSTM of the decoder, fed with the true symbols (appendix A.2.3).

    The input of a step is the sum of the table's rows that its slots name: U w_d + b, one slot at a time.
    """
    hiddens, attentions = [], []
    for slots in index.unbind(1):
        hidden, cell, attention = attention_step(
            table[slots].sum(1), hidden, cell, fillers, roles, mask, recurrent, query, value, output, squash
        )
        hiddens.append(hidden)
        attentions.append(attention)
    real = within(counts, index.shape[1]).unsqueeze(-1)
    return AttentionScan(torch.stack(hiddens, dim=1) * real, torch.stack(attentions, dim=1) * real)


def attention_step(
    given: Float[Tensor, "batch d_gates"],
    hidden: Float[Tensor, "batch d_hidden"],
    cell: Float[Tensor, "batch d_hidden"],
    fillers: Float[Tensor, "batch directions words d_filler"],
    roles: Float[Tensor, "batch directions words d_role"],
    mask: Bool[Tensor, "batch words"],
    recurrent: Float[Tensor, "d_gates d_hidden"],
    query: Float[Tensor, "d_hidden d_context"],
    value: Float[Tensor, "d_hidden d_context"],
    output: Float[Tensor, "d_hidden d_both"],
    squash: bool,
) -> Attended:
    """One step: gates, attention over the bindings of the real words, H = K [h ; s].

    T_j = f_j (x) r_j is never made: the score (C T_j) . h is f_j . Q . r_j with Q = C^T h, and the weighted sum of the
    T_j is projected once, after summing. The `directions` of a context are concatenated.
    """
    forget, write, show, new = (given + hidden @ recurrent.T).chunk(4, dim=1)
    cell = forget.sigmoid() * cell + write.sigmoid() * new.tanh()
    shown = show.sigmoid() * cell.tanh()
    shape = (shown.shape[0], fillers.shape[1], fillers.shape[3], roles.shape[3])
    asked = (shown @ query).view(shape)
    scores = ((fillers @ asked) * roles).sum((1, 3))
    attention = scores.masked_fill(~mask, -torch.inf).softmax(dim=1)
    weighted = fillers.transpose(2, 3) @ (roles * attention[:, None, :, None])
    summary = weighted.flatten(1) @ value.T
    hidden = torch.cat([shown, summary], dim=1) @ output.T
    return Attended(hidden.tanh() if squash else hidden, cell, attention)


def within(counts: Int[Tensor, "batch"], steps: int) -> Bool[Tensor, "batch {steps}"]:
    """True for the first `counts` of `steps` places of each row."""
    return torch.arange(steps, device=counts.device) < counts.unsqueeze(1)
