"""Programs of templates in the canonical form of `programs.py`, over the numbers of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tpn2f.domains.everyday.programs import Builder
from tpn2f.domains.mathqa.operations import RELATIONS
from tpn2f.program import Program, RelationalTuple, reference

# What templates may write for short: a, b, c are the arguments, a digit is the value of that step of the rule.
_PART = (("divide", "a", "const_100"), ("multiply", "b", "0"))
_SHORT: dict[str, tuple[tuple[str, ...], ...]] = {
    "percent": _PART,
    "from_percent": (("divide", "a", "const_100"),),
    "to_percent": (("multiply", "a", "const_100"),),
    "gain_percent": (("add", "a", "const_100"),),
    "loss_percent": (("subtract", "const_100", "a"),),
    "negate_percent": (("subtract", "const_100", "a"),),
    "p_after_gain": (*_PART, ("add", "b", "1")),
    "p_after_loss": (*_PART, ("subtract", "b", "1")),
    "price_after_gain": (*_PART, ("add", "b", "1")),
    "price_after_loss": (*_PART, ("subtract", "b", "1")),
    "original_price_before_gain": (("divide", "a", "const_100"), ("add", "const_1", "0"), ("divide", "b", "1")),
    "original_price_before_loss": (("divide", "a", "const_100"), ("subtract", "const_1", "0"), ("divide", "b", "1")),
    "speed": (("divide", "a", "b"),),
    "inverse": (("divide", "const_1", "a"),),
    "rectangle_area": (("multiply", "a", "b"),),
    "rectangle_perimeter": (("add", "a", "b"), ("multiply", "0", "const_2")),
    "square_area": (("multiply", "a", "a"),),
    "square_perimeter": (("multiply", "a", "const_4"),),
    "square_edge_by_perimeter": (("divide", "a", "const_4"),),
    "triangle_area": (("multiply", "a", "b"), ("divide", "0", "const_2")),
    "triangle_perimeter": (("add", "a", "b"), ("add", "0", "c")),
    "rhombus_area": (("multiply", "a", "b"), ("divide", "0", "const_2")),
    "rhombus_perimeter": (("multiply", "a", "const_4"),),
    "volume_rectangular_prism": (("multiply", "a", "b"), ("multiply", "0", "c")),
    "volume_cube": (("multiply", "a", "a"), ("multiply", "a", "0")),
}


def spell_out(program: Program) -> Program:
    """The program with what the four operations can say said by them."""
    tuples: list[RelationalTuple] = []
    moved: list[str] = []
    for step in program:
        arguments = [moved[k] if (k := reference(word)) is not None else word for word in step.arguments]
        first, names = len(tuples), dict(zip("abc", arguments, strict=False))
        for relation, *places in _SHORT.get(step.relation, ((step.relation, *"abc"[: len(arguments)]),)):
            words = (f"#{first + int(place)}" if place.isdigit() else names.get(place, place) for place in places)
            tuples.append(RelationalTuple(relation, tuple(words)))
        moved.append(f"#{len(tuples) - 1}")
    return Program(tuple(tuples))


def bind(program: Program, names: Mapping[str, str]) -> Program:
    """The spelled-out program of a template over the names n0, n1, ... that its numbers have in a text."""
    uses = Counter(word for step in program for word in step.arguments)
    builder = Builder()
    words: list[str] = []  # The word for the value of every step so far.
    terms: list[list[str]] = []  # What a sum or a product is made of.
    for step in program:
        arguments: list[str] = []
        for word in step.arguments:
            k = reference(word)
            arguments += _terms(program, step, k, uses, words, terms) if k is not None else [names.get(word, word)]
        chained = step.relation in ("add", "multiply") and len(set(arguments)) == len(arguments)
        if step.relation in ("add", "multiply") and len(arguments) > 2 and not chained:
            arguments = [
                words[k] if (k := reference(word)) is not None else names.get(word, word) for word in step.arguments
            ]
        terms.append(arguments)
        if chained:
            words.append(builder.chain(step.relation, arguments))
        else:
            if RELATIONS[step.relation].commutative:
                arguments.sort(key=builder.order)
            words.append(builder.call(step.relation, *arguments))
    return builder.program(words[-1])


def _terms(
    program: Program, step: RelationalTuple, k: int, uses: Counter[str], words: list[str], terms: list[list[str]]
) -> list[str]:
    """An earlier result, or its parts where it only continues the same sum or product."""
    inner = program.tuples[k]
    joins = step.relation in ("add", "multiply") and inner.relation == step.relation and uses[f"#{k}"] == 1
    return terms[k] if joins else [words[k]]
