"""`with` blocks that calls inside know of: as decorators, in tasks, generators and threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.compile_steps import listening, step
from tadc.backend.environment import settings_of_blocks
from tadc.backend.runtime import call_watchers
from tadc.backend.runtime.call_watchers import WATCHERS

BLOCKS: list[Any] = [lambda: tadc.config(threads=1), tadc.profile, tadc.debug_nans]


def test_a_function_that_is_decorated() -> None:
    f, found = tadc.function("x: f64[N]; y[i] = sqrt(x[i])"), tadc.profile(maps=False)

    @found
    def roots(*values: float) -> list[float]:
        """Square roots."""
        return f(list(values)).tolist()

    assert roots(4, 9) == [2, 3]
    assert roots(16) == [4]
    assert roots.__doc__ == "Square roots."
    assert [dict(call.sizes) for call in found.calls] == [{"N": 2}, {"N": 1}]
    with pytest.raises(tadc.CompileError, match="is not a number"):
        tadc.debug_nans()(roots)(-1)
    assert np.isnan(roots(-1)[0])


def test_a_coroutine_and_a_generator_that_are_decorated() -> None:
    @tadc.config(threads=3)
    async def waits() -> int:
        await asyncio.sleep(0.001)
        return tadc.get_num_threads()

    @tadc.config(threads=5)
    def yields() -> Generator[int, None, str]:
        yield tadc.get_num_threads()
        yield tadc.get_num_threads()
        return "done"

    before, result = tadc.get_num_threads(), []

    def collects() -> Generator[int]:
        result.append((yield from yields()))

    assert asyncio.run(waits()) == 3
    assert [*collects()] == [5, 5]
    assert result == ["done"]
    assert (tadc.get_num_threads(), WATCHERS) == (before, [])


@pytest.mark.parametrize("make", BLOCKS)
def test_only_functions_are_decorated(make: Any) -> None:
    async def yields() -> Any:
        yield 1

    for wrong in (3, yields, ValueError):
        with pytest.raises(tadc.UsageError, match="decorates"):
            make()(wrong)


@pytest.mark.parametrize("make", BLOCKS)
def test_a_block_that_ends_before_it_begins(make: Any) -> None:
    with pytest.raises(tadc.UsageError, match="has not begun"):
        make().__exit__(None, None, None)


def test_blocks_are_shown() -> None:
    f, found = tadc.function("x: f64[N]; y[i] = 2*x[i]"), tadc.profile(maps=False)
    with found:
        f([1, 2])
    assert repr(found) == "<tadc.Profile of 1 call>"
    assert repr(tadc.debug_nans()) == "tadc.debug_nans()"
    assert repr(tadc.config(threads=1, log="info")) == "tadc.config(threads=1, log='info')"


def test_arguments_where_there_are_none() -> None:
    with pytest.raises(tadc.UsageError, match="it takes nothing"):
        tadc.debug_nans(3)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("make", BLOCKS)
def test_an_error_inside_leaves_nothing(make: Any) -> None:
    block, before = make(), tadc.get_num_threads()
    for error in (ValueError, KeyboardInterrupt, SystemExit):
        with pytest.raises(error), block, block:
            raise error
    assert WATCHERS == []
    assert tadc.get_num_threads() == before


@pytest.mark.parametrize("make", BLOCKS)
def test_one_block_in_many_threads(make: Any) -> None:
    f, block = tadc.function("x: f64[N]; y[i] = 2*x[i]"), make()
    results: list[float] = []

    def enter() -> None:
        for _ in range(20):
            with block:
                results.append(f([1.0])[0])

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2.0] * 80
    assert WATCHERS == []


def test_threads_of_libraries_have_the_settings_of_the_last_block() -> None:
    seen: list[int] = []

    def look() -> None:
        with settings_of_blocks():
            seen.append(tadc.get_num_threads())
            with tadc.config(threads=4):
                seen.append(tadc.get_num_threads())
            seen.append(tadc.get_num_threads())

    def look_elsewhere() -> None:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    before = tadc.get_num_threads()
    look_elsewhere()
    with tadc.config(threads=2), tadc.config(threads=3):
        look_elsewhere()
    with tadc.config(threads=2):
        look()
    look_elsewhere()
    assert seen == [before, 4, before, 3, 4, 3, 2, 4, 2, before, 4, before]


def test_a_step_is_told_once_to_who_listens_twice() -> None:
    class Heard:
        def __init__(self) -> None:
            self.names: list[str] = []

        def begin(self, name: str) -> None:
            self.names.append(name)

        def end(self, name: str, seconds: float) -> None:
            self.names.append(f"end of {name}")

    heard = Heard()
    with listening(heard), step("one"):
        with listening(heard), step("two"):
            pass
        with step("three"):
            pass
    with step("four"):
        pass
    assert heard.names == ["one", "two", "end of two", "three", "end of three", "end of one"]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0)])
def test_generators_that_end_in_any_order(order: tuple[int, ...]) -> None:
    def holds(threads: int) -> Generator[None]:
        with tadc.config(threads=threads):
            yield

    before, generators = tadc.get_num_threads(), [holds(n) for n in (3, 4, 5)]
    for each in generators:
        next(each)
    assert tadc.get_num_threads() == 5
    for n in order:
        generators[n].close()
    assert tadc.get_num_threads() == before


@pytest.mark.parametrize("make", BLOCKS)
def test_ctrl_c_while_a_block_waits_for_calls(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def watch(self, is_watched: bool) -> None:
            """Nothing is called by it."""

        def wait(self) -> list[BaseException]:
            raise KeyboardInterrupt

    monkeypatch.setattr(call_watchers, "_doors", [Interrupted()])
    before = tadc.get_num_threads()
    with pytest.raises(KeyboardInterrupt), make():
        pass
    assert WATCHERS == []
    assert tadc.get_num_threads() == before
