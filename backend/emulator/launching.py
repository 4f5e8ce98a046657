"""Launches of kernels, one by one and as graphs, by the functions of CUDA's driver API."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

from tadc.backend.cuda import api
from tadc.backend.emulator.driver_facts import most_shared
from tadc.backend.emulator.execution import SHARED_LIMIT, EmulatedKernel, EmulatedModule
from tadc.backend.emulator.graphs import Graph, GraphNode, RecordedLaunch, Runnable
from tadc.backend.emulator.handles import Handles
from tadc.backend.emulator.ptx_reader import SIZES
from tadc.lattice.late_dataclasses import dataclass

#: The largest grid in x, y and z, and the most threads of a block in each, and in all.
_GRID, _BLOCK, _THREADS = (2**31 - 1, 65535, 65535), (1024, 1024, 64), 1024


@dataclass
class _LaunchedFunction:
    """A kernel, and the dynamic shared memory that launches may ask for."""

    kernel: EmulatedKernel
    dynamic: int = 0


class Launching(Handles):
    """The functions that find kernels and launch them."""

    def __init__(self, architecture: int, streams: set[int]) -> None:
        super().__init__(streams)
        self.architecture = architecture
        self.launches: list[str] = []
        self.graph_launches = 0
        #: The streams whose work is being captured.
        self.capturing: set[int] = set()

    def _cuModuleGetFunction(self, out: Any, module: int, name: bytes) -> None:
        found = self._found(module, EmulatedModule).kernel(name.decode())
        self._require(found is not None, api.NOT_FOUND)
        assert found is not None
        self._new(out, _LaunchedFunction(found))

    def _cuFuncSetAttribute(self, function: int, which: int, value: int) -> None:
        found = self._found(function, _LaunchedFunction)
        self._require(which == api.DYNAMIC_SHARED and value >= 0)
        self._require(found.kernel.shared_bytes + value <= most_shared(self.architecture))
        found.dynamic = value

    def _cuLaunchKernel(self, function: int, *rest: Any) -> None:
        grid, block, (shared, stream, pointers, extra) = rest[:3], rest[3:6], rest[6:]
        self._require_stream(stream)
        launch = self._launch(function, grid, block, shared, pointers, extra)
        self._on_stream(stream, lambda: self._run(launch))

    def _launch(
        self, function: int, grid: Sequence[int], block: Sequence[int], shared: int, pointers: Any, extra: Any
    ) -> RecordedLaunch:
        """A launch that the driver takes, its arguments copied."""
        found = self._found(function, _LaunchedFunction)
        kernel = found.kernel
        threads = block[0] * block[1] * block[2]
        limits = zip((*grid, *block), (*_GRID, *_BLOCK), strict=True)
        self._require(all(1 <= n <= most for n, most in limits) and not extra)
        self._require(threads <= min(_THREADS, kernel.most_threads or _THREADS))
        self._require(shared <= max(found.dynamic, SHARED_LIMIT - kernel.shared_bytes))
        arguments = [
            int.from_bytes(ctypes.string_at(pointers[n], SIZES[type]), "little")
            for n, (_, type) in enumerate(kernel.parameters)
        ]
        return RecordedLaunch(
            kernel, (grid[0], grid[1], grid[2]), (block[0], block[1], block[2]), arguments, shared
        )

    def _run(self, launch: RecordedLaunch) -> None:
        self.launches.append(launch.kernel.name)
        launch.kernel.launch(launch.grid, launch.block, launch.arguments, launch.shared)

    def _cuGraphCreate(self, out: Any, flags: int) -> None:
        self._require(flags == 0)
        self._new(out, Graph())

    def _node_launch(self, node: Any) -> RecordedLaunch:
        made = node[0]
        return self._launch(
            made.function, made.grid, made.block, made.shared, made.pointers, bool(made.extra)
        )

    def _cuGraphAddKernelNode(self, out: Any, graph: int, before: Any, count: int, node: Any) -> None:
        nodes = self._found(graph, Graph).nodes
        after = tuple(before[n] for n in range(count))
        self._require(nodes.keys() >= {*after})
        made = GraphNode(self._node_launch(node), after)
        self._new(out, made)
        nodes[out[0]] = made

    def _cuGraphInstantiateWithFlags(self, out: Any, graph: int, flags: int) -> None:
        self._require(flags == 0)
        self._new(out, Runnable.of(self._found(graph, Graph)))

    def _cuGraphExecKernelNodeSetParams(self, runnable: int, node: int, parameters: Any) -> None:
        nodes = self._found(runnable, Runnable).nodes
        self._require(node in nodes)
        launch = self._node_launch(parameters)
        # Another kernel may not take the place of one.
        self._require(launch.kernel is nodes[node].launch.kernel)
        nodes[node].launch = launch

    def _cuGraphLaunch(self, runnable: int, stream: int) -> None:
        self._require_stream(stream)
        found = self._found(runnable, Runnable)
        self.graph_launches += 1
        for launch in found.in_order():
            self._on_stream(stream, partial(self._run, launch))

    def _cuGraphExecDestroy(self, runnable: int) -> None:
        self._found(runnable, Runnable)
        del self._objects[runnable]

    def _cuGraphDestroy(self, graph: int) -> None:
        for node in self._found(graph, Graph).nodes:
            del self._objects[node]
        del self._objects[graph]

    def _cuStreamIsCapturing(self, stream: int, out: Any) -> None:
        self._require_stream(stream)
        out[0] = (stream or 0) in self.capturing
