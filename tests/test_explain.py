"""Looking inside: what is reported of words, tuples and relations is what the model has; checks know chance."""

import json
import sys
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from conftest import unchecked
from tpn2f.codec import Codec
from tpn2f.domain import Example, Problem, load_domain
from tpn2f.errors import DataError, N2FError
from tpn2f.explain import (
    THRESHOLD,
    agreement,
    analyse,
    explain_question,
    group_words,
    measure_attention,
    measure_tpr,
    relation_vectors,
)
from tpn2f.explain.classes import asked_part, relation_classes, word_class
from tpn2f.explain.observe import Tuples, _others, _shares, observe_tuples, observe_words, take
from tpn2f.explain.purity import purity_of_words
from tpn2f.explain.relations import map_relations, measure_tuples
from tpn2f.model import ModelConfig, build_model, systems
from tpn2f.model.baselines import flatten
from tpn2f.program import Program
from tpn2f.solver import Solver
from tpn2f.tpr import bind_tuple, decompose, dual_basis

TINY = ModelConfig(
    n_fillers=9, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=4, d_symbol=5
)
CONFIGS = {name: replace(TINY, d_hidden=8, **overrides) for name, overrides in systems.items()} | {
    "bidirectional": replace(TINY, bidirectional=True),
    "grounded": replace(TINY, grounded=True, d_grounded=5),
}
QUESTION = "What is 3 plus 4 times 5?"


@cache
def make_codec() -> Codec:
    with unchecked():
        return Codec.build(islice(load_domain("arithmetic").examples("train"), 300))


def make_solver(config: ModelConfig, seed: int = 0) -> Solver:
    domain = load_domain("arithmetic")
    codec = make_codec()
    torch.manual_seed(seed)
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    return Solver(domain, codec, build_model(config, *sizes, codec.argument_of_word()).eval())


@pytest.fixture(scope="module", params=CONFIGS)
def solver(request) -> Solver:
    return make_solver(CONFIGS[request.param])


@pytest.fixture(scope="module")
def tiny() -> Solver:
    return make_solver(TINY)


# One question


