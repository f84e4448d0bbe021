"""What splits are for, several read as one, and each read only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tpn2f.domain import (
    Example,
    Problem,
    Roles,
    Splits,
    known_splits,
    load_domain,
    read_splits,
    split_parts,
    split_roles,
)
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.errors import DataError
from tpn2f.program import Program

SIZES = {"books": 3, "web": 2, "dev": 2, "final": 4}


class Sources(Arithmetic):
    """A domain that learns from several sources; it counts how often an example is parsed."""

    splits = tuple(SIZES)

    def __init__(self) -> None:
        super().__init__()
        self.parsed: Counter[str] = Counter()

    def roles(self) -> Roles:
        return Roles("books+web", "dev", ("final",))

    def examples(self, split: str) -> Iterator[Example]:
        for number in range(SIZES[split]):
            self.parsed[split] += 1
            yield Example(Problem((split, str(number))), Program(), id=f"{split}:{number}")


class Broken(Sources):
    def examples(self, split: str) -> Iterator[Example]:
        yield from super().examples(split)
        raise DataError("the file is cut off")


def ids(examples: Iterable[Example]) -> list[str]:
    return [example.id for example in examples]


def test_without_a_word_from_the_domain_names_say_what_splits_are_for(tmp_path: Path) -> None:
    assert split_roles(load_domain("arithmetic")) == Roles("train", "dev", ("test",))
    assert split_roles(load_domain("mathqa", tmp_path)) == Roles("train", "dev", ("test", "challenge_test"))


def test_a_part_of_dev_is_learned_from_where_the_training_file_is_missing(tmp_path: Path) -> None:
    assert split_roles(load_domain("algolisp", tmp_path)) == Roles("dev-train", "dev-valid", ("test",))
    (tmp_path / "metaset3.train.jsonl").write_text("")
    assert split_roles(load_domain("algolisp", tmp_path)) == Roles("train", "dev", ("test",))


@pytest.mark.parametrize(
    ("split", "known"),
    [("final", ["books+web", "dev"]), ("dev", ["books+web"]), ("web", ["dev"]), ("books", ["dev"])],
)
def test_a_source_that_was_learned_from_is_no_news(split: str, known: list[str]) -> None:
    assert known_splits(Sources(), split) == known


def test_splits_joined_by_a_plus_are_read_in_that_order() -> None:
    assert split_parts("web + books") == ["web", "books"]
    assert ids(read_splits(Sources(), "web + books")) == ["web:0", "web:1", "books:0", "books:1", "books:2"]
    with pytest.raises(DataError, match=r"no split 'films'; it has books, web, dev, final"):
        next(iter(read_splits(Sources(), "books+films")))


def test_a_split_is_read_once_and_no_further_than_needed() -> None:
    domain = Sources()
    splits = Splits(domain)
    assert ids(splits.take("books", 1)) == ["books:0"]
    assert domain.parsed == {"books": 1}
    assert ids(splits.take("books", 2)) == ["books:0", "books:1"]
    assert ids(splits.take("books")) == ids(splits.take("books")) == ids(domain.examples("books"))
    assert splits.templates("books") == {("books", str(number)) for number in range(3)}
    assert splits.templates("dev") is splits.templates("dev")
    assert domain.parsed == {"books": 6, "dev": 2}, "half of those of books are this test's own"


def test_what_is_taken_can_be_changed_without_harm() -> None:
    splits = Splits(Sources())
    splits.take("dev").clear()
    assert len(splits.take("dev")) == 2


def test_a_split_that_cannot_be_read_is_never_taken_for_a_short_one() -> None:
    splits = Splits(Broken())
    for _ in range(2):
        with pytest.raises(DataError, match="cut off"):
            splits.take("dev")
    assert len(splits.take("dev", 2)) == 2
