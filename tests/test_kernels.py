"""The fused kernels equal the reference ones, in values and in every gradient, and read no uninitialised memory."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from tpn2f.kernels import fused, keep_memory, load_kernels, reference

LENGTHS = [[1], [2, 1], [7, 3, 7, 1], [63, 5, 20, 63, 1]]
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")


def normal(*shape: int, scale: float = 1.0) -> torch.Tensor:
    return (torch.randn(*shape, dtype=torch.float64) * scale).requires_grad_()


def binding_inputs(counts: list[int], *, biases: bool = True, temperature: float = 0.5) -> list:
    d_filler, d_role, n_fillers, n_roles, types = 3, 2, 5, 4, 6
    d = d_filler * d_role
    # One place of padding more than the longest row needs.
    index = torch.randint(0, types, (len(counts), max(counts) + 1))
    return [
        normal(types, 8 * d),
        index,
        torch.tensor(counts),
        # Small enough that 63 steps do not magnify rounding.
        normal(8 * d, d, scale=0.3),
        normal(n_fillers, d),
        normal(n_roles, d),
        normal(n_fillers) if biases else None,
        normal(n_roles) if biases else None,
        normal(d_filler, n_fillers),
        normal(d_role, n_roles),
        temperature,
    ]


def attention_inputs(counts: list[int], *, directions: int = 1, slots: int = 3, squash: bool = False) -> list:
    d_filler, d_role, d, types, words, batch = 3, 2, 4, 6, 5, len(counts)
    d_context = directions * d_filler * d_role
    return [
        normal(types, 4 * d),
        torch.randint(0, types, (batch, max(counts) + 1, slots)),
        torch.tensor(counts),
        normal(batch, d),
        normal(batch, d),
        normal(batch, directions, words, d_filler),
        normal(batch, directions, words, d_role),
        torch.arange(words) < torch.randint(1, words + 1, (batch, 1)),
        normal(4 * d, d, scale=0.5),
        normal(d, d_context),
        normal(d, d_context),
        normal(d, 2 * d, scale=0.5),
        squash,
    ]


def lstm_inputs(counts: list[int]) -> list:
    d, types = 4, 6
    index = torch.randint(0, types, (len(counts), max(counts) + 1))
    return [normal(types, 4 * d), index, torch.tensor(counts), normal(4 * d, d, scale=0.5)]


def run(kernel, inputs: list) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The outputs, and the gradient of every input under a random cotangent of every output."""
    given = kernel(*inputs)
    outputs = [given] if isinstance(given, torch.Tensor) else list(given)
    generator = torch.Generator().manual_seed(7)
    cotangents = [torch.randn(out.shape, dtype=torch.float64, generator=generator).to(out) for out in outputs]
    leaves = [value for value in inputs if isinstance(value, torch.Tensor) and value.requires_grad]
    return outputs, list(torch.autograd.grad(outputs, leaves, cotangents))


def assert_equal_kernels(name: str, inputs: list) -> None:
    expected, expected_gradients = run(getattr(reference, name), inputs)
    found, found_gradients = run(getattr(fused, name), inputs)
    for one, other in zip(expected + expected_gradients, found + found_gradients, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-9, atol=1e-10)


@contextmanager
def poisoned_memory() -> Iterator[None]:
    """Fills everything that is allocated without values with NaN."""
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3).isnan().all()
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("counts", LENGTHS, ids=str)
@pytest.mark.parametrize("biases", [False, True])
def test_fused_binding_is_the_reference(counts, biases):
    torch.manual_seed(len(counts))
    with poisoned_memory():
        assert_equal_kernels("tpr_scan", binding_inputs(counts, biases=biases))


@pytest.mark.parametrize("counts", LENGTHS, ids=str)
@pytest.mark.parametrize(("directions", "slots", "squash"), [(1, 1, False), (1, 3, True), (2, 4, False)])
def test_fused_attention_is_the_reference(counts, directions, slots, squash):
    torch.manual_seed(len(counts))
    with poisoned_memory():
        inputs = attention_inputs(counts, directions=directions, slots=slots, squash=squash)
        assert_equal_kernels("attention_scan", inputs)


