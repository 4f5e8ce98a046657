"""`tadc.config`: for a block, for the process, and what the environment says where neither does."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import io
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cpu import thread_pool
from tadc.backend.environment import OPTIONS, choose_for_process
from tadc.backend.environment import _for_process as for_process  # pyright: ignore[reportPrivateUsage]
from tadc.backend.runtime.call_watchers import WATCHERS
from tadc.backend.runtime.call_watchers import _for_good as for_good  # pyright: ignore[reportPrivateUsage]

LARGE = np.ones(1 << 19)


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    before, watchers, threads = dict(for_process), [*WATCHERS], tadc.get_num_threads()
    yield
    tadc.set_num_threads(threads)
    for_process.clear()
    choose_for_process(before)
    WATCHERS[:] = watchers
    for_good[:] = [each for each in for_good if each in watchers]


def test_a_block_then_the_process_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_VERSIONS", "7")
    assert tadc.config.versions == 7
    tadc.config.set(versions=3, cache_size="64M")
    assert (tadc.config.versions, tadc.config.cache_size) == (3, 64 << 20)
    with tadc.config(versions=2, tuned=False), tadc.config(versions=1):
        assert (tadc.config.versions, tadc.config.tuned) == (1, False)
        shown = [" ".join(line.split()) for line in str(tadc.config).splitlines()]
        assert {"│ versions │ 1 │ with │", "│ cache_size │ 67108864 │ set │"} <= set(shown)
        assert "│ cache │ False │ TADC_CACHE │" in shown
    assert (tadc.config.versions, tadc.config.tuned) == (3, True)
    assert repr(tadc.config).startswith("tadc.config(threads=")


def test_what_is_wrong_is_said() -> None:
    wrong = [
        ({"thread": 1}, "there is no setting `thread`", "did you mean `threads`"),
        ({"threads": 0}, "`0` is no number of threads", "1 to 1024"),
        ({"cache": 1}, "cache is True or False, not 1", ""),
        ({"threads": np.array([1, 2])}, "of type ndarray, is no number of threads", "pass an integer"),
        ({"keep_memory": np.array([1, 2])}, "keep_memory is a number of bytes, not an array", ""),
        ({"versions": np.array(1.5)}, "versions is a whole number from 0 on, not array(1.5)", ""),
        ({"cache_dir": "a\0b"}, r"cache_dir is the path of a folder, not 'a\x00b'", ""),
        ({"cache_dir": b"x"}, "cache_dir is the path of a folder", ""),
        ({"keep_memory": None}, "keep_memory is a number of bytes, not None", '"64M"'),
        ({"keep_memory": "much"}, "keep_memory is a number of bytes, not 'much'", '"64M"'),
        ({"versions": 1.5}, "versions is a whole number from 0 on, not 1.5", ""),
        ({"log": "loud"}, 'log is one of "off", "info", "debug"', ""),
    ]  # fmt: skip
    for choose in (tadc.config, tadc.config.set):
        for settings, message, more in wrong:
            with pytest.raises((TypeError, ValueError)) as error:
                choose(**settings)
            assert isinstance(error.value, tadc.CompileError)
            assert message in str(error.value)
            assert more in str(error.value)
    with pytest.raises(AttributeError, match="did you mean `versions`"):
        tadc.config.version
    with pytest.raises(tadc.UsageError):
        tadc.config(1)  # pyright: ignore[reportCallIssue]


def test_attributes_are_not_assigned() -> None:
    with pytest.raises(tadc.UsageError, match=r"`tadc.config.set\(versions=…\)`"):
        tadc.config.versions = 9
    with pytest.raises(tadc.UsageError, match="did you mean `cache`"):
        tadc.config.cashe = False
    assert tadc.config.versions == 4


def test_a_block_may_be_entered_again_and_in_itself() -> None:
    block, before = tadc.config(versions=2, log="debug"), [*WATCHERS]
    for _ in range(2):
        with block:
            with block:
                assert tadc.config.versions == 2
            assert tadc.config.versions == 2
        assert tadc.config.versions == 4
    assert before == WATCHERS


def test_a_block_of_a_generator_ends_in_any_context() -> None:
    def within() -> Generator[int]:
        with tadc.config(versions=2):
            yield tadc.config.versions

    steps = within()
    assert contextvars.copy_context().run(next, steps) == 2
    steps.close()
    assert tadc.config.versions == 4


def test_a_block_is_for_one_thread_and_one_task() -> None:
    seen: dict[str, int] = {}

    async def task(name: str, threads: int) -> None:
        with tadc.config(threads=threads):
            await asyncio.sleep(0.01)
            seen[name] = tadc.get_num_threads()

    async def tasks() -> None:
        await asyncio.gather(task("one", 1), task("three", 3))

    tadc.set_num_threads(2)
    asyncio.run(tasks())
    with tadc.config(threads=1):
        other = threading.Thread(target=lambda: seen.update(other=tadc.get_num_threads()))
        other.start()
        other.join()
    assert seen == {"one": 1, "three": 3, "other": 2}


@pytest.mark.skipif(not thread_pool.is_supported(), reason="one thread on this system")
def test_calls_of_a_block_have_its_threads() -> None:
    """Also the first one, which starts the pool; others run by those of the process."""
    f = tadc.function("x: f64[N]; y[i] = exp(sin(x[i]))")
    for called in (f, tadc.compile(f)):
        called(LARGE)
        tadc.set_num_threads(2)
        assert _is_shared(called)
        with tadc.config(threads=1):
            assert _is_alone(called)
        assert _is_shared(called)
        tadc.set_num_threads(1)
        assert _is_alone(called)
        with tadc.config(threads=2):
            assert _is_shared(called)


def _is_shared(f: object) -> bool:
    """Whether other threads of the process do a part of the work, in one of some calls."""
    return any(_has_help(f) for _ in range(50))


def _is_alone(f: object) -> bool:
    """Whether other threads do nothing in most calls: they may still end what was before."""
    return sum(_has_help(f) for _ in range(15)) < 8


def _has_help(f: object) -> bool:
    mine, all = time.thread_time(), time.process_time()
    f(LARGE)  # pyright: ignore[reportCallIssue]
    mine, all = time.thread_time() - mine, time.process_time() - all
    return all - mine > mine / 4


def test_the_cache_of_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TADC_CACHE")
    text = "x: f64[5]; y[i] = 2*x[i] + 0.75"
    with tadc.config(cache_dir=tmp_path / "off", cache=False):
        tadc.function(text)([0.0] * 5)
    with tadc.config(cache_dir=tmp_path / "on"):
        tadc.function(text)([0.0] * 5)
    assert [path.name for path in tmp_path.iterdir()] == ["on"]


def test_the_log_of_a_block(capsys: pytest.CaptureFixture[str]) -> None:
    f = tadc.function("x: f64[3]; y[i] = 3*x[i] + 0.625")
    with tadc.config(log="debug"):
        f([1, 2, 3])
    f([1, 2, 3])
    said = [line.partition("tadc: ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said[0].startswith("cache: ")
    assert [line for line in said if line.startswith("kernel of (x: f64[3])")]
    assert [line[:15] for line in said].count("call of <tadc.F") == 1
    tadc.config.set(log="info")
    tadc.function("x: f64[3]; y[i] = 3*x[i] + 0.5")([1, 2, 3])
    assert capsys.readouterr().err.count("tadc: ") == 1


def test_calls_are_logged_once_however_often_that_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    f = tadc.function("x: f64[3]; y[i] = 3*x[i] + 0.625")
    with tadc.config(log="debug"), tadc.config(log="debug"):
        f([1, 2, 3])
        tadc.config.set(log="debug")
        f([1, 2, 3])
    f([1, 2, 3])
    assert capsys.readouterr().err.count("call of <tadc.F") == 3


def test_the_log_outlives_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    f = tadc.function("x: f64[3]; y[i] = x[i]")
    with tadc.config(log="debug"):
        with io.StringIO() as stream, contextlib.redirect_stderr(stream):
            f([1, 2, 3])
            assert "call of" in stream.getvalue()
        f([1, 2, 3])
        assert "call of" in capsys.readouterr().err
        with contextlib.redirect_stderr(stream):
            f([1, 2, 3])


def test_no_memory_is_kept_in_a_block() -> None:
    from tadc.backend.runtime.reused_memory import KEPT

    before = [id(block) for block in KEPT.blocks]
    with tadc.config(keep_memory=0):
        held = KEPT.take(3 << 20)
    assert [id(block) for block in KEPT.blocks] == before
    assert held.nbytes == 3 << 20


def test_memory_beyond_a_new_limit_is_given_back() -> None:
    from tadc.backend.runtime.reused_memory import KEPT

    for size in (3 << 20, 2 << 20):
        KEPT.take(size)
    tadc.config.set(keep_memory="4M")
    assert sum(block.nbytes for block in KEPT.blocks) <= 4 << 20
    tadc.config.set(keep_memory=0)
    assert not KEPT.blocks


def test_versions_are_those_of_the_call() -> None:
    f = tadc.function("x: f64[N]; s = sum{i} (sin(x[i]))")
    with tadc.config(versions=0):
        f(np.ones(200_000))
    kernel: Any = f.compiled().kernel
    assert not kernel.versions._made
    f(np.ones(200_001))
    assert [*kernel.versions._made] == [(200_001,)]


def test_the_folder_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TADC_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setenv("HOME", "/home/me")
    assert tadc.config.cache_dir == "/somewhere/tadc"
    with tadc.config(cache_dir="~/x"):
        assert tadc.config.cache_dir == "/home/me/x"


def test_a_wrong_environment_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(for_process, "threads", raising=False)
    monkeypatch.setenv("TADC_NUM_THREADS", "0")
    assert repr(tadc.config).startswith("tadc.config(threads='0', ")
    assert "'0'" in str(tadc.config)


def test_a_level_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_LOG", "loud")
    with pytest.warns(RuntimeWarning, match="TADC_LOG=`loud` is no level and counts as none") as warned:
        assert tadc.config.log == "off"
    assert warned[0].filename == "<environment>"


def test_settings_are_attributes() -> None:
    assert set(OPTIONS) < set(dir(tadc.config))
    assert all(getattr(tadc.config, name) is not None for name in OPTIONS)


def test_calls_are_logged_until_the_process_says_otherwise() -> None:
    """Then calls of frameworks are those of machine code again."""
    with tadc.config(log="debug"):
        tadc.config.set(log="debug")
        tadc.config.set(log="info")
        assert len(WATCHERS) == 1
    tadc.config.set(log="off")
    assert WATCHERS == []
    tadc.config.set(log="debug")
    assert len(WATCHERS) == 1
    tadc.config.set(log="off")
    assert WATCHERS == []
