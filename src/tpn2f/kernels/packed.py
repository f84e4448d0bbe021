"""Rows of unequal length without padding, and what both fused recurrences do over them.

A step only touches the rows that are still alive, and nothing is computed for padding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

# The derivative of a squashing function from its value, written into a given place: one pass over memory.
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input
softmax_backward = torch.ops.aten._softmax_backward_data.out


class Packing(NamedTuple):
    """Rows of unequal length without padding: step after step, within a step the longest rows first."""

    order: Tensor
    """The rows, longest first."""
    place: Tensor
    """For every packed entry its place in the flattened [batch steps] grid."""
    steps: list[slice]
    """For every step its packed entries. Step t + 1 continues the first rows of step t."""

    def pack(self, padded: Tensor) -> Tensor:
        return padded.flatten(0, 1).index_select(0, self.place)

    def unpack(self, packed: Tensor, batch: int, steps: int) -> Tensor:
        padded = packed.new_zeros(batch * steps, *packed.shape[1:])
        return padded.index_copy_(0, self.place, packed).unflatten(0, (batch, steps))


def packing(counts: Tensor, steps: int) -> Packing:
    """How rows with these counts, padded to `steps`, are packed."""
    lengths, order = torch.sort(counts, descending=True, stable=True)
    real = torch.arange(steps, device=counts.device).unsqueeze(1) < lengths
    grid = order * steps + torch.arange(steps, device=counts.device).unsqueeze(1)
    slices, start = [], 0
    for size in real.sum(1).tolist():
        if size:
            slices.append(slice(start, start + size))
            start += size
    return Packing(order, grid[real], slices)


def first_rows(packed: Tensor, step: slice, size: int) -> Tensor:
    """The first rows of a step: those that go on into the next one."""
    return packed[step.start : step.start + size]


def lstm_forward(gate: Tensor, before: Tensor | None, cell: Tensor, squashed: Tensor, shown: Tensor) -> None:
    """One LSTM step: turns the sums of the gates into their values, and fills the cell, its tanh and what is shown.

    `before` is the cell of the step before, None if that was zero.
    """
    sigmoids = 3 * cell.shape[1]
    gate[:, :sigmoids].sigmoid_()
    gate[:, sigmoids:].tanh_()
    forget, write, show, new = gate.chunk(4, dim=1)
    torch.mul(write, new, out=cell)
    if before is not None:
        cell.addcmul_(forget, before)
    torch.tanh(cell, out=squashed)
    torch.mul(show, squashed, out=shown)


def lstm_backward(
    d_shown: Tensor,
    d_cell: Tensor,
    gate: Tensor,
    before: Tensor | None,
    squashed: Tensor,
    d_gate: Tensor,
    scratch: Tensor,
) -> None:
    """One LSTM step backward: fills d_gate, and turns d_cell from this step's into the one of the step before.

    `before` is the cell of the step before, None if that was zero.
    """
    forget, write, show, new = gate.chunk(4, dim=1)
    d_forget, d_write, d_show, d_new = d_gate.chunk(4, dim=1)
    sigmoids = 3 * forget.shape[1]
    torch.mul(d_shown, squashed, out=d_show)
    torch.mul(d_shown, show, out=scratch)
    d_cell.add_(tanh_backward(scratch, squashed, grad_input=scratch))
    if before is None:
        d_forget.zero_()
    else:
        torch.mul(d_cell, before, out=d_forget)
    torch.mul(d_cell, new, out=d_write)
    torch.mul(d_cell, write, out=d_new)
    d_cell.mul_(forget)
    sigmoid_backward(d_gate[:, :sigmoids], gate[:, :sigmoids], grad_input=d_gate[:, :sigmoids])
    tanh_backward(d_new, new, grad_input=d_new)


def scatter_rows(values: Tensor, index: Tensor, rows: int) -> Tensor:
    """Adds every value to the row of a new table that its index names."""
    return torch.ops.aten.embedding_dense_backward(values, index, rows, -1, False)