@pytest.mark.parametrize("counts", LENGTHS, ids=str)
def test_the_fused_plain_lstm_is_the_reference(counts):
    torch.manual_seed(len(counts))
    with poisoned_memory():
        assert_equal_kernels("lstm_scan", lstm_inputs(counts))


def test_one_projection_for_query_and_value_gets_both_gradients():
    torch.manual_seed(0)
    inputs = attention_inputs([3, 2])
    inputs[10] = inputs[9]
    assert_equal_kernels("attention_scan", inputs)


@pytest.mark.parametrize("counts", [[1], [3, 1], [2, 3]], ids=str)
def test_the_backward_of_binding_is_the_derivative(counts):
    torch.manual_seed(1)
    assert_derivative(fused.tpr_scan, binding_inputs(counts, temperature=0.7))


@pytest.mark.parametrize("counts", [[1], [3, 1], [2, 3]], ids=str)
def test_the_backward_of_attention_is_the_derivative(counts):
    torch.manual_seed(1)
    assert_derivative(fused.attention_scan, attention_inputs(counts, directions=2, slots=2, squash=True))


@pytest.mark.parametrize("counts", [[1], [3, 1], [2, 3]], ids=str)
def test_the_backward_of_the_plain_lstm_is_the_derivative(counts):
    torch.manual_seed(1)
    assert_derivative(fused.lstm_scan, lstm_inputs(counts))


def assert_derivative(kernel, inputs: list) -> None:
    places = [i for i, value in enumerate(inputs) if isinstance(value, torch.Tensor) and value.requires_grad]

    def function(*leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        filled = list(inputs)
        for place, leaf in zip(places, leaves):
            filled[place] = leaf
        given = kernel(*filled)
        return (given,) if isinstance(given, torch.Tensor) else tuple(given)

    assert torch.autograd.gradcheck(function, [inputs[place] for place in places], check_undefined_grad=True)


def test_gradients_through_some_outputs_only():
    torch.manual_seed(2)
    inputs = binding_inputs([4, 2])
    for output in range(4):
        expected = torch.autograd.grad(reference.tpr_scan(*inputs)[output].square().sum(), inputs[0])[0]
        found = torch.autograd.grad(fused.tpr_scan(*inputs)[output].square().sum(), inputs[0])[0]
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("kernels", [reference, fused], ids=["reference", "fused"])
def test_padding_is_zero_and_rows_do_not_touch_each_other(kernels):
    torch.manual_seed(3)
    inputs = binding_inputs([4, 1, 6])
    together = kernels.tpr_scan(*inputs)
    for row, count in enumerate([4, 1, 6]):
        alone = list(inputs)
        alone[1], alone[2] = inputs[1][row : row + 1, :count], inputs[2][row : row + 1]
        for whole, part in zip(together, kernels.tpr_scan(*alone)):
            torch.testing.assert_close(whole[row, :count], part[0], rtol=0, atol=1e-12)
            assert (whole[row, count:] == 0).all()


def test_single_precision_agrees_to_its_precision():
    torch.manual_seed(4)
    inputs = [
        value.detach().float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for value in binding_inputs([9, 4])
    ]
    for one, other in zip(reference.tpr_scan(*inputs), fused.tpr_scan(*inputs)):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)


@needs_cuda
@pytest.mark.parametrize("name", ["tpr_scan", "attention_scan", "lstm_scan"])
def test_a_device_gives_what_the_processor_gives(name):
    torch.manual_seed(5)
    makers = {"tpr_scan": binding_inputs, "attention_scan": attention_inputs, "lstm_scan": lstm_inputs}
    inputs = makers[name]([7, 3])
    moved = [
        value.detach().cuda().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value
        for value in inputs
    ]
    here, there = run(getattr(fused, name), inputs), run(getattr(fused, name), moved)
    for one, other in zip(here[0] + here[1], there[0] + there[1], strict=True):
        torch.testing.assert_close(other.cpu(), one, rtol=1e-9, atol=1e-10)


def test_kernels_are_chosen_by_name():
    assert load_kernels("fused") is fused
    assert load_kernels("reference") is reference
    with pytest.raises(ValueError, match=r"no kernels are called 'quick'; there are fused, reference"):
        load_kernels("quick")


def test_keeping_memory_can_be_asked_for():
    assert isinstance(keep_memory(), bool)
