"""The decoder's recurrence, fused: forward and hand-written backward. See `fused` for what makes it fast."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from tpn2f.kernels.packed import Packing, first_rows, lstm_backward, lstm_forward, packing, scatter_rows, tanh_backward
from tpn2f.kernels.precision import of_one_type
from tpn2f.kernels.reference import AttentionScan


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
    """See `reference.attention_scan`."""
    return AttentionScan(
        *_AttentionScan.apply(
            table, index, counts, hidden, cell, fillers, roles, mask, recurrent, query, value, output, squash
        )
    )


class _AttentionScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        index: Tensor,
        counts: Tensor,
        hidden: Tensor,
        cell: Tensor,
        fillers: Tensor,
        roles: Tensor,
        mask: Tensor,
        recurrent: Tensor,
        query: Tensor,
        value: Tensor,
        output: Tensor,
        squash: bool,
    ) -> tuple[Tensor, ...]:
        batch, n_steps, _ = index.shape
        words, d, d_context = mask.shape[1], hidden.shape[1], query.shape[1]
        packed = packing(counts, n_steps)
        types = packed.pack(index)
        total, first = len(types), packed.steps[0].stop
        fillers, roles, cell = (rows.index_select(0, packed.order) for rows in (fillers, roles, cell))
        banned = ~mask.index_select(0, packed.order)
        gates = table.index_select(0, types[:, 0])
        for slot in range(1, types.shape[1]):
            gates.add_(table.index_select(0, types[:, slot]))
        cells, squashed = table.new_empty(total, d), table.new_empty(total, d)
        # H^{t-1} where step t needs it, and [h ; s].
        previous, both = table.new_empty(total, d), table.new_empty(total, 2 * d)
        asked, weighted = table.new_empty(total, d_context), table.new_empty(total, d_context)
        attentions, hiddens = table.new_empty(total, words), table.new_empty(total, d)
        torch.index_select(hidden, 0, packed.order, out=previous[:first])
        for t, step in enumerate(packed.steps):
            size = step.stop - step.start
            gate = gates[step].addmm_(previous[step], recurrent.T)
            shown, summary = both[step].chunk(2, dim=1)
            before = first_rows(cells, packed.steps[t - 1], size) if t else cell
            lstm_forward(gate, before, cells[step], squashed[step], shown)
            torch.mm(shown, query, out=asked[step])
            scores = _meet(fillers[:size], asked[step]).mul_(roles[:size]).sum((1, 3))
            scores.masked_fill_(banned[:size], -torch.inf)
            torch.softmax(scores, dim=1, out=attentions[step])
            _gather(fillers[:size], roles[:size], attentions[step], weighted[step])
            torch.mm(weighted[step], value.T, out=summary)
            torch.mm(both[step], output.T, out=hiddens[step])
            if squash:
                hiddens[step].tanh_()
            if t + 1 < len(packed.steps):
                following = packed.steps[t + 1]
                previous[following] = first_rows(hiddens, step, following.stop - following.start)
        given = (types, cell, fillers, roles, recurrent, query, value, output)
        made = (gates, cells, squashed, previous, both, asked, weighted, attentions, hiddens)
        ctx.save_for_backward(*given, *made)
        ctx.packed, ctx.squash, ctx.n_types = packed, squash, len(table)
        ctx.set_materialize_grads(False)
        return packed.unpack(hiddens, batch, n_steps), packed.unpack(attentions, batch, n_steps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        types, cell, fillers, roles, recurrent, query, value, output, *made = ctx.saved_tensors
        gates, cells, squashed, previous, both, asked, weighted, attentions, hiddens = made
        packed: Packing = ctx.packed
        first, d, d_role = packed.steps[0].stop, hiddens.shape[1], roles.shape[3]
        from_hidden, from_attention = upstream
        d_hiddens = torch.zeros_like(hiddens) if from_hidden is None else packed.pack(from_hidden)
        d_attentions = torch.zeros_like(attentions) if from_attention is None else packed.pack(from_attention)
        d_gates, d_both = torch.empty_like(gates), torch.empty_like(both)
        d_asked, d_weighted = torch.empty_like(asked), torch.empty_like(weighted)
        d_fillers, d_roles = torch.zeros_like(fillers), torch.zeros_like(roles)
        d_cell, scratch = gates.new_zeros(first, d), gates.new_empty(first, d)
        for t in range(len(packed.steps) - 1, -1, -1):
            step = packed.steps[t]
            size = step.stop - step.start
            if t + 1 < len(packed.steps):
                following = packed.steps[t + 1]
                first_rows(d_hiddens, step, following.stop - following.start).addmm_(d_gates[following], recurrent)
            if ctx.squash:
                tanh_backward(d_hiddens[step], hiddens[step], grad_input=d_hiddens[step])
            torch.mm(d_hiddens[step], output, out=d_both[step])
            d_shown, d_summary = d_both[step].chunk(2, dim=1)
            torch.mm(d_summary, value, out=d_weighted[step])
            # Two bilinear forms meet the same context, the weighted sum and the scores: each product serves both.
            filler, role = fillers[:size], roles[:size]
            directions = (size, filler.shape[1], filler.shape[3], d_role)
            forms = torch.cat([d_weighted[step].view(directions), asked[step].view(directions)], dim=3)
            met_weighted, met_asked = (filler @ forms).split(d_role, dim=3)
            d_attention = d_attentions[step].add_((met_weighted * role).sum((1, 3)))
            attention = attentions[step]
            d_scores = torch.ops.aten._softmax_backward_data(d_attention, attention, 1, attention.dtype)
            shares, d_shares = attention[:, None, :, None], d_scores[:, None, :, None]
            d_roles[:size].addcmul_(met_weighted, shares).addcmul_(met_asked, d_shares)
            coefficients = torch.cat([role * shares, role * d_shares], dim=3)
            d_fillers[:size].add_(coefficients @ forms.transpose(2, 3))
            torch.matmul(filler.transpose(2, 3), coefficients[..., d_role:], out=d_asked[step].view(directions))
            d_shown.addmm_(d_asked[step], query.T)
            before = first_rows(cells, packed.steps[t - 1], size) if t else cell
            lstm_backward(d_shown, d_cell[:size], gates[step], before, squashed[step], d_gates[step], scratch[:size])
        d_table = None
        if ctx.needs_input_grad[0]:
            d_table = scatter_rows(d_gates, types[:, 0], ctx.n_types)
            for slot in range(1, types.shape[1]):
                d_table += scatter_rows(d_gates, types[:, slot], ctx.n_types)
        d_shown, d_summary = d_both.chunk(2, dim=1)
        start = d_gates[packed.steps[0]] @ recurrent
        return (
            d_table,
            None,
            None,
            *(
                torch.empty_like(rows).index_copy_(0, packed.order, rows)
                for rows in (start, d_cell, d_fillers, d_roles)
            ),
            None,
            d_gates.T @ previous,
            both[:, :d].T @ d_asked,
            d_summary.T @ weighted,
            d_hiddens.T @ both,
            None,
        )


def _meet(fillers: Tensor, form: Tensor) -> Tensor:
    """f_j . Q for every word: [rows directions words d_role]."""
    rows, directions, _, d_filler = fillers.shape
    return fillers @ form.view(rows, directions, d_filler, -1)


def _gather(fillers: Tensor, roles: Tensor, attention: Tensor, out: Tensor) -> None:
    """out = sum_j attention_j f_j (x) r_j, flattened."""
    rows, directions, _, d_filler = fillers.shape
    place = out.view(rows, directions, d_filler, roles.shape[3])
    torch.matmul(fillers.transpose(2, 3), roles * attention[:, None, :, None], out=place)
