"""`tadc.config`: settings for a block or for the process, of the table in `tadc/backend/environment.py`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tadc.backend.cpu.thread_pool import ThreadsHere
from tadc.backend.environment import (
    LOG_LEVELS,
    OPTIONS,
    Choosing,
    choose_for_process,
    current,
    for_process,
    who_chose,
)
from tadc.backend.runtime.call_watchers import CallBlock, CallWatcher, unwatch_for_good, watch_for_good
from tadc.backend.runtime.thread_count import checked_threads, get_num_threads, set_num_threads
from tadc.caller.boundary import (
    checked_bytes,
    checked_choice,
    checked_number,
    checked_switch,
    public,
    shown_value,
    usage,
)
from tadc.caller.logs import LOGGED_CALLS
from tadc.caller.showing import ShownAsTables
from tadc.frontend.diagnostics import ArgumentError

if TYPE_CHECKING:
    from rich.table import Table

_THREADS_HERE = ThreadsHere()


class Configuration(ShownAsTables):
    """Settings: `with tadc.config(threads=1):` for a block, `tadc.config.set(threads=1)` for the process.

    An attribute is the value that holds here, and `print(tadc.config)` shows all of them and who chose each:
    a block, else the process, else the environment. A block is for the thread, or the task of asyncio, that
    runs it; threads that start inside have the settings of the process. Between the elements of a generator
    a block in it holds for the caller.

    The settings are `threads` (1 to 1024), `cache`, `cache_dir`, `cache_size` (bytes, or "64M"), `tuned`,
    `versions`, `keep_memory` (bytes), and `log` ("off", "info" or "debug"). Both calls raise UsageError for
    an unknown name or a wrong value, ArgumentError (TAD0509) for a wrong number of threads.

    >>> import tadc
    >>> f = tadc.function("x: f64[3]; y[i] = 2*x[i]")
    >>> with tadc.config(threads=1, cache=False):
    ...     print(tadc.config.threads, f([1, 2, 3]))
    1 [2. 4. 6.]
    """

    @public
    def __call__(self, **settings: Any) -> CallBlock:
        """A block for which settings hold."""
        return _SettingsBlock(_checked(settings))

    @public
    def set(self, **settings: Any) -> None:
        """Let settings hold for the process from now on, where no block says otherwise."""
        values = _checked(settings)
        threads = values.pop("threads", None)
        if threads is not None:
            set_num_threads(threads)
        choose_for_process(values)
        if "keep_memory" in values:
            from tadc.backend.runtime.reused_memory import KEPT

            KEPT.trim()
        for watcher in _watchers(values):
            watch_for_good(watcher)
        if values.get("log", "debug") != "debug":
            unwatch_for_good(LOGGED_CALLS)

    def __getattr__(self, name: str) -> Any:
        if name not in OPTIONS:
            raise AttributeError(f"tadc has no setting {name!r}{''.join(f'; {h}' for h in _near(name))}")
        if name == "cache_dir":
            from tadc.backend.disk_cache import configured_folder

            return configured_folder()
        return get_num_threads() if name == "threads" else current(name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        _checked({name: value})
        raise usage(f"tadc.config.{name} cannot be assigned", f"write `tadc.config.set({name}=…)`")

    def __dir__(self) -> list[str]:
        return [*OPTIONS, "latex", "set"]

    def __repr__(self) -> str:
        return f"tadc.config({', '.join(f'{name}={_shown(name)}' for name in OPTIONS)})"

    def _tables(self) -> list[Table]:
        from rich.table import Table

        table = Table("setting", "value", "from", title="settings")
        for name in OPTIONS:
            table.add_row(name, _shown(name), who_chose(name))
        return [table]


def _shown(name: str) -> str:
    """What holds here, as it is written in Python; what is wrong as it is."""
    try:
        return repr(getattr(CONFIG, name))
    except ArgumentError:
        return repr(current(name))


CONFIG = Configuration()
"""That of this process."""


class _SettingsBlock(CallBlock, Choosing):
    """That of `with tadc.config(…)`."""

    def watchers(self) -> list[CallWatcher]:
        """Those that values need to hold."""
        return _watchers(self.values)

    def __repr__(self) -> str:
        return f"tadc.config({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"

    def begin(self) -> None:
        """Let the values hold."""
        self.choose()

    def end(self, errors: Sequence[BaseException]) -> None:
        """Let them hold no longer."""
        self.undo()


def _watchers(values: Mapping[str, Any]) -> list[CallWatcher]:
    """Who has to watch calls for values to hold: threads of a block, and a level that tells of calls."""
    found: list[CallWatcher] = [_THREADS_HERE] if "threads" in values else []
    return [*found, *([LOGGED_CALLS] if values.get("log") == "debug" else [])]


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The values of settings. Raises UsageError, or ArgumentError, for what is none."""
    for name in settings:
        if name not in OPTIONS:
            raise usage(
                f"there is no setting `{name}`", *(_near(name) or [""]), f"there are {', '.join(OPTIONS)}"
            )
    return {name: _KINDS[OPTIONS[name].kind](value, name) for name, value in settings.items()}


def _near(name: str) -> list[str]:
    from tadc.frontend.suggest import did_you_mean

    return did_you_mean(name, OPTIONS)


def _folder(value: Any, name: str) -> str:
    if isinstance(value, os.PathLike):
        return _folder(os.fspath(value), name)  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(value, str) or not value or "\0" in value:
        raise usage(f"{name} is the path of a folder, not {shown_value(value)}")
    return os.path.expanduser(value)


def _size(value: Any, name: str) -> int:
    if value is None:
        raise usage(f"{name} is a number of bytes, not None", f'write `{name}="64M"`')
    found = checked_bytes(value, name)
    assert found is not None
    return found


def _count(value: Any, name: str) -> int:
    checked_number(value, name, 0, "a whole number from 0 on")
    return value.__index__()


def _level(value: Any, name: str) -> str:
    checked_choice(value, name, LOG_LEVELS)
    return value


_KINDS: dict[str, Callable[[Any, str], Any]] = {
    "bytes": _size,
    "count": _count,
    "folder": _folder,
    "level": _level,
    "switch": checked_switch,
    "threads": lambda value, _: checked_threads(value),
}


def follow_environment() -> None:
    """Do what the environment asks for that no call would find there: it may tell of calls themselves."""
    if for_process("log") == "debug":
        watch_for_good(LOGGED_CALLS)
