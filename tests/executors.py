"""Executors that do what a real one may do."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from functools import partial


class LastFirst(Executor):
    """Begins only when it is asked for a result, and with the last thing that it was given."""

    def __init__(self):
        self.waiting = []

    def submit(self, function, *given):
        future = Late(self.waiting)
        self.waiting.append((future, partial(function, *given)))
        return future


class Late(Future):
    def __init__(self, waiting):
        super().__init__()
        self.waiting = waiting

    def result(self):
        while self.waiting:
            future, work = self.waiting.pop()
            future.set_result(work())
        return super().result()
