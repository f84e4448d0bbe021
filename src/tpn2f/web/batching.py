"""Micro-batching: questions that arrive together are answered together, in a worker thread.

The first question waits a few milliseconds for others, and a little longer while more keep coming. While a batch is
answered, the next one is collected. Knows neither the web nor models: `work` answers a list.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Batcher(Generic[Question, Answer]):
    """Answers questions in batches. To be used from one event loop at a time."""

    def __init__(
        self,
        work: Callable[[Sequence[Question]], Sequence[Answer]],
        executor: Executor,
        most: int = 32,
        patience: float = 0.004,
    ) -> None:
        """`work` runs in the executor with at most `most` questions and gives one answer per question, in order."""
        self._work, self._executor = work, executor
        self.most, self.patience = most, patience
        self.sizes: deque[int] = deque(maxlen=1000)
        """How large the last batches were."""
        self._waiting: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        self._runner: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Answer:
        """The answer to one question. Raises what `work` raised for it. If the caller gives up before its batch
        starts, the question is dropped."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((question, answer))
        if self._runner is None or self._runner.done():
            self._runner = loop.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        while self._waiting:
            await self._gather()
            batch = self._take()
            if batch:
                self.sizes.append(len(batch))
                await self._answer(batch)

    async def _gather(self) -> None:
        """Waits until the batch is full, or no question came for a while, or the first waited five times as long."""
        for _ in range(5):
            before = len(self._waiting)
            if before >= self.most or not self.patience:
                return
            await asyncio.sleep(self.patience)
            if len(self._waiting) == before:
                return

    def _take(self) -> list[tuple[Question, asyncio.Future[Answer]]]:
        batch = []
        while self._waiting and len(batch) < self.most:
            question, answer = self._waiting.popleft()
            # Whoever gave up while waiting has cancelled the future.
            if not answer.done():
                batch.append((question, answer))
        return batch

    async def _answer(self, batch: list[tuple[Question, asyncio.Future[Answer]]]) -> None:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._executor, self._work, [question for question, _ in batch])
            if len(answers) != len(batch):
                raise ValueError(f"{len(batch)} questions got {len(answers)} answers")
        except Exception as error:
            if len(batch) == 1:
                if not batch[0][1].done():
                    batch[0][1].set_exception(error)
                return
            # One question must not spoil the others: each is asked by itself.
            for one in batch:
                if not one[1].done():
                    await self._answer([one])
            return
        for (_, future), answer in zip(batch, answers):
            if not future.done():
                future.set_result(answer)
