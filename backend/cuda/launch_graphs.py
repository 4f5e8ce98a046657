"""CUDA graphs: many launches that the driver queues in one call.

A graph holds the addresses of its arguments. One is made when addresses come a second time, as they do in
loops; when there are as many as are kept, the one that was used longest ago gets new addresses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from ctypes import POINTER, byref, c_int, c_void_p, cast
from typing import TYPE_CHECKING, Any

from tadc.backend.cuda import api
from tadc.backend.cuda.driver import DriverError, waits_for_launches
from tadc.frontend.diagnostics import CompileError

if TYPE_CHECKING:
    from tadc.backend.cuda.driver import Driver

#: Fewer launches are queued one by one.
MANY = 4
#: More launches are too: a graph of so many takes memory of its own, and time to be made.
MOST = 1 << 14
#: The graphs of a plan that are kept. As many addresses are remembered, to see whether they come again: with
#: more in turns a graph would be given up before it is used again.
KEPT = 8

_FUNCTIONS = (
    "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
    "cuGraphExecKernelNodeSetParams", "cuStreamIsCapturing",
)  # fmt: skip


def has_graphs(driver: Driver) -> bool:
    """Whether the driver has the functions; where it waits for each launch, launches are to be told apart."""
    return not waits_for_launches() and all(getattr(driver.library, name, None) for name in _FUNCTIONS)


class Graphs:
    """The graphs of launches on a stream; `nodes` name the cells of their arguments, as they are when a node
    is asked for."""

    def __init__(self, driver: Driver, nodes: Callable[[], Iterator[api.KernelNode]], stream: int) -> None:
        self._driver = driver
        self._nodes = nodes
        self._stream = c_void_p(stream)
        self._status = c_int()
        self._capturing = api.bare(driver.library.cuStreamIsCapturing)
        self._question = self._stream, byref(self._status)
        self._is_refused = False
        self._made: OrderedDict[Any, _Graph] = OrderedDict()
        self._seen: OrderedDict[Any, None] = OrderedDict()

    def launch(self, key: Any) -> bool:
        """Queue the launches; False where they are to be queued one by one. `key` are all addresses.

        Raises DriverError.
        """
        if self._is_refused:
            return False
        found = self._made.get(key)
        if found is None:
            if key not in self._seen:
                self._seen[key] = None
                if len(self._seen) > KEPT:
                    self._seen.popitem(last=False)
                return False
        # A graph is not launched into one that is being captured.
        if self._capturing(*self._question) or self._status.value:
            return False
        if found is None:
            try:
                found = self._for(key)
            except DriverError as error:
                if error.is_late:
                    raise
                # A driver that makes none of these launches them.
                self._is_refused = True
                return False
        found.launch(self._stream)
        return True

    def _for(self, key: Any) -> _Graph:
        if len(self._made) < KEPT:
            made = _Graph(self._driver, self._nodes())
        else:
            _, made = self._made.popitem(last=False)
            made.update(self._nodes())
        self._made[key] = made
        return made


class _Graph:
    """Launches one after the other; the driver has copied their arguments."""

    def __init__(self, driver: Driver, nodes: Iterator[api.KernelNode]) -> None:
        self._driver = driver
        self._graph = driver.handle("cuGraphCreate", 0)
        self._nodes: list[int] = []
        for node in nodes:
            before = (c_void_p * 1)(*self._nodes[-1:])
            count = len(self._nodes[-1:])
            self._nodes.append(driver.handle("cuGraphAddKernelNode", self._graph, before, count, byref(node)))
        self._runnable = driver.handle("cuGraphInstantiateWithFlags", self._graph, 0)
        self._launch = api.bare(driver.library.cuGraphLaunch)
        self._argument = c_void_p(self._runnable)

    def update(self, nodes: Iterator[api.KernelNode]) -> None:
        """Take the arguments of these launches. What is queued keeps those that it had."""
        for made, node in zip(self._nodes, nodes, strict=True):
            self._driver.call("cuGraphExecKernelNodeSetParams", self._runnable, made, byref(node))

    def launch(self, stream: Any) -> None:
        result = self._launch(self._argument, stream)
        if result:
            self._driver.fail("cuGraphLaunch", result)

    def __del__(self) -> None:
        # At the end of the process the driver may be gone.
        with suppress(CompileError, AttributeError, TypeError):
            self._driver.call("cuGraphExecDestroy", self._runnable)
            self._driver.call("cuGraphDestroy", self._graph)


def node_of(
    function: int, grid: Sequence[int], block: Sequence[int], shared: int, pointers: Any
) -> api.KernelNode:
    """A launch as a node; `pointers` is an array of the addresses of its arguments, which it keeps alive."""
    first = cast(pointers, POINTER(c_void_p))
    return api.KernelNode(function, tuple(grid), tuple(block), shared, first, None)
