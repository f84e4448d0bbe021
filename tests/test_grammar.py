"""Masks: every gold program passes, symbol by symbol, and what the types exclude is excluded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest
import torch

from conftest import unchecked
from tpn2f.codec import Codec
from tpn2f.domain import Domain, Example, Problem, load_domain
from tpn2f.domains.algolisp.domain import AlgoLisp, TypeName
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.grammar import LEAST, Grammar, TypedGrammar, make_grammar
from tpn2f.program import Program
from tpn2f.vocabulary import END, NONE


def rows_of(codec: Codec, examples: Sequence[Example], slots_filled: bool = True) -> torch.Tensor:
    """Programs as joint symbols, padded with the end."""
    rows = []
    for example in examples:
        symbols = [
            symbol
            for relation, *arguments in codec.encode_program(example.program)
            for symbol in [relation, *map(codec.argument_symbol, arguments)]
            if slots_filled or symbol != codec.argument_symbol(NONE)
        ]
        rows.append(torch.tensor(symbols))
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=END)


def assert_allows(
    grammar: Grammar | TypedGrammar,
    codec: Codec,
    domain: Domain,
    examples: Sequence[Example],
    slots_filled: bool = True,
) -> None:
    """No gold symbol is excluded at its place."""
    for start in range(0, len(examples), 500):
        part = examples[start : start + 500]
        names = [domain.names(example.problem) for example in part]
        progress: Any = grammar.start(names, [example.problem for example in part])
        live = torch.ones(len(part), dtype=torch.bool)
        for symbols in rows_of(codec, part, slots_filled).unbind(1):
            allowed = grammar.allowed(progress).gather(1, symbols[:, None]).squeeze(1)
            wrong = (live & ~allowed).nonzero().flatten().tolist()
            assert not wrong, part[wrong[0]].program
            live &= symbols != END
            progress = grammar.feed(progress, symbols)
            if not live.any():
                break


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("arithmetic", "train"),
        pytest.param("mathqa", "train", marks=pytest.mark.slow),
        ("mathqa", "dev"),
        ("mathqa", "test"),
        pytest.param("algolisp", "dev", marks=pytest.mark.slow),
        ("algolisp", "test"),
    ],
)
def test_signatures_never_exclude_a_gold_program(name, split, request):
    domain = load_domain(name, None if name == "arithmetic" else request.getfixturevalue(f"{name}_data"))
    with unchecked():
        # A mask depends on the program and on the names of its problem only; programs of one length go together.
        pairs = {(tuple(domain.names(one.problem)), one.program): one for one in domain.examples(split)}
        examples = sorted(pairs.values(), key=lambda example: len(example.program))
        # The vocabulary of the split itself, so that every gold program can be spelled; no model is involved.
        codec = Codec.build(examples)
        grammar = make_grammar(domain, codec, slots_filled=True, longest=codec.longest, typed=False)
        assert isinstance(grammar, Grammar)
        assert_allows(grammar, codec, domain, examples)


@pytest.mark.parametrize(
    ("slots_filled", "every"),
    [
        (True, 64),
        (False, 320),
        pytest.param(True, 16, marks=pytest.mark.slow),
        pytest.param(False, 80, marks=pytest.mark.slow),
    ],
    ids=["tuples", "flat", "more tuples", "more flat"],
)
def test_types_never_exclude_a_gold_program(slots_filled, every, algolisp_data):
    """A part of them; `benchmarks/typed_decoding.py` takes all."""
    domain = AlgoLisp(algolisp_data)
    with unchecked():
        found = {(one.program, one.problem.result, tuple(one.problem.bindings.items())): one for one in all_dev(domain)}
        codec = Codec.build(found.values())
        examples = sorted(list(found.values())[::every], key=lambda example: len(example.program))
        # As few tuples as the longest program has: no gold program is thought too long to be ended.
        grammar = make_grammar(domain, codec, slots_filled, codec.longest)
        assert isinstance(grammar, TypedGrammar)
        assert_allows(grammar, codec, domain, examples, slots_filled)


def all_dev(domain: AlgoLisp) -> list[Example]:
    return list(domain.examples("dev"))


PROGRAM = Program.parse("len(a) | range(0, #0) | lambda1(arg1) | map(#1, #2)")
CODEC = Codec.build([Example(Problem(("x",)), PROGRAM), Example(Problem(("x",)), Program.parse("+(b, 1)"))])
PROBLEM = Problem(("x",), {"a": TypeName("int[]"), "b": TypeName("int"), "unheard": TypeName("int")}, "int[]")


def allowed_words(grammar: TypedGrammar, progress: Any) -> set[str]:
    """All that may come; each of it is what comes if a model likes it best, and nothing else is."""
    codec = grammar.codec
    tokens = [*codec.relations.tokens, *codec.arguments.tokens]
    mask = grammar.allowed(progress)
    for symbol in range(codec.n_symbols):
        scores = torch.full_like(mask, -1.0, dtype=torch.float).index_fill(1, torch.tensor(symbol), 0.0)
        best = scores.masked_fill(~grammar.allowed(progress, scores), -torch.inf).argmax(1)
        assert mask[0, best] and (best == symbol) == mask[0, symbol]
    return {tokens[symbol] for symbol in mask[0].nonzero().flatten().tolist()}


def feed(grammar: TypedGrammar, progress: Any, *words: str) -> Any:
    codec = grammar.codec
    for word in words:
        is_relation = progress.positions[0] == 0
        symbol = codec.relations.id(word) if is_relation else codec.argument_symbol(codec.arguments.id(word))
        progress = grammar.feed(progress, torch.tensor([symbol]))
    return progress


@pytest.mark.parametrize("slots_filled", [True, False], ids=["tuples", "flat"])
def test_typed_masks_symbol_by_symbol(slots_filled):
    grammar = make_grammar(AlgoLisp(), CODEC, slots_filled)
    assert isinstance(grammar, TypedGrammar)
    progress: Any = grammar.start([{}], [PROBLEM])
    assert allowed_words(grammar, progress) == {"len", "range", "lambda1", "+"}  # a map has no function yet
    progress = feed(grammar, progress, "len")
    # Only arrays; a local that is one would need a use for functions of arrays, and there is none.
    assert allowed_words(grammar, progress) == {"a"}
    progress = feed(grammar, progress, "a")
    none = CODEC.arguments.tokens[NONE]
    if slots_filled:
        assert allowed_words(grammar, progress) == {none}
        progress = feed(grammar, progress, none)
    # A number is not what is asked for.
    assert not grammar.allowed(progress)[0, END]
    progress = feed(grammar, progress, "range", "0")
    assert "#0" in allowed_words(grammar, progress)
    progress = feed(grammar, progress, "#0", "lambda1", "arg1")
    progress = feed(grammar, progress, *[none] * slots_filled, "map")
    # The array must be taken first, because the function was written after it.
    assert allowed_words(grammar, progress) == {"#1"}
    progress = feed(grammar, progress, "#1")
    assert allowed_words(grammar, progress) == {"#2"}
    progress = feed(grammar, progress, "#2")
    assert grammar.allowed(progress)[0, END]


def test_only_likely_symbols_are_looked_at_unless_none_fits():
    grammar = make_grammar(AlgoLisp(), CODEC, slots_filled=True)
    assert isinstance(grammar, TypedGrammar)
    progress = grammar.start([{}] * 3, [PROBLEM] * 3)
    scores = torch.full((3, CODEC.n_symbols), -99.0)
    len_, range_, map_ = (CODEC.relations.id(name) for name in ("len", "range", "map"))
    scores[0, [len_, range_]] = -1.0
    scores[1, len_], scores[1, range_] = -1.0, -0.99 + LEAST
    # A map would come to nothing, and an argument does not begin a tuple. What is less likely then is compared with the
    # best that fits.
    scores[2, [map_, CODEC.argument_symbol(CODEC.arguments.id("a"))]] = -1.0
    scores[2, len_], scores[2, range_] = -50.0, -51.0
    masks = grammar.allowed(progress, scores)
    found = [row.nonzero().flatten().tolist() for row in masks]
    assert found == [sorted([len_, range_]), sorted([len_, range_]), sorted([len_, range_])]
    scores[1, range_] = -1.01 + LEAST
    assert grammar.allowed(progress, scores)[1].nonzero().flatten().tolist() == [len_]
    # Without looking ahead a map fits, and nothing that is unlikely is looked at.
    hasty = grammar.allowed(progress, scores, ahead=False)
    assert [row.nonzero().flatten().tolist() for row in hasty] == [sorted([len_, range_]), [len_], [map_]]


def test_rows_are_selected_together():
    grammar = make_grammar(AlgoLisp(), CODEC, slots_filled=True)
    assert isinstance(grammar, TypedGrammar)
    other = Problem(("x",), {"b": TypeName("int")}, "int")
    progress = grammar.start([{}, {}], [PROBLEM, other])
    masks = grammar.allowed(progress)
    swapped = grammar.allowed(progress.select(torch.tensor([1, 0, 1])))
    assert torch.equal(swapped, masks[[1, 0, 1]])
    assert not torch.equal(masks[0], masks[1])


def test_a_domain_without_a_type_system_has_signatures():
    domain = Arithmetic()
    codec = Codec.build(islice(domain.examples("train"), 50))
    assert isinstance(make_grammar(domain, codec, slots_filled=True), Grammar)


def test_masks_are_forgotten_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr("tpn2f.grammar.MOST_MASKS", 0)
    grammar = make_grammar(AlgoLisp(), CODEC, slots_filled=False)
    assert isinstance(grammar, TypedGrammar)
    first: Any = grammar.start([{}], [PROBLEM])
    before = grammar.allowed(first)
    grammar.allowed(feed(grammar, first, "len"))
    assert torch.equal(grammar.allowed(first), before)
