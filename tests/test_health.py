"""Health of representations: known values for known selections, and bounds for any model."""

from dataclasses import replace

import pytest
import torch

from tpn2f.model import END, NONE, ModelConfig, build_model, systems
from tpn2f.model.health import representation_health

CONFIG = ModelConfig(
    n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
)
WORDS = torch.tensor([[4, 5, 6, 7], [5, 6, 0, 0]])
COUNTS = torch.tensor([4, 2])
TUPLES = torch.tensor([[[4, 4, 5], [5, 4, NONE], [END, NONE, NONE]], [[4, 5, 5], [END, NONE, NONE], [0, 0, 0]]])
TUPLE_COUNTS = torch.tensor([3, 2])


def health(config: ModelConfig, scale: float = 1.0) -> dict[str, float]:
    torch.manual_seed(0)
    model = build_model(config, 8, 6, 6, 2).eval()
    for name, parameter in model.named_parameters():
        if "selection" in name:
            parameter.data *= scale
    return representation_health(model, WORDS, COUNTS, TUPLES, TUPLE_COUNTS)


def test_even_selections_have_the_largest_entropy():
    found = health(CONFIG, scale=0.0)
    assert found["filler_entropy"] == pytest.approx(torch.tensor(7.0).log().item(), abs=1e-5)
    assert found["role_entropy"] == pytest.approx(torch.tensor(5.0).log().item(), abs=1e-5)
    assert found["fillers_used"] == pytest.approx(7, abs=1e-4)


def test_sharp_selections_have_none_and_use_few():
    found = health(CONFIG, scale=1e6)
    assert found["filler_entropy"] == pytest.approx(0, abs=1e-3)
    assert 1 <= found["fillers_used"] <= 6.001  # there are six words


def test_the_residual_is_a_share():
    assert 0 < health(CONFIG)["residual"] < 1


@pytest.mark.parametrize("system", systems)
def test_a_plain_side_has_nothing_to_say(system):
    found = health(replace(CONFIG, **systems[system]))
    assert ("filler_entropy" in found) == (systems[system].get("encoder") != "lstm")
    assert ("residual" in found) == (systems[system].get("decoder") != "lstm")


def test_padding_changes_nothing():
    torch.manual_seed(0)
    model = build_model(CONFIG, 8, 6, 6, 2).eval()
    found = representation_health(model, WORDS, COUNTS, TUPLES, TUPLE_COUNTS)
    wider = torch.cat([WORDS, torch.zeros(2, 3, dtype=torch.long)], 1)
    longer = torch.cat([TUPLES, torch.zeros(2, 2, 3, dtype=torch.long)], 1)
    assert representation_health(model, wider, COUNTS, longer, TUPLE_COUNTS) == pytest.approx(found, abs=1e-5)
