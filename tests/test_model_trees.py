"""Decoders of trees: equal to an oracle in NumPy, the same whatever stands beside a row, and well-typed under masks."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
import torch

import tree_oracle
from conftest import unchecked
from tpn2f.codec import Codec
from tpn2f.config import Config
from tpn2f.domain import load_domain
from tpn2f.grammar import make_grammar
from tpn2f.model import END, NONE, PAD, ModelConfig, build_model, tree_systems
from tpn2f.model.forest import plant
from tpn2f.program import Program
from tpn2f.solver import Solver, make_model

N_WORDS, N_RELATIONS, N_ARGUMENTS, N_POSITIONS = 20, 8, 12, 3
TUPLES_OF = [-1] * 8 + [0, 1, 2, 3]
"""Arguments 8 to 11 are #0 to #3."""
SMALL = ModelConfig(d_hidden=6, d_word=5, d_symbol=4, embedding_scale=1.0, forget_bias=1.0)
CONFIGS = {name: replace(SMALL, **overrides) for name, overrides in tree_systems.items()}
END_TUPLE = [END, NONE, NONE, NONE]
PROGRAMS = [
    # (4 x5 (6 (5 x4 x5 x6))), and the tree of each in joint symbols.
    [[5, 4, 5, 6], [6, 8, NONE, NONE], [4, 5, 9, NONE], END_TUPLE],
    [[7, NONE, NONE, NONE], END_TUPLE],
    # What is used twice is written twice.
    [[5, 4, 4, 7], [4, 8, 8, NONE], END_TUPLE],
    [END_TUPLE],
]
LEAF = N_RELATIONS
CLOSE = [LEAF + NONE]
INNER = [5, [LEAF + 4], [LEAF + 5], [LEAF + 6]]
TWICE = [5, [LEAF + 4], [LEAF + 4], [LEAF + 7]]
TREES = [[4, [LEAF + 5], [6, INNER, CLOSE], CLOSE], [7, CLOSE], [4, TWICE, TWICE, CLOSE], [END]]
WORDS = [[4, 9, 5, 7, 6], [11], [5, 4, 8], [6, 6]]


def make(config: ModelConfig):
    torch.manual_seed(0)
    model = build_model(config, N_WORDS, N_RELATIONS, N_ARGUMENTS, N_POSITIONS, (), TUPLES_OF)
    return model.double().eval()


def make_batch(rows=(0, 1, 2, 3), more: int = 0):
    words, programs = [WORDS[row] for row in rows], [PROGRAMS[row] for row in rows]
    longest, most = (max(map(len, part)) + more for part in (words, programs))
    return (
        torch.tensor([text + [PAD] * (longest - len(text)) for text in words]),
        torch.tensor([len(text) for text in words]),
        torch.tensor([steps + [[PAD] * 4] * (most - len(steps)) for steps in programs]),
        torch.tensor([len(steps) for steps in programs]),
    )


def preorder(tree: list) -> list[int]:
    return [tree[0], *(symbol for child in tree[1:] for symbol in preorder(child))]


def test_programs_become_trees():
    forest = plant(*make_batch()[2:], N_RELATIONS, TUPLES_OF)
    for row, tree in enumerate(TREES):
        own = forest.rows == row
        order = forest.places[own].argsort()
        assert forest.symbols[own][order].tolist() == preorder(tree)
    assert len(forest.symbols) == 4 + sum(len(part) for wave in forest.waves for part in wave)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_model_is_the_oracle(name):
    config = CONFIGS[name]
    model = make(config)
    weights = {key: value.detach().numpy() for key, value in model.state_dict().items()}
    found = model.loss(*make_batch()).per_example
    for row, (words, tree) in enumerate(zip(WORDS, TREES)):
        if name == "seq2tree":
            read = tree_oracle.read_gru(weights, words)
        else:
            read = tree_oracle.read_lstms(weights, words, config.encoder_layers)
        assert found[row].item() == pytest.approx(tree_oracle.loss(weights, config.decoder, *read, tree), abs=1e-10)