def test_a_question_is_explained_as_the_model_sees_it(solver):
    seen = explain_question(solver, QUESTION)
    problem = solver.domain.read(QUESTION)
    assert seen.words == problem.words
    assert seen.program == solver.predict([problem])[0][0].program
    encoding = solver.model.encode(*solver.codec.batch_words([problem]))
    for found, best, scores in (
        (seen.fillers, seen.filler_choices, encoding.filler_scores),
        (seen.roles, seen.role_choices, encoding.role_scores),
    ):
        if scores is None:
            assert found == best == ()
            continue
        n = scores.shape[-1]
        for place, (selection, numbers) in enumerate(zip(found, best, strict=True)):
            weights = scores[0, :, place].flatten()
            expected = {number: weight for number, weight in enumerate(weights.tolist()) if weight > THRESHOLD}
            assert dict(selection) == expected
            assert [weight for _, weight in selection] == sorted(expected.values(), reverse=True)
            assert [number % n for number in numbers] == scores[0, :, place].argmax(-1).tolist()
            assert [number // n for number in numbers] == list(range(scores.shape[1]))
    assert seen.has_roles == (encoding.role_scores is not None)


def test_attention_on_arguments_is_what_the_maps_of_the_questions_show(solver):
    """Of every gold program, tuple by tuple or symbol by symbol, against the map of each question."""
    examples = take(solver, "dev", 12)
    seen = measure_attention(solver, examples)
    assert seen.steps > 12
    assert 0 < seen.evenness <= 1 and 0 < seen.on_used <= seen.largest * 3 and 0 <= seen.found <= 1
    if solver.model.config.decoder == "lstm":
        return  # a map has the mean over the symbols of a tuple
    shares, even = [], []
    for example in examples:
        words = example.problem.words
        shown = explain_question(solver, example.problem, program=example.program)
        for step, weights in zip(example.program, shown.attention, strict=True):
            places = [place for place, word in enumerate(words) if word in step.arguments]
            if places:
                shares.append(sum(weights[place] for place in places))
                even.append(len(places) / len(words))
    assert seen.steps == len(shares)
    assert seen.on_used == pytest.approx(sum(shares) / len(shares), abs=1e-5)
    assert seen.chance == pytest.approx(sum(even) / len(even), abs=1e-6)


def test_attention_needs_a_program_with_words_of_the_text(tiny):
    strange = [Example(Problem(("what", "?")), Program.parse("add(const_1, const_2)"))]
    with pytest.raises(DataError, match="no gold program has an argument that stands in its text"):
        measure_attention(tiny, strange)


def test_attention_has_a_row_a_tuple_that_sums_to_one(solver):
    seen = explain_question(solver, QUESTION, width=3)
    assert seen.program is not None and len(seen.attention) == len(seen.program)
    for row in seen.attention:
        assert len(row) == len(seen.words)
        assert sum(row) == pytest.approx(1, abs=1e-5)


PROGRAM = Program.parse("add(n0, n1) | multiply(#0, n2) | square(#1)")


@pytest.mark.parametrize("system", systems)
def test_attention_is_that_of_the_whole_program_at_once(system):
    """An oracle: the scan that training uses, over all symbols at once."""
    solver = make_solver(CONFIGS[system])
    problem = solver.domain.read(QUESTION)
    seen = explain_question(solver, problem, program=PROGRAM)
    words, counts = solver.codec.batch_words([problem])
    rows = solver.codec.encode_program(PROGRAM)
    tuples, tuple_counts = torch.tensor([rows]), torch.tensor([len(rows)])
    if solver.model.config.decoder == "tpr":
        expected = solver.model.decode(words, counts, tuples, tuple_counts).attention[0, : len(PROGRAM)]
    else:
        decoder, encoding = solver.model.decoder, solver.model.encode(words, counts)
        symbols, symbol_counts = flatten(tuples, tuple_counts, solver.model.n_relations)
        index = torch.cat([torch.ones_like(symbols[:, :1]), symbols[:, :-1]], 1).unsqueeze(-1)
        state = decoder.reasoning(encoding.summary)
        _, attention = decoder.lstm.scan(decoder._table(), index, symbol_counts, *state, encoding)
        sizes = [1 + len(step.arguments) for step in PROGRAM]
        expected = torch.stack([part.mean(0) for part in attention[0, : sum(sizes)].split(sizes)])
    assert torch.tensor(seen.attention) == pytest.approx(expected.detach(), abs=1e-5)


def test_what_cannot_be_explained_is_refused(tiny):
    with pytest.raises(DataError, match="empty"):
        explain_question(tiny, "   ")
    with pytest.raises(DataError, match="empty"):
        explain_question(tiny, Problem((), {}))
    with pytest.raises(DataError, match="does not know: launch, moon"):
        explain_question(tiny, QUESTION, program=Program.parse("launch(moon, n0)"))


def test_a_program_that_only_the_second_model_can_write_is_shown_by_it(tiny):
    """With whatever vocabulary the first one has."""
    problem = tiny.domain.read(QUESTION)
    program = Program.parse("multiply(n1, n2) | add(n0, #0)")
    with unchecked():
        sums = [one for one in islice(tiny.domain.examples("train"), 300) if "multiply" not in str(one.program)]
    codec = Codec.build(sums)
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    asked = Solver(tiny.domain, codec, build_model(TINY, *sizes, codec.argument_of_word()).eval())
    with pytest.raises(DataError, match="does not know: multiply"):
        explain_question(asked, problem, program=program)
    asked.second = tiny
    assert explain_question(asked, problem, program=program) == explain_question(tiny, problem, program=program)


def test_looking_leaves_the_model_as_it_was(tiny):
    tiny.model.train()
    explain_question(tiny, QUESTION)
    relation_vectors(tiny, "dev", 10)
    assert tiny.model.training
    tiny.model.eval()
    assert all(parameter.grad is None for parameter in tiny.model.parameters())


def test_maps_are_json(solver):
    told = json.loads(json.dumps(explain_question(solver, QUESTION).to_dict(), allow_nan=False))
    assert Program.parse(told["program"]) == Program.parse(" | ".join(told["tuples"]))
    assert len(told["words"]) == len(told["attention"][0])


# Groups


def test_groups_hold_every_selection_once(tiny):
    examples = take(tiny, "dev", 15)
    groups = group_words(tiny, "dev", 15)
    maps = [explain_question(tiny, example.problem) for example in examples]
    assert groups.tokens == sum(len(example.problem.words) for example in examples)
    for found, per_word in (
        (groups.fillers, [selection for seen in maps for selection in seen.fillers]),
        (groups.roles, [selection for seen in maps for selection in seen.roles]),
    ):
        counts: dict[int, int] = {}
        for selection in per_word:
            for number, _ in selection:
                counts[number] = counts.get(number, 0) + 1
        assert {group.number: group.tokens for group in found} == counts
        assert [group.tokens for group in found] == sorted(counts.values(), reverse=True)
        for group in found:
            assert sum(member.count for member in group.words) <= group.tokens
            assert all(0 < member.share <= 1 for member in group.words)


def test_a_plain_side_has_nothing_to_look_at():
    flat = make_solver(CONFIGS["lstm2lstm"])
    with pytest.raises(DataError, match="no fillers and no roles"):
        group_words(flat, "dev", 5)
    for look in (relation_vectors, measure_tpr):
        with pytest.raises(DataError, match="no tuples"):
            look(flat, "dev", 5)
    with pytest.raises(DataError, match="split"):
        group_words(flat, "nowhere", 5)


# The decoder's algebra


def test_shares_are_those_of_the_decomposition(tiny):
    examples = take(tiny, "dev", 20)
    seen = observe_tuples(tiny, examples)
    assert seen is not None
    assert len(seen.own) == sum(len(example.program) for example in examples)
    batch = tiny.codec.batch(examples)
    with torch.no_grad():
        whole = tiny.model.decode(*batch[:4])
        parts = decompose(whole.hidden, tiny.model.decoder.position_unbinding, whole.relation_unbinding)
    real = torch.arange(batch.tuples.shape[1]) < (batch.tuple_counts - 1)[:, None]
    expected = 1 - parts.residual_ratio[real].square()
    assert sorted(seen.own.tolist()) == pytest.approx(sorted(expected.tolist()), abs=1e-4)


def test_a_tuples_own_representation_is_explained_whole():
    """H = sum a_i (x) r (x) p_i with the duals of the unbinding vectors: Z is nothing."""
    torch.manual_seed(0)
    positions, unbinding = torch.randn(2, 4), torch.randn(6, 3)
    relation = unbinding / unbinding.square().sum(-1, keepdim=True)
    hidden = bind_tuple(torch.randn(6, 2, 5), relation, dual_basis(positions).expand(6, 2, 4))
    own, seen, best, other, along = _shares(hidden, positions, unbinding, torch.arange(6).roll(1))
    for share in (own, seen, best):
        assert share == pytest.approx(torch.ones(6), abs=1e-5)
    assert (other < 0.999).all() and (along < 0.999).all()


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_shares_keep_their_order(seed):
    """Nothing is explained twice: own and foreign relation vectors give at most the best, the best at most all."""
    torch.manual_seed(seed)
    hidden, positions, unbinding = torch.randn(5, 4, 3, 4), torch.randn(2, 4), torch.randn(5, 3)
    own, seen, best, other, along = _shares(hidden, positions, unbinding, torch.arange(5).roll(1))
    assert (own <= best + 1e-9).all() and (other <= best + 1e-9).all()
    assert (best <= seen + 1e-9).all() and (seen <= 1 + 1e-9).all() and (along <= 1 + 1e-9).all()


def test_chance_is_what_random_vectors_give(tiny):
    seen = observe_tuples(tiny, take(tiny, "dev", 5))
    assert seen is not None
    torch.manual_seed(0)
    config, n = tiny.model.config, 4_000
    hidden = torch.randn(n, config.d_argument, config.d_relation, config.d_position)
    positions = torch.randn(tiny.model.n_positions, config.d_position)
    share = _shares(hidden, positions, torch.randn(n, config.d_relation), torch.arange(n).roll(1))[0].mean().item()
    assert share == pytest.approx(seen.chance, rel=0.05)


@settings(max_examples=30)
@given(st.integers(2, 50), st.integers(0, 100))
def test_nothing_is_its_own_other(count, seed):
    others = _others(count, np.random.default_rng(seed))
    assert sorted(others.tolist()) == list(range(count))
    assert (others != np.arange(count)).all()


def tuples(vectors: np.ndarray, relation: np.ndarray, **changes) -> Tuples:
    n = len(relation)
    columns = {name: np.linspace(0.1, 0.5, n) for name in ("own", "positions", "best", "other_relation", "other_tuple")}
    return Tuples(
        **{
            **{"relation": relation, "right": np.arange(n) % 2 == 0, "unbinding": vectors},
            **{"partner": np.roll(relation, 1), "chance": 0.1},
            **columns,
            **changes,
        }
    )


def test_relations_are_averaged_and_planted_clusters_found(tiny):
    random = np.random.default_rng(0)
    names = tiny.codec.relations.tokens[4:8]
    assert len(names) == 4
    centres = np.array([[10.0, 0, 0], [10.0, 1, 0], [0, 10.0, 0], [0, 0, 10.0]])
    relation = np.repeat([4, 5, 6, 7], [40, 30, 20, 10])
    vectors = centres[relation - 4] + 0.1 * random.normal(size=(100, 3))
    found = map_relations(tiny.codec, tuples(vectors, relation))
    assert found.relations == tuple(names) and found.counts == (40, 30, 20, 10)
    means = np.stack([vectors[relation == number].mean(0) for number in (4, 5, 6, 7)])
    assert np.array(found.vectors) == pytest.approx(means)
    assert [clustering.k for clustering in found.clusterings] == [3]
    assert found.clusterings[0].labels == (0, 0, 1, 2)
    spread = means[:2] - means[:2].mean(0)
    assert found.clusterings[0].inertia == pytest.approx((spread**2).sum())
    assert found.nearest[0][0][0] == names[1] and found.nearest[0][0][1] == pytest.approx(0.995, abs=0.01)
    # The plane of the principal components holds what the vectors' variance says that it holds.
    assert sum(found.explained) <= 1 + 1e-9
    centred = means - means.mean(0)
    assert (np.array(found.points) ** 2).sum() == pytest.approx(sum(found.explained) * (centred**2).sum())


def test_one_or_two_relations_have_a_map_without_clusters(tiny):
    for relation in (np.array([4, 4]), np.array([4, 5, 5])):
        found = map_relations(tiny.codec, tuples(np.eye(3)[: len(relation)], relation))
        assert found.clusterings == () and len(found.points) == len(set(relation.tolist()))


def test_the_measure_keeps_pairs_of_one_relation_apart():
    relation = np.array([4, 4, 5])
    other = np.array([0.1, 0.2, 0.3])
    found = measure_tuples(tuples(np.eye(3), relation, partner=np.array([4, 5, 4]), other_relation=other))
    assert found.other_relation.mean == pytest.approx(0.25)
    assert found.same_relation is not None and found.same_relation.mean == pytest.approx(0.1)
    assert found.own_when_right == pytest.approx(0.3) and found.own_when_wrong == pytest.approx(0.3)
    with pytest.raises(DataError, match="one relation"):
        measure_tuples(tuples(np.eye(3), np.array([4, 4, 4])))


def test_without_the_extra_there_is_one_clear_line(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(N2FError, match=r"pip install 'tpn2f\[analysis\]'"):
        relation_vectors(tiny, "dev", 10)
    assert measure_tpr(tiny, "dev", 10).tuples > 0


# Classes and purity


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("what", "question"), ("find", "question"), ("km", "unit"), ("%", "unit"), ("$", "unit")],
        *[(",", "punctuation"), ("(", "punctuation"), ("least", "operation"), ("hundred", "number word")],
        *[("twice", "number word"), ("3.5", "numeral"), ("12", "numeral"), ("sum", "operation"), ("the", "function")],
        *[("train", "content"), ("more", "operation"), ("—", "punctuation"), ("", "content"), ("数", "content")],
    ],
)
def test_words_have_the_class_that_a_person_gives_them(word, expected):
    assert word_class(word) == expected
    assert word_class(word, is_name=True) == "name"


