"""Code of our own, which threads may ask for at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tadc.backend.cpu.kept_code import linked
from tadc.backend.cpu.linking import Library

TEXT = "define i64 @one_of_threads() {\n  ret i64 1\n}\n"


def test_threads_that_ask_at_once_have_one_library() -> None:
    barrier = Barrier(4)

    def ask(_: int) -> Library:
        barrier.wait()
        return linked(TEXT, ["one_of_threads"])

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(ask, range(4))
    assert all(other is first for other in others)
