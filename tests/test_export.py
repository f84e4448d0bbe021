"""The ONNX graphs are the model: equal numbers for every system, any batch, any length; and the same programs."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tpn2f.codec import Codec
from tpn2f.domain import Example, Problem
from tpn2f.errors import ConfigError
from tpn2f.export import FILES, export_model
from tpn2f.model import END, START, Model, ModelConfig, build_model
from tpn2f.program import Program
from tpn2f.search import greedy

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `export` is not installed")
pytest.importorskip("onnx", reason="the extra `export` is not installed")

SIZES = ModelConfig(
    n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
)
CONFIGS = {
    "paper": SIZES,
    "two directions": replace(SIZES, bidirectional=True),
    "two directions, last": replace(SIZES, bidirectional=True, summary="last"),
    "last": replace(SIZES, summary="last", initial_cell="zero", biases=not SIZES.biases),
    "other attention": replace(SIZES, attention_tanh=not SIZES.attention_tanh, attention="general"),
    "lstm2tp": replace(SIZES, encoder="lstm", summary="last", d_hidden=6),
    "lstm2tp, sum": replace(SIZES, encoder="lstm", summary="sum", bidirectional=True, d_hidden=6),
    "tp2lstm": replace(SIZES, decoder="lstm"),
    "lstm2lstm": replace(SIZES, encoder="lstm", decoder="lstm", summary="last", bidirectional=True, d_hidden=6),
    "grounded": replace(SIZES, grounded=True, d_grounded=5, bidirectional=True),
    "sharp": replace(SIZES, normalised=True, sharpness=4.0, attention="general", grounded=True, d_grounded=5),
    "sharp, lstm2tp": replace(SIZES, encoder="lstm", normalised=True, sharpness=4.0, bidirectional=True, d_hidden=6),
    "grounded, lstm2lstm": replace(SIZES, encoder="lstm", decoder="lstm", d_hidden=6, grounded=True, d_grounded=5),
    "repeats": replace(SIZES, repeats=True, bidirectional=True),
    "repeats, lstm2tp": replace(SIZES, encoder="lstm", repeats=True, bidirectional=True, summary="last", d_hidden=6),
}


TEXTS = (
    ("add n0 to n1 and double it", "add(n0, n1) | multiply(#0, const_2)"),
    ("what is n0 less n1 ?", "subtract(n0, n1)"),
    ("the mean of n0 , n1 and n2 , please , and of nothing else", "sum(n0, n1, n2) | divide(#0, const_3)"),
    ("n0 squared", "square(n0)"),
    ("how much is n1 times n0 ?", "multiply(n1, n0)"),
)


@pytest.fixture(scope="module")
def examples():
    return [Example(Problem(tuple(text.split())), Program.parse(program)) for text, program in TEXTS]


@pytest.fixture(scope="module")
def codec(examples):
    return Codec.build(examples)


def make(config: ModelConfig, codec: Codec) -> Model:
    torch.manual_seed(3)
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    model = build_model(config, *sizes, codec.argument_of_word()).eval()
    # Fresh weights are so small that a wrong equation could hide.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)
    return model


class Exported:
    """The two graphs at work."""

    def __init__(self, folder) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.encoder, self.step = (
            onnxruntime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
            for name in FILES[:2]
        )

    def encode(self, words, counts) -> dict[str, np.ndarray]:
        names = [output.name for output in self.encoder.get_outputs()]
        return dict(zip(names, self.encoder.run(None, {"words": words.numpy(), "word_counts": counts.numpy()})))

    def advance(self, previous, state) -> dict[str, np.ndarray]:
        names = [output.name for output in self.step.get_outputs()]
        given = {value.name: state[value.name] for value in self.step.get_inputs() if value.name != "previous"}
        return dict(zip(names, self.step.run(None, {"previous": np.asarray(previous), **given})))


def assert_equal(name: str, got: np.ndarray, wanted: torch.Tensor) -> None:
    np.testing.assert_allclose(got, wanted.detach().numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_the_graphs_equal_the_model(name, codec, examples, tmp_path):
    model = make(CONFIGS[name], codec)
    export_model(model, codec, tmp_path)
    exported = Exported(tmp_path)
    for part in (examples, examples[3:4]):
        words, counts = codec.batch_words([example.problem for example in part])
        found = exported.encode(words, counts)
        encoding = model.encode(words, counts)
        assert (found["mask"] == encoding.mask.numpy()).all()
        assert_equal("fillers", found["fillers"], encoding.context_fillers)
        assert_equal("roles", found["roles"], encoding.context_roles)
        state = model.start(encoding)
        tuples = model.config.decoder == "tpr"
        slots = 1 + codec.n_positions if tuples else 1
        previous = np.full((len(part), slots), START)
        for _ in range(3):
            got = exported.advance(previous, found)
            assert_equal("hidden", got["next_hidden"], state.hidden)
            assert_equal("cell", got["next_cell"], state.cell)
            assert_equal("attention", got["attention"], state.attention)
            if tuples:
                assert_equal("relation", got["relation"], state.relation)
                assert_equal("arguments", got["arguments"], state.arguments)
                choices = [got["relation"], *got["arguments"].transpose(1, 0, 2)]
            else:
                assert_equal("symbols", got["symbols"], state.scores)
                choices = [got["symbols"]]
            previous = np.stack([choice.argmax(1) for choice in choices], axis=1)
            for slot in range(slots):
                moved = previous[:, slot] + (len(codec.relations) if slot else 0)
                state = model.feed(state, torch.from_numpy(moved))
            found = {**found, "hidden": got["next_hidden"], "cell": got["next_cell"]}


@pytest.mark.parametrize("name", ["two directions", "grounded"])
def test_a_program_without_torch_finds_the_same_tuples(name, codec, examples, tmp_path):
    model = make(CONFIGS[name], codec)
    export_model(model, codec, tmp_path)
    symbols = json.loads((tmp_path / "symbols.json").read_text())
    assert sorted(symbols["grounded"]) == (["n0", "n1", "n2"] if name == "grounded" else [])
    exported = Exported(tmp_path)
    for example in examples:
        (wanted,) = greedy(model, codec, [example.problem], longest=4)
        ids = [symbols["words"].index(word) for word in example.problem.words]
        state = exported.encode(torch.tensor([ids]), torch.tensor([len(ids)]))
        previous = np.full((1, 1 + symbols["n_positions"]), symbols["specials"]["start"])
        total, ended = 0.0, False
        for _ in range(5):
            got = exported.advance(previous, state)
            choices = [got["relation"][0], *got["arguments"][0]]
            previous = np.array([[choice.argmax() for choice in choices]])
            ended = previous[0, 0] == END
            total += choices[0].max() if ended else sum(choice.max() for choice in choices)
            if ended:
                break
            state = {**state, "hidden": got["next_hidden"], "cell": got["next_cell"]}
        assert total == pytest.approx(wanted.log_probability, abs=1e-3)


def test_a_place_that_cannot_be_written_is_one_line(codec, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write") as caught:
        export_model(make(SIZES, codec), codec, tmp_path / "file")
    assert "\n" not in str(caught.value)


def test_chained_arguments_have_no_graph(codec, tmp_path):
    model = make(replace(SIZES, d_chained=4), codec)
    with pytest.raises(ConfigError, match=r"chained arguments \(d_chained\) cannot be exported"):
        export_model(model, codec, tmp_path)