@pytest.mark.parametrize("name", CONFIGS)
def test_padding_and_company_change_nothing(name):
    model = make(CONFIGS[name]).float()
    together = model.loss(*make_batch()).per_example
    torch.testing.assert_close(model.loss(*make_batch(more=3)).per_example, together, atol=1e-5, rtol=0)
    torch.testing.assert_close(
        model.loss(*make_batch((2, 3, 0, 1))).per_example, together[[2, 3, 0, 1]], atol=1e-5, rtol=0
    )
    for row in range(4):
        torch.testing.assert_close(model.loss(*make_batch((row,))).per_example[0], together[row], atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_symbol_machine_gives_the_probability_of_the_loss(name):
    """All rows at once, in an order that is changed on the way, with complete trees among them."""
    model = make(CONFIGS[name])
    words, counts, *_ = batch = make_batch()
    expected = model.loss(*batch).per_example
    symbols = [[*preorder(tree), END] if tree != [END] else [END] for tree in TREES]
    state, order, total = model.start(model.encode(words, counts)), [0, 1, 2, 3], [0.0] * 4
    for step in range(max(map(len, symbols))):
        chosen = [symbols[row][step] if step < len(symbols[row]) else END for row in order]
        scores = model.log_probabilities(state)
        for place, row in enumerate(order):
            total[row] += scores[place, chosen[place]].item()
        turned = torch.tensor([1, 2, 3, 0])
        state = model.feed(state, torch.tensor(chosen)).select(turned)
        order = [order[place] for place in turned]
    assert total == pytest.approx((-expected).tolist(), abs=1e-10)


@pytest.mark.parametrize("name", CONFIGS)
def test_everything_learns(name):
    torch.manual_seed(0)
    model = make(replace(CONFIGS[name], d_hidden=24)).float().train()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(120):
        optimiser.zero_grad()
        model.loss(*make_batch()).value.backward()
        assert all(parameter.grad is not None for parameter in model.parameters())
        optimiser.step()
    assert model.loss(*make_batch()).per_example.max().item() < 0.1


def test_a_tree_decoder_must_know_references_and_knows_no_grounding():
    with pytest.raises(ValueError, match="tuple_of_argument has 0 entries; expected one per argument, 12"):
        build_model(CONFIGS["saps"], N_WORDS, N_RELATIONS, N_ARGUMENTS, N_POSITIONS)
    with pytest.raises(ValueError, match="a tree decoder can have neither grounded arguments"):
        replace(CONFIGS["seq2tree"], grounded=True)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("width", [1, 3])
def test_what_is_written_under_signatures_is_a_program(name, width):
    domain = load_domain("arithmetic")
    examples = list(islice(domain.examples("dev"), 30))
    codec = Codec.build(examples)
    torch.manual_seed(1)
    model = make_model(replace(Config(), model=CONFIGS[name]), codec).eval()
    solver = Solver(domain, codec, model)
    assert solver.codec.trees and not codec.trees
    for example, found in zip(examples, solver.predict([example.problem for example in examples[:6]], width)):
        program = found[0].program
        assert program is not None
        assert Program.from_tree(program.to_tree()) == program
        names = {*domain.names(example.problem), *domain.constants}
        for step in program:
            assert len(step.arguments) == domain.relations[step.relation].arity
            assert all(word in names or word.startswith("#") for word in step.arguments)


def algolisp_examples(folder, every: int):
    domain = load_domain("algolisp", folder)
    examples = list(islice(domain.examples("dev-valid"), None))
    return domain, Codec.build(examples), examples[::every]


@unchecked()
def test_types_never_exclude_a_gold_tree_and_trees_come_back(algolisp_data):
    domain, codec, examples = algolisp_examples(algolisp_data, 25)
    codec = replace(codec, trees=True)
    grammar = make_grammar(domain, codec, False)
    for example in examples:
        symbols = codec.encode_tree(example.program)
        assert codec.decode_symbols(symbols) == example.program
        progress = grammar.start([domain.names(example.problem)], [example.problem])
        for symbol in symbols:
            scores = torch.full((1, codec.n_symbols), -20.0)
            scores[0, symbol] = 0.0
            assert grammar.allowed(progress, scores)[0, symbol], (example.program, symbol)
            if symbol != END:
                progress = grammar.feed(progress, torch.tensor([symbol]))


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
@unchecked()
def test_what_is_written_under_types_type_checks(name, algolisp_data):
    domain, codec, examples = algolisp_examples(algolisp_data, 60)
    torch.manual_seed(2)
    model = make_model(replace(Config(), model=CONFIGS[name]), replace(codec, longest=6)).eval()
    solver = Solver(domain, replace(codec, longest=6), model)
    problems = [example.problem for example in examples[:5]]
    # Without training many trees come to a dead end: looking ahead is not exact. What comes out is well typed.
    for width in (1, 2):
        found = [candidates[0].program for candidates in solver.predict(problems, width)]
        assert any(found)
        assert all(domain.is_well_typed(one, problem) for one, problem in zip(found, problems) if one)


def test_symbols_that_spell_no_tree_are_no_program():
    domain = load_domain("arithmetic")
    codec = replace(Codec.build(list(islice(domain.examples("dev"), 30))), trees=True)
    relation, leaf, close = 4, codec.argument_symbol(4), codec.argument_symbol(NONE)
    for symbols in ([leaf, END], [relation, leaf, END], [close, END], [relation, PAD, END]):
        assert codec.decode_symbols(symbols) is None
    assert codec.decode_symbols([END]) == Program()
