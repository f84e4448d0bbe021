"""Training texts that say things in few ways are warned about, with what other words would do."""

from random import Random
from typing import Any

import pytest

from tpn2f.contract.checks import check_variety
from tpn2f.contract.variety import FEW_WAYS, little_variety, new_words, rewordings, tell_rewordings, ways
from tpn2f.functions import FunctionDomain


def lamps(openings: int) -> FunctionDomain:
    """Orders for a lamp, with so many openings."""
    domain = FunctionDomain("lamps")
    domain.constant("full", 100)

    @domain.relation
    def light(percent: float) -> float:
        """a lamp at some percent"""
        return percent

    @domain.generator(count=40)
    def orders(random: Random) -> Any:
        while True:
            opening, number = (
                f"opening{chr(97 + random.randrange(openings))} " * (openings > 1),
                random.randrange(2, 99),
            )
            yield f"{opening}turn the lamp on", ("light", "full")
            yield f"{opening}dim it to {number} .", ("light", number)

    return domain()


@pytest.mark.parametrize("openings", [1, 12])
def test_few_ways_are_told(openings: int) -> None:
    domain = lamps(openings)
    examples = list(domain.examples("train"))
    found = ways(domain, examples)["light"]
    told = little_variety(domain, examples)
    assert (told is None) == (len(found) >= FEW_WAYS)
    findings = list(check_variety(domain, {"train": examples}))
    assert [finding.level for finding in findings[:1]] == (["warning"] if openings == 1 else [])
    if told:
        assert f"light in {len(found)} way" in told
        assert all(finding.level == "note" for finding in findings[1:])


def test_rewordings_name_the_words_that_training_lacks() -> None:
    domain = lamps(1)
    examples = [example for split in domain.splits for example in domain.examples(split)]
    made = {rewording.how: rewording.after for rewording in rewordings(examples)}
    assert made["politely"] == "please dim it to 2 ." or made["politely"].startswith("please ")
    assert made["the opposite"] == "turn the lamp off" and made["another word for it"].startswith("lower it to ")
    assert new_words(domain, examples, "turn the lamp off") == ("off",)
    lines = list(tell_rewordings(domain, examples))
    assert any(line.endswith("new to a model: off") for line in lines)
    assert any(line.endswith("all its words are known") for line in lines), "a number in words is a number"
