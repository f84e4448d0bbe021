"""The encoder's recurrence, fused: forward and hand-written backward. See `fused` for what makes it fast."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from tpn2f.kernels.packed import (
    Packing,
    first_rows,
    lstm_backward,
    lstm_forward,
    packing,
    scatter_rows,
    softmax_backward,
)
from tpn2f.kernels.precision import of_one_type
from tpn2f.kernels.reference import TPRScan


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
    """See `reference.tpr_scan`."""
    return TPRScan(
        *_TPRScan.apply(
            table,
            index,
            counts,
            recurrent,
            filler_selection,
            role_selection,
            filler_bias,
            role_bias,
            filler_dictionary,
            role_dictionary,
            temperature,
        )
    )


class _TPRScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        index: Tensor,
        counts: Tensor,
        recurrent: Tensor,
        filler_selection: Tensor,
        role_selection: Tensor,
        filler_bias: Tensor | None,
        role_bias: Tensor | None,
        filler_dictionary: Tensor,
        role_dictionary: Tensor,
        temperature: float,
    ) -> tuple[Tensor, ...]:
        batch, words = index.shape
        (d_filler, n_fillers), (d_role, n_roles) = filler_dictionary.shape, role_dictionary.shape
        d = d_filler * d_role
        packed = packing(counts, words)
        types = packed.pack(index)
        total, first = len(types), packed.steps[0].stop
        gates = table.new_empty(total, 8 * d)
        cells, squashed = table.new_empty(total, 2 * d), table.new_empty(total, 2 * d)
        # vec(T^{t-1}) where step t needs it; a row's last binding feeds nothing.
        previous = table.new_empty(total - first, d)
        filler_scores, role_scores = table.new_empty(total, n_fillers), table.new_empty(total, n_roles)
        fillers, roles = table.new_empty(total, d_filler), table.new_empty(total, d_role)
        hidden = table.new_empty(first, 2 * d)
        for t, step in enumerate(packed.steps):
            size = step.stop - step.start
            gate = torch.index_select(table, 0, types[step], out=gates[step])
            if t:
                gate.addmm_(previous[step.start - first : step.stop - first], recurrent.T)
            before, shown = first_rows(cells, packed.steps[t - 1], size) if t else None, hidden[:size]
            lstm_forward(gate, before, cells[step], squashed[step], shown)
            _select(shown[:, :d], filler_selection, filler_bias, temperature, filler_scores[step])
            _select(shown[:, d:], role_selection, role_bias, temperature, role_scores[step])
            torch.mm(filler_scores[step], filler_dictionary.T, out=fillers[step])
            torch.mm(role_scores[step], role_dictionary.T, out=roles[step])
            if t + 1 < len(packed.steps):
                following = packed.steps[t + 1]
                alive = following.stop - following.start
                torch.mul(
                    first_rows(fillers, step, alive).unsqueeze(2),
                    first_rows(roles, step, alive).unsqueeze(1),
                    out=previous[following.start - first : following.stop - first].view(alive, d_filler, d_role),
                )
        given = (types, recurrent, filler_selection, role_selection, filler_dictionary, role_dictionary)
        made = (gates, cells, squashed, previous, filler_scores, role_scores, fillers, roles)
        ctx.save_for_backward(*given, *made)
        ctx.packed, ctx.temperature, ctx.n_types = packed, temperature, len(table)
        ctx.has_bias = (filler_bias is not None, role_bias is not None)
        ctx.set_materialize_grads(False)
        return tuple(packed.unpack(value, batch, words) for value in (filler_scores, role_scores, fillers, roles))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        types, recurrent, filler_selection, role_selection, filler_dictionary, role_dictionary, *made = (
            ctx.saved_tensors
        )
        gates, cells, squashed, previous, filler_scores, role_scores, fillers, roles = made
        packed: Packing = ctx.packed
        d_filler, d_role = fillers.shape[1], roles.shape[1]
        d, first = d_filler * d_role, packed.steps[0].stop
        from_filler_scores, from_role_scores, from_fillers, from_roles = upstream
        # Grow into the gradients of the factors and of the selection's logits.
        d_fillers = torch.zeros_like(fillers) if from_fillers is None else packed.pack(from_fillers)
        d_roles = torch.zeros_like(roles) if from_roles is None else packed.pack(from_roles)
        d_filler_logits = (
            torch.zeros_like(filler_scores) if from_filler_scores is None else packed.pack(from_filler_scores)
        )
        d_role_logits = torch.zeros_like(role_scores) if from_role_scores is None else packed.pack(from_role_scores)
        d_gates = torch.empty_like(gates)
        d_binding = gates.new_empty(first, d)
        d_cell, d_shown, scratch = (
            gates.new_zeros(first, 2 * d),
            gates.new_empty(first, 2 * d),
            gates.new_empty(first, 2 * d),
        )
        for t in range(len(packed.steps) - 1, -1, -1):
            step = packed.steps[t]
            size = step.stop - step.start
            if t + 1 < len(packed.steps):
                following = packed.steps[t + 1]
                alive = following.stop - following.start
                grown = torch.mm(d_gates[following], recurrent, out=d_binding[:alive]).view(alive, d_filler, d_role)
                first_rows(d_fillers, step, alive).unsqueeze(2).baddbmm_(
                    grown, first_rows(roles, step, alive).unsqueeze(2)
                )
                first_rows(d_roles, step, alive).unsqueeze(1).baddbmm_(
                    first_rows(fillers, step, alive).unsqueeze(1), grown
                )
            shown = d_shown[:size]
            _unselect(d_filler_logits[step], filler_scores[step], d_fillers[step], filler_dictionary, ctx.temperature)
            _unselect(d_role_logits[step], role_scores[step], d_roles[step], role_dictionary, ctx.temperature)
            torch.mm(d_filler_logits[step], filler_selection, out=shown[:, :d])
            torch.mm(d_role_logits[step], role_selection, out=shown[:, d:])
            before = first_rows(cells, packed.steps[t - 1], size) if t else None
            lstm_backward(shown, d_cell[:size], gates[step], before, squashed[step], d_gates[step], scratch[:size])
        d_table = scatter_rows(d_gates, types, ctx.n_types) if ctx.needs_input_grad[0] else None
        d_recurrent = d_gates[first:].T @ previous
        hidden = torch.mul(gates[:, 4 * d : 6 * d], squashed)
        return (
            d_table,
            None,
            None,
            d_recurrent,
            d_filler_logits.T @ hidden[:, :d],
            d_role_logits.T @ hidden[:, d:],
            d_filler_logits.sum(0) if ctx.has_bias[0] else None,
            d_role_logits.sum(0) if ctx.has_bias[1] else None,
            d_fillers.T @ filler_scores,
            d_roles.T @ role_scores,
            None,
        )


def _select(hidden: Tensor, selection: Tensor, bias: Tensor | None, temperature: float, out: Tensor) -> None:
    """out = softmax((W h + b) / temperature)."""
    scores = torch.mm(hidden, selection.T)
    if bias is not None:
        scores += bias
    torch.softmax(scores.div_(temperature), dim=1, out=out)


def _unselect(d_scores: Tensor, scores: Tensor, d_vector: Tensor, dictionary: Tensor, temperature: float) -> None:
    """From the gradients of the scores and of the chosen vector to that of the logits, in place of the scores'."""
    d_scores.addmm_(d_vector, dictionary)
    softmax_backward(d_scores, scores, 1, scores.dtype, grad_input=d_scores)
    d_scores.div_(temperature)