def test_the_asked_part_goes_from_the_question_word_to_the_end_of_its_clause():
    text = "a train is n0 m long . what is its speed , if it takes n1 seconds ? find n2 ."
    words = text.split()
    asked = [word for word, part in zip(words, asked_part(words), strict=True) if part]
    assert " ".join(asked) == "what is its speed find n2 ."


def test_relations_are_told_apart_by_types_words_or_the_domain_itself():
    classes, source = relation_classes(load_domain("mathqa"))
    assert (classes["volume_cube"], classes["add"], classes["speed"]) == ("geometry", "arithmetic", "motion and work")
    assert "words" in source
    classes, source = relation_classes(load_domain("algolisp"))
    assert classes["strlen"] == classes["str_concat"] == "string" and classes["partial1"] == "function"
    assert "type" in source
    arithmetic = load_domain("arithmetic")
    assert relation_classes(arithmetic)[0] == {}
    arithmetic.relation_classes = {"add": "sum", "multiply": "product"}  # type: ignore[attr-defined]
    assert relation_classes(arithmetic) == ({"add": "sum", "multiply": "product"}, "given by the domain")


NAMES = ("groups", "classes", "units")


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=60))
def test_mutual_information_is_that_of_scikit_learn(pairs):
    groups, classes = [group for group, _ in pairs], [kind for _, kind in pairs]
    found = agreement(groups, classes, NAMES, shuffles=3)
    assert found.mutual_information == pytest.approx(normalized_mutual_info_score(classes, groups), abs=1e-6)
    assert found.largest_class - 1e-12 <= found.purity <= 1 + 1e-12
    assert found.purity >= 1 / found.n_classes - 1e-12


