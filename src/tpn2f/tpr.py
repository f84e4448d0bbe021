"""The algebra of tensor product representations: binding, superposition, unbinding, and when unbinding is exact.

A structure is a sum of bindings, filler (x) role (section 3 of the paper). A relational tuple is a sum of
argument (x) relation (x) position: an order-3 tensor for any number of arguments (section 4.1). Unbinding is the inner
product with the dual of a role.

    >>> roles = torch.eye(3)
    >>> fillers = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> unbind(bind_all(fillers, roles), dual_basis(roles)[1])
    tensor([3., 4.])

Every function is pure, works on any leading batch axes (which broadcast), and is differentiable. Nothing here is
learned, and nothing here knows words or programs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


def bind(
    filler: Float[Tensor, "*#batch d_filler"], role: Float[Tensor, "*#batch d_role"]
) -> Float[Tensor, "*batch d_filler d_role"]:
    """filler (x) role: one constituent of a structure (equation 1, one term)."""
    return filler.unsqueeze(-1) * role.unsqueeze(-2)


def superpose(bindings: Float[Tensor, "*batch n d_filler d_role"]) -> Float[Tensor, "*batch d_filler d_role"]:
    """The structure whose constituents are the given bindings: their sum (equation 1)."""
    return bindings.sum(-3)


def bind_all(
    fillers: Float[Tensor, "*#batch n d_filler"], roles: Float[Tensor, "*#batch n d_role"]
) -> Float[Tensor, "*batch d_filler d_role"]:
    """sum_i f_i (x) r_i (equation 1), without making the single bindings."""
    return fillers.transpose(-1, -2) @ roles


def unbind(
    structure: Float[Tensor, "*#batch d_filler d_role"], unbinding: Float[Tensor, "*#batch d_role"]
) -> Float[Tensor, "*batch d_filler"]:
    """T . u: the filler of the role to which u is dual (equation 2)."""
    return (structure @ unbinding.unsqueeze(-1)).squeeze(-1)


def bind_tuple(
    arguments: Float[Tensor, "*#batch positions d_argument"],
    relation: Float[Tensor, "*#batch d_relation"],
    positions: Float[Tensor, "*#batch positions d_position"],
) -> Float[Tensor, "*batch d_argument d_relation d_position"]:
    """sum_i a_i (x) r_rel (x) p_i: the order-3 representation of a tuple with any number of arguments (equation 3)."""
    return torch.einsum("...ia,...r,...ip->...arp", arguments, relation, positions)


def unbind_positions(
    structure: Float[Tensor, "*#batch d_argument d_relation d_position"],
    unbinding: Float[Tensor, "*#batch positions d_position"],
) -> Float[Tensor, "*batch positions d_argument d_relation"]:
    """B_i = H . p'_i for every position: the first step of unbinding a tuple (equation 4)."""
    return torch.einsum("...arp,...ip->...iar", structure, unbinding)


def unbind_relation(
    bindings: Float[Tensor, "*#batch positions d_argument d_relation"],
    unbinding: Float[Tensor, "*#batch d_relation"],
) -> Float[Tensor, "*batch positions d_argument"]:
    """a_i = B_i . r': the second step of unbinding a tuple (equation 5)."""
    return torch.einsum("...iar,...r->...ia", bindings, unbinding)


def dual_basis(roles: Float[Tensor, "*batch n d_role"]) -> Float[Tensor, "*batch n d_role"]:
    """Unbinding vectors u_j with r_i . u_j = delta_ij, one per row (section 3).

    Exact for linearly independent roles. For dependent ones it is the pseudo-inverse, whose products are the closest to
    delta_ij in the least-squares sense; `recoverability` measures how far off they are.
    """
    return torch.linalg.pinv(roles).transpose(-1, -2)


class Decomposition(NamedTuple):
    """H = H_TPR + Z (equation 22): what the unbinding of a tuple sees of H, and what it cannot see."""

    represented: Float[Tensor, "*batch d_argument d_relation d_position"]
    """H_TPR: the representation of the unbound arguments with the relation and positions dual to the unbinding."""
    residual: Float[Tensor, "*batch d_argument d_relation d_position"]
    """Z: annihilated by the two unbinding steps (equation 23)."""
    arguments: Float[Tensor, "*batch positions d_argument"]
    relation: Float[Tensor, "*batch d_relation"]
    positions: Float[Tensor, "*batch positions d_position"]
    residual_ratio: Float[Tensor, "*batch"]
    """|Z| / |H|, from 0 (H is exactly the tuple's representation) to 1 (unbinding finds nothing)."""


def decompose(
    structure: Float[Tensor, "*batch d_argument d_relation d_position"],
    position_unbinding: Float[Tensor, "*#batch positions d_position"],
    relation_unbinding: Float[Tensor, "*#batch d_relation"],
) -> Decomposition:
    """Splits any order-3 tensor into the tuple that two-step unbinding reads from it, and the rest (section 4.4).

    The single vector r' is dual to r = r' / |r'|^2. H_TPR is an orthogonal projection of H, so Z is annihilated
    whatever the p'_i are; if they are linearly dependent, other arguments would give the same H_TPR.
    """
    positions = dual_basis(position_unbinding)
    norm = relation_unbinding.square().sum(-1, keepdim=True)
    relation = relation_unbinding / torch.where(norm > 0, norm, torch.ones_like(norm))
    arguments = unbind_relation(unbind_positions(structure, position_unbinding), relation_unbinding)
    represented = bind_tuple(arguments, relation, positions)
    residual = structure - represented
    whole = structure.flatten(-3).norm(dim=-1)
    ratio = residual.flatten(-3).norm(dim=-1) / torch.where(whole > 0, whole, torch.ones_like(whole))
    batch = structure.shape[:-3]
    return Decomposition(
        represented,
        residual,
        arguments,
        relation.expand(*batch, *relation.shape[-1:]),
        positions.expand(*batch, *positions.shape[-2:]),
        ratio,
    )


class Recoverability(NamedTuple):
    """How well the fillers of a set of roles can be separated after superposition."""

    condition: Float[Tensor, "*batch"]
    """Largest over smallest singular value of the role matrix: how much unbinding may magnify noise in a structure."""
    rank: Int[Tensor, "*batch"]
    """The roles are independent, and unbinding exact, if this equals their number."""
    crosstalk: Float[Tensor, "*batch n n"]
    """Entry (i, j) is r_i . u_j - delta_ij: what unbinding role j wrongly takes from the filler of role i."""
    crosstalk_bound: Float[Tensor, "*batch n"]
    """|unbound_j - f_j| is at most this times the largest norm of a filler."""


def recoverability(roles: Float[Tensor, "*batch n d_role"]) -> Recoverability:
    """Says how exact `unbind(bind_all(fillers, roles), dual_basis(roles)[j])` is, before any filler is known.

    The error is not only bounded but predicted: unbound_j - f_j = sum_i crosstalk[i, j] f_i.
    """
    singular = torch.linalg.svdvals(roles)
    tolerance = singular[..., :1] * max(roles.shape[-2:]) * torch.finfo(roles.dtype).eps
    # More roles than dimensions leave a null space that svdvals does not list.
    smallest = singular[..., -1] * (roles.shape[-2] <= roles.shape[-1])
    condition = torch.where(smallest > tolerance[..., 0], singular[..., 0] / smallest, torch.inf)
    identity = torch.eye(roles.shape[-2], dtype=roles.dtype, device=roles.device)
    crosstalk = roles @ dual_basis(roles).transpose(-1, -2) - identity
    return Recoverability(condition, (singular > tolerance).sum(-1), crosstalk, crosstalk.abs().sum(-2))
