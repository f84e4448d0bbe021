"""Micro-batching: every question its own answer, whoever it was batched with."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.web.batching import Batcher


@pytest.fixture(scope="module")
def worker() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


async def ask_all(batcher: Batcher, questions: list) -> list:
    return await asyncio.gather(*map(batcher.ask, questions), return_exceptions=True)


@given(questions=st.lists(st.integers(), max_size=40), most=st.integers(1, 7))
def test_everyone_gets_the_own_answer_and_no_batch_is_too_large(worker, questions, most):
    batcher = Batcher(lambda batch: [-question for question in batch], worker, most, patience=0.0)
    assert asyncio.run(ask_all(batcher, questions)) == [-question for question in questions]
    assert sum(batcher.sizes) == len(questions) and max(batcher.sizes, default=0) <= most


def test_those_who_come_together_are_answered_together(worker):
    batcher = Batcher(list, worker, most=32, patience=0.002)
    asyncio.run(ask_all(batcher, list(range(20))))
    assert list(batcher.sizes) == [20]


def test_those_who_come_while_a_batch_is_answered_are_the_next_batch(worker):
    going, may_end = threading.Event(), threading.Event()

    def work(batch):
        going.set()
        assert may_end.wait(10)
        return batch

    async def scene() -> tuple[list, list[int]]:
        batcher = Batcher(work, worker, most=32, patience=0.0)
        first = asyncio.create_task(batcher.ask(0))
        await asyncio.to_thread(going.wait, 10)
        others = [asyncio.create_task(batcher.ask(number)) for number in range(1, 9)]
        await asyncio.sleep(0)
        may_end.set()
        return await asyncio.gather(first, *others), list(batcher.sizes)

    assert asyncio.run(scene()) == (list(range(9)), [1, 8])


def test_one_bad_question_spoils_no_other(worker):
    def work(batch):
        return [100 // question for question in batch]

    answers = asyncio.run(ask_all(Batcher(work, worker, patience=0.001), [1, 0, 5, 0]))
    assert [answers[0], answers[2]] == [100, 20]
    assert all(isinstance(answers[place], ZeroDivisionError) for place in (1, 3))


def test_a_wrong_number_of_answers_is_an_error_and_not_a_hang(worker):
    answers = asyncio.run(ask_all(Batcher(lambda batch: [], worker, patience=0.001), [1, 2]))
    assert all(isinstance(answer, ValueError) for answer in answers)


def test_who_gives_up_before_the_batch_starts_is_not_worked_for(worker):
    going, may_end = threading.Event(), threading.Event()
    seen: list[str] = []

    def work(batch):
        seen.extend(batch)
        going.set()
        assert may_end.wait(10)
        return batch

    async def scene() -> str:
        batcher = Batcher(work, worker, patience=0.0)
        first = asyncio.create_task(batcher.ask("first"))
        await asyncio.to_thread(going.wait, 10)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(batcher.ask("impatient"), 0.01)
        may_end.set()
        await first
        return await batcher.ask("last")

    assert asyncio.run(scene()) == "last"
    assert seen == ["first", "last"]


def test_work_is_done_in_the_worker(worker):
    batcher = Batcher(lambda batch: [threading.get_ident() for _ in batch], worker)
    here = threading.get_ident()
    (there,) = asyncio.run(ask_all(batcher, ["where"]))
    assert there != here


def test_it_goes_on_in_another_event_loop(worker):
    batcher = Batcher(list, worker, patience=0.001)
    for number in range(3):
        assert asyncio.run(ask_all(batcher, [number])) == [number]