def test_structure_is_told_from_chance():
    random = np.random.default_rng(0)
    classes = random.choice(list("abc"), 300).tolist()
    same = agreement(["abc".index(kind) for kind in classes], classes, NAMES, 99)
    assert (same.purity, same.mutual_information, same.p_value) == (1, pytest.approx(1), 0.01)
    assert same.control_purity < 0.5 and same.control_mutual_information < 0.1
    noise = agreement(random.integers(0, 30, 300), classes, NAMES, 99)
    assert noise.p_value > 0.05 and noise.purity == pytest.approx(noise.control_purity, abs=0.05)
    with pytest.raises(ValueError, match="2 groups and 1 classes"):
        agreement([1, 2], ["a"], NAMES)


def test_shuffles_within_a_word_cannot_fake_what_the_word_alone_says():
    """Each word has one group and one class: among distinct words that is structure, among its own places nothing."""
    words = np.repeat(np.arange(6), 20)
    classes = ["a" if word < 3 else "b" for word in words]
    free = agreement(words, classes, NAMES, 99)
    inside = agreement(words, classes, NAMES, 99, within=words)
    assert free.p_value == 0.01
    assert inside.p_value == 1 and inside.control_mutual_information == pytest.approx(inside.mutual_information)


def test_words_that_training_did_not_have_are_no_evidence(tiny):
    tokens = observe_words(tiny, take(tiny, "dev", 40))
    assert tokens is not None
    checks = purity_of_words(tokens, lambda word: word in tiny.codec.words, shuffles=9)
    assert [(check.groups, check.classes) for check in checks] == [
        *[("fillers", "word class"), ("roles", "word class")],
        *[("fillers", "part of the question"), ("roles", "part of the question")],
    ]
    assert purity_of_words(tokens, lambda word: False, shuffles=9) == ()


# Everything at once


def test_an_analysis_says_what_there_is_and_what_there_is_not(solver):
    told: list[str] = []
    found = analyse(solver, "dev", 30, 9, told.append)
    config = solver.model.config
    assert (found.groups is not None) == (config.encoder == "tpr")
    assert (found.relations is not None) == (found.tpr is not None) == (config.decoder == "tpr")
    assert any("no roles" in note for note in found.notes) == (config.encoder == "lstm")
    assert any("no tuples" in note for note in found.notes) == (config.decoder == "lstm")
    assert (told and "30 of 30" in " ".join(told)) or config.encoder == config.decoder == "lstm"
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["examples"] == 30
    assert analyse(solver, "dev", 30, 9) == found
