"""A plain LSTM's recurrence, fused: forward and hand-written backward. See `fused` for what makes it fast."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from tpn2f.kernels.packed import Packing, first_rows, lstm_backward, lstm_forward, packing, scatter_rows
from tpn2f.kernels.precision import of_one_type


@of_one_type
def lstm_scan(
    table: Float[Tensor, "types d_gates"],
    index: Int[Tensor, "batch words"],
    counts: Int[Tensor, "batch"],
    recurrent: Float[Tensor, "d_gates d_hidden"],
) -> Float[Tensor, "batch words d_hidden"]:
    """See `reference.lstm_scan`."""
    return _LSTMScan.apply(table, index, counts, recurrent)  # pyright: ignore[reportReturnType]


class _LSTMScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor, counts: Tensor, recurrent: Tensor) -> Tensor:
        batch, words = index.shape
        d = recurrent.shape[1]
        packed = packing(counts, words)
        types = packed.pack(index)
        gates = table.index_select(0, types)
        cells, squashed, hiddens = (table.new_empty(len(types), d) for _ in range(3))
        for t, step in enumerate(packed.steps):
            size = step.stop - step.start
            gate = gates[step]
            if t:
                gate.addmm_(first_rows(hiddens, packed.steps[t - 1], size), recurrent.T)
            before = first_rows(cells, packed.steps[t - 1], size) if t else None
            lstm_forward(gate, before, cells[step], squashed[step], hiddens[step])
        ctx.save_for_backward(types, recurrent, gates, cells, squashed, hiddens)
        ctx.packed, ctx.n_types = packed, len(table)
        return packed.unpack(hiddens, batch, words)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        types, recurrent, gates, cells, squashed, hiddens = ctx.saved_tensors
        packed: Packing = ctx.packed
        first, d = packed.steps[0].stop, hiddens.shape[1]
        d_hiddens, d_gates = packed.pack(upstream), torch.empty_like(gates)
        d_cell, scratch = gates.new_zeros(first, d), gates.new_empty(first, d)
        for t in range(len(packed.steps) - 1, -1, -1):
            step = packed.steps[t]
            size = step.stop - step.start
            if t + 1 < len(packed.steps):
                following = packed.steps[t + 1]
                first_rows(d_hiddens, step, following.stop - following.start).addmm_(d_gates[following], recurrent)
            before = first_rows(cells, packed.steps[t - 1], size) if t else None
            lstm_backward(
                d_hiddens[step], d_cell[:size], gates[step], before, squashed[step], d_gates[step], scratch[:size]
            )
        d_table = scatter_rows(d_gates, types, ctx.n_types) if ctx.needs_input_grad[0] else None
        # The state that a step begins with: what the first rows of the step before ended with.
        previous = torch.cat(
            [
                hiddens[:0],
                *(first_rows(hiddens, one, two.stop - two.start) for one, two in zip(packed.steps, packed.steps[1:])),
            ]
        )
        return d_table, None, None, d_gates[first:].T @ previous
