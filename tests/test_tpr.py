"""Laws of the algebra, for any sizes and any batch axes."""

import doctest
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpn2f import tpr

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)
batches = st.sampled_from([(), (3,), (2, 3)])


def law(*strategies):
    """A property of all examples, however slow the machine is today."""
    return lambda test: settings(deadline=None, max_examples=50)(given(*strategies)(test))


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def independent(seed: int, n: int, d: int, *batch: int) -> torch.Tensor:
    """n <= d independent, not orthogonal, rows: singular values from 0.5 to 2."""
    left = torch.linalg.qr(normal(seed, *batch, n, n)).Q
    right = torch.linalg.qr(normal(seed + 1, *batch, d, n)).Q
    return left * torch.linspace(0.5, 2, n, dtype=torch.float64) @ right.mT


def assert_same(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)


def test_the_example_in_the_docstring():
    assert doctest.testmod(tpr, raise_on_error=True, extraglobs={"torch": torch}).attempted == 3


@law(seeds, sizes, sizes, batches)
def test_one_binding_is_unbound(seed, d_filler, d_role, batch):
    filler, role = normal(seed, *batch, d_filler), normal(seed + 1, *batch, d_role)
    unbinding = role / role.square().sum(-1, keepdim=True)
    assert_same(tpr.unbind(tpr.bind(filler, role), unbinding), filler)


@law(seeds, sizes, st.integers(0, 4), sizes, batches)
def test_every_filler_is_recovered_from_independent_roles(seed, n, more, d_filler, batch):
    roles = independent(seed, n, n + more, *batch)
    fillers = normal(seed + 2, *batch, n, d_filler)
    structure = tpr.bind_all(fillers, roles)
    unbinding = tpr.dual_basis(roles)
    for j in range(n):
        assert_same(tpr.unbind(structure, unbinding[..., j, :]), fillers[..., j, :])
    found = tpr.recoverability(roles)
    assert_same(found.condition, torch.full(batch, 4.0 if n > 1 else 1.0, dtype=torch.float64))
    assert (found.rank == n).all()
    assert_same(found.crosstalk, torch.zeros_like(found.crosstalk))


@law(seeds, sizes, st.integers(1, 4), sizes, batches)
def test_crosstalk_of_dependent_roles_is_predicted_and_bounded(seed, d_role, more, d_filler, batch):
    roles = normal(seed, *batch, d_role + more, d_role)
    fillers = normal(seed + 1, *batch, d_role + more, d_filler)
    structure, unbinding, found = tpr.bind_all(fillers, roles), tpr.dual_basis(roles), tpr.recoverability(roles)
    largest = fillers.norm(dim=-1).amax(-1)
    for j in range(d_role + more):
        error = tpr.unbind(structure, unbinding[..., j, :]) - fillers[..., j, :]
        assert_same(error, torch.einsum("...i,...id->...d", found.crosstalk[..., :, j], fillers))
        assert (error.norm(dim=-1) <= found.crosstalk_bound[..., j] * largest + 1e-9).all()
    assert found.condition.isinf().all()
    assert (found.rank == d_role).all()


@law(seeds, sizes, sizes, sizes, batches)
def test_a_structure_is_the_sum_of_its_bindings(seed, n, d_filler, d_role, batch):
    fillers, roles = normal(seed, *batch, n, d_filler), normal(seed + 1, *batch, n, d_role)
    assert_same(tpr.superpose(tpr.bind(fillers, roles)), tpr.bind_all(fillers, roles), 1e-12)


@law(seeds, st.integers(1, 4), st.integers(0, 2), sizes, sizes, batches)
def test_a_tuple_of_any_arity_is_unbound_in_two_steps(seed, n, more, d_argument, d_relation, batch):
    arguments, relation = normal(seed, *batch, n, d_argument), normal(seed + 1, *batch, d_relation)
    positions = independent(seed + 2, n, n + more)
    structure = tpr.bind_tuple(arguments, relation, positions)
    bindings = tpr.unbind_positions(structure, tpr.dual_basis(positions))
    assert_same(bindings, tpr.bind(arguments, relation.unsqueeze(-2)))
    unbinding = relation / relation.square().sum(-1, keepdim=True)
    assert_same(tpr.unbind_relation(bindings, unbinding), arguments)


def test_the_order_of_the_axes_is_argument_relation_position():
    arguments, relation, positions = normal(0, 2, 3), normal(1, 4), normal(2, 2, 5)
    structure = tpr.bind_tuple(arguments, relation, positions)
    for j, k, m in product(range(3), range(4), range(5)):
        expected = sum(arguments[i, j] * relation[k] * positions[i, m] for i in range(2))
        assert structure[j, k, m].item() == pytest.approx(float(expected), abs=1e-12)


@law(seeds, st.integers(1, 4), st.integers(0, 2), sizes, sizes, batches)
def test_any_tensor_is_a_tuple_and_a_rest_that_unbinding_annihilates(seed, n, more, d_argument, d_relation, batch):
    structure = normal(seed, *batch, d_argument, d_relation, n + more)
    # Also more positions than dimensions, and so dependent ones.
    positions = independent(seed + 1, n, n + more) if seed % 2 else normal(seed + 1, n + more + 1, n + more)
    relation = normal(seed + 3, *batch, d_relation)
    found = tpr.decompose(structure, positions, relation)
    assert_same(found.represented + found.residual, structure, 1e-12)
    rest = tpr.unbind_relation(tpr.unbind_positions(found.residual, positions), relation)
    assert_same(rest, torch.zeros_like(rest))
    seen = tpr.unbind_relation(tpr.unbind_positions(structure, positions), relation)
    assert_same(found.arguments, seen)
    assert_same(tpr.bind_tuple(found.arguments, found.relation, found.positions), found.represented)
    again = tpr.decompose(found.represented, positions, relation)
    assert_same(again.residual_ratio * structure.flatten(-3).norm(dim=-1), torch.zeros(batch, dtype=torch.float64))
    assert ((found.residual_ratio >= 0) & (found.residual_ratio <= 1 + 1e-9)).all()


def test_an_exact_tuple_has_no_rest_and_an_empty_one_is_no_error():
    positions = independent(0, 2, 5)
    relation = normal(3, 4)
    structure = tpr.bind_tuple(normal(1, 2, 3), relation / relation.square().sum(), tpr.dual_basis(positions))
    assert tpr.decompose(structure, positions, relation).residual_ratio.item() < 1e-12
    nothing = tpr.decompose(torch.zeros_like(structure), positions, torch.zeros_like(relation))
    assert nothing.residual_ratio.item() == 0


@law(seeds, st.integers(2, 5))
def test_batch_axes_broadcast(seed, n):
    structure, unbinding = normal(seed, n, 3, 4), normal(seed + 1, 4)
    assert_same(tpr.unbind(structure, unbinding), torch.stack([tpr.unbind(one, unbinding) for one in structure]), 1e-12)


def test_unbinding_is_differentiable():
    roles, fillers = independent(0, 2, 3).requires_grad_(), normal(1, 2, 4).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda f, r: tpr.unbind(tpr.bind_all(f, r), tpr.dual_basis(r)[0]), (fillers, roles), atol=1e-5
    )
