"""Every operation of MathQA against a value known from elsewhere; errors; the rewriting of ternary operations."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conftest import unchecked
from tpn2f.domain import Problem
from tpn2f.domains.mathqa import MathQA
from tpn2f.domains.mathqa.operations import OPERATIONS, RELATIONS, to_binary
from tpn2f.errors import ExecutionError, LimitError, ProgramSyntaxError
from tpn2f.program import MAX_TUPLES, Program

PI = 3.141592653589793
DOMAIN = MathQA()

# Values from tables, hand calculation or formulas in another shape than the code's.
KNOWN: list[tuple[str, tuple[float, ...], float]] = [
    ("add", (2.5, -4), -1.5),
    ("subtract", (2.5, 4), -1.5),
    ("multiply", (2.5, -4), -10),
    ("divide", (1, 8), 0.125),
    ("power", (2, 10), 1024),
    ("power", (4, 0.5), 2),
    ("power", (-2, 3), -8),
    ("power", (2, -1), 0.5),
    ("sqrt", (2,), 1.4142135623730951),
    ("log", (1024,), 10),
    ("log", (0.25,), -2),
    ("factorial", (0,), 1),
    ("factorial", (10,), 3_628_800),
    ("gcd", (1071, 462), 21),
    ("gcd", (9, 4), 1),
    ("lcm", (21, 6), 42),
    ("max", (-3, 2), 2),
    ("min", (-3, 2), -3),
    ("reminder", (17, 5), 2),
    ("reminder", (7.5, 2), 1.5),
    ("negate", (3,), -3),
    ("inverse", (8,), 0.125),
    ("round", (2.6,), 3),
    ("round", (-2.6,), -3),
    ("floor", (2.9,), 2),
    ("floor", (-2.1,), -3),
    ("sine", (PI / 6,), 0.5),
    ("cosine", (PI / 3,), 0.5),
    ("tangent", (PI / 4,), 1),
    ("radians_to_degree", (PI,), 180),
    ("degree_to_radians", (180,), PI),
    ("sum_consecutive_number", (1, 100), 5050),
    ("sum_consecutive_number", (-3, 5), 9),
    ("sum_consecutive_number", (5, 3), 0),
    ("circle_area", (7,), 153.93804002589985),
    ("circumface", (7,), 43.982297150257104),
    ("circle_arc", (90, 4), 2 * PI),
    ("semi_circle_perimiter", (2,), 10.283185307179586),
    ("circle_sector_area", (2, 90), PI),
    ("rectangle_perimeter", (3, 5), 16),
    ("rectangle_area", (3, 5), 15),
    ("square_perimeter", (3,), 12),
    ("square_area", (3,), 9),
    ("trapezium_area", (4, 3, 5), 16),
    ("quadrilateral_area", (20, 5, 4), 90),
    ("rhombus_perimeter", (3,), 12),
    ("rhombus_area", (6, 8), 24),
    ("triangle_perimeter", (3, 4, 5), 12),
    ("triangle_area", (3, 4), 6),
    ("triangle_area_three_edges", (13, 14, 15), 84),
    ("diagonal", (5, 12), 13),
    ("side_by_diagonal", (13, 5), 12),
    ("square_edge_by_perimeter", (12,), 3),
    ("square_edge_by_area", (9,), 3),
    ("volume_cone", (3, 4), 12 * PI),
    ("volume_rectangular_prism", (2, 3, 4), 24),
    ("volume_cube", (3,), 27),
    ("volume_sphere", (3,), 36 * PI),
    ("volume_cylinder", (3, 4), 36 * PI),
    ("surface_cone", (3, 4), 24 * PI),
    ("surface_cylinder", (3, 4), 42 * PI),
    ("surface_cube", (3,), 54),
    ("surface_rectangular_prism", (2, 3, 4), 52),
    ("surface_sphere", (3,), 36 * PI),
    ("cube_edge_by_volume", (27,), 3),
    ("choose", (12, 5), 792),
    ("choose", (3, 5), 0),
    ("combination", (52, 5), 2_598_960),
    ("permutation", (10, 3), 720),
    ("count_interval", (20, 11), 10),
    ("union_prob", (0.5, 0.4, 0.2), 0.7),
    ("negate_prob", (0.3,), 0.7),
    ("percent", (15, 80), 12),
    ("p_after_gain", (25, 80), 100),
    ("p_after_loss", (25, 80), 60),
    ("price_after_gain", (25, 80), 100),
    ("price_after_loss", (25, 80), 60),
    ("from_percent", (15,), 0.15),
    ("to_percent", (0.15,), 15),
    ("gain_percent", (20,), 120),
    ("loss_percent", (20,), 80),
    ("negate_percent", (20,), 80),
    ("original_price_before_gain", (25, 100), 80),
    ("original_price_before_loss", (25, 60), 80),
    ("speed", (150, 3), 50),
    ("combined_work", (3, 6), 2),
    ("combined_work", (0.25, 4), 2),
    ("find_work", (2, 6), 3),
    ("speed_ratio_steel_to_stream", (3, 1), 2),
    ("speed_in_still_water", (11, 5), 8),
    ("stream_speed", (11, 5), 3),
]


def run(relation: str, arguments: tuple[float, ...]) -> float:
    names = [f"n{place}" for place in range(len(arguments))]
    program = Program.parse(f"{relation}({', '.join(names)})")
    return DOMAIN.execute(program, Problem(("x",), dict(zip(names, arguments))))


@pytest.mark.parametrize(("relation", "arguments", "expected"), KNOWN)
def test_an_operation_has_the_known_value(relation: str, arguments: tuple[float, ...], expected: float) -> None:
    assert run(relation, arguments) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_every_operation_is_in_the_table_and_in_the_relations() -> None:
    assert {relation for relation, _, _ in KNOWN} == set(OPERATIONS) == set(RELATIONS)
    for relation, arguments, _ in KNOWN:
        assert RELATIONS[relation].arity == len(arguments)
        assert set(RELATIONS[relation].arguments) == {RELATIONS[relation].result} == {"number"}
        assert RELATIONS[relation].doc


def test_every_operation_of_the_official_list_is_there(mathqa_data: Path) -> None:
    official = (mathqa_data / "operation_list.txt").read_text().split()
    assert len(official) > 70
    assert set(official) <= set(OPERATIONS)


def test_every_operation_of_the_data_is_there_with_its_arity(mathqa_examples) -> None:
    for split in ("train", "dev", "challenge_test"):
        used = {(step.relation, len(step.arguments)) for example in mathqa_examples(split) for step in example.program}
        assert used <= {(name, signature.arity) for name, signature in RELATIONS.items()}


@pytest.mark.parametrize("relation", [name for name, signature in RELATIONS.items() if signature.commutative])
@given(data=st.data())
def test_arguments_of_commutative_operations_may_change_places(relation: str, data) -> None:
    arguments = data.draw(
        st.lists(st.integers(1, 60), min_size=RELATIONS[relation].arity, max_size=RELATIONS[relation].arity)
    )
    shuffled = data.draw(st.permutations(arguments))
    try:
        expected = run(relation, tuple(map(float, arguments)))
    except ExecutionError:
        with pytest.raises(ExecutionError):
            run(relation, tuple(map(float, shuffled)))
    else:
        assert run(relation, tuple(map(float, shuffled))) == pytest.approx(expected, rel=1e-12)


ERRORS: list[tuple[str, tuple[float, ...], str]] = [
    ("divide", (1, 0), "division by zero"),
    ("inverse", (0,), "division by zero"),
    ("speed", (1, 0), "division by zero"),
    ("reminder", (1, 0), "division by zero"),
    ("power", (-1, 0.5), "-1 to the power 0.5 is not real"),
    ("power", (0, -1), ""),
    ("power", (10, 400), ""),
    ("multiply", (1e200, 1e200), "the result is not finite"),
    ("add", (math.inf, 1), "the result is not finite"),
    ("sqrt", (-1,), "-1 has no real square root"),
    ("square_edge_by_area", (-1,), "-1 has no real square root"),
    ("side_by_diagonal", (3, 5), "-16 has no real square root"),
    ("triangle_area_three_edges", (1, 1, 5), "has no real square root"),
    ("log", (0,), "0 has no logarithm"),
    ("factorial", (2.5,), "2.5 is not a whole number"),
    ("factorial", (-1,), "outside 0! to 170!"),
    ("factorial", (171,), "outside 0! to 170!"),
    ("factorial", (1e18,), "outside 0! to 170!"),
    ("choose", (1e9, 5e8), "at most 1000 things are counted"),
    ("permutation", (5, -1), "at most 1000 things are counted"),
    ("gcd", (1.5, 3), "1.5 is not a whole number"),
    ("lcm", (1e308, 1e307 + 1e300), ""),
    ("original_price_before_loss", (100, 5), "division by zero"),
    ("combined_work", (0, 0), "division by zero"),
    ("find_work", (6, 6), "division by zero"),
    ("speed_ratio_steel_to_stream", (3, 3), "division by zero"),
    ("add", (1, 2, 3), "add takes 2 argument(s), got 3"),
    ("volume_cube", (), "volume_cube takes 1 argument(s), got 0"),
]


@pytest.mark.parametrize(("relation", "arguments", "message"), ERRORS)
def test_what_has_no_value_says_why(relation: str, arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        run(relation, arguments)
    assert str(caught.value).startswith(f"step 0, {relation}(")
    assert message in str(caught.value)


@pytest.mark.parametrize("relation", ["factorial", "choose", "permutation"])
def test_a_count_that_is_too_large_is_a_limit(relation: str) -> None:
    with pytest.raises(LimitError):
        run(relation, (1e9,) * RELATIONS[relation].arity)


@pytest.mark.parametrize("value", ["12", [1, 2], None, True, {}, 10**400])
def test_a_value_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ExecutionError, match="n0 is"):
        DOMAIN.execute(Program.parse("add(n0, const_1)"), Problem(("x",), {"n0": value}))


def test_whole_numbers_of_python_cannot_grow_without_bounds() -> None:
    with pytest.raises(ExecutionError):
        DOMAIN.execute(Program.parse("power(n0, n0)"), Problem(("x",), {"n0": 10**9}))


NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-200, 200).map(float),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 170.0, 171.0, 1000.0, 1001.0, 1e16]),
)


@given(st.sampled_from(sorted(OPERATIONS)), st.lists(NUMBERS, max_size=4))
def test_an_operation_gives_a_finite_number_or_an_execution_error(relation: str, arguments: list[float]) -> None:
    try:
        value = run(relation, tuple(arguments))
    except ExecutionError:
        return
    assert isinstance(value, float) and math.isfinite(value)


# Rewriting

TERNARY = sorted(name for name, signature in RELATIONS.items() if signature.arity == 3)


def test_these_operations_are_ternary() -> None:
    assert TERNARY == [
        "quadrilateral_area",
        "surface_rectangular_prism",
        "trapezium_area",
        "triangle_area_three_edges",
        "triangle_perimeter",
        "union_prob",
        "volume_rectangular_prism",
    ]


@given(st.sampled_from(TERNARY), st.tuples(*[st.floats(0.1, 1e6)] * 3), st.sampled_from(TERNARY))
def test_the_binary_form_keeps_the_value_and_renumbers(relation: str, numbers: tuple[float, ...], other: str) -> None:
    program = Program.parse(f"add(n0, n1) | {relation}(n0, n1, n2) | {other}(#1, #0, #1) | subtract(#1, #2)")
    binary = to_binary(program)
    assert all(len(step.arguments) <= 2 and len(step.arguments) == RELATIONS[step.relation].arity for step in binary)
    problem = Problem(("x",), dict(zip(("n0", "n1", "n2"), numbers)))
    try:
        expected = DOMAIN.execute(program, problem)
    except ExecutionError:
        assume(False)
        return
    assert DOMAIN.execute(binary, problem) == pytest.approx(expected, rel=1e-9)


def test_the_binary_form_by_hand() -> None:
    program = Program.parse("volume_rectangular_prism(n0, n1, n2) | add(#0, const_1) | triangle_perimeter(#0, #1, n0)")
    assert (
        str(to_binary(program)) == "multiply(n0, n1) | multiply(#0, n2) | add(#1, const_1) | add(#1, #2) | add(#3, n0)"
    )


def test_a_program_without_ternary_operations_stays_as_it_is(mathqa_examples) -> None:
    changed = 0
    for example in mathqa_examples("dev"):
        with unchecked():
            binary = to_binary(example.program)
        if any(len(step.arguments) == 3 for step in example.program):
            changed += 1
            assert all(len(step.arguments) <= 2 for step in binary)
            assert run_both(example, binary)
        else:
            assert binary == example.program
    assert changed == 19


def run_both(example, binary: Program) -> bool:
    """Whether both programs give the same value, or both none."""
    values = []
    for program in (example.program, binary):
        try:
            values.append(DOMAIN.execute(program, example.problem))
        except ExecutionError:
            values.append(None)
    return values[0] == pytest.approx(values[1])


@pytest.mark.parametrize("text", ["add(#0, n0)", "add(n0, n1) | union_prob(#0, #1, n0)"])
def test_a_reference_that_points_forward_cannot_be_rewritten(text: str) -> None:
    with pytest.raises(ProgramSyntaxError, match="does not point backwards"):
        to_binary(Program.parse(text))


def test_a_program_that_would_become_too_long_is_refused() -> None:
    long = Program(Program.parse("triangle_area_three_edges(n0, n1, n2)").tuples * (MAX_TUPLES // 10 + 1))
    with pytest.raises(ProgramSyntaxError, match="tuples"):
        to_binary(long)
