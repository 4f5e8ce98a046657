"""Graphs of launches in the emulated libcuda."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint64, c_void_p
from typing import Any

from tadc.backend.cuda import api
from tadc.backend.cuda.launch_graphs import node_of
from tests.emulator.ptx_text import kernel_text
from tests.emulator.test_library import cuda, made

__all__ = ["cuda"]

NAMES = ("first", "second", "third")
ENTRIES = [kernel_text("").replace(" k(", f" {name}(").replace("k_param", f"{name}_param") for name in NAMES]
TEXT = ENTRIES[0] + "".join(entry[entry.index(".visible") :] for entry in ENTRIES[1:])
CELLS = (c_uint64 * 3)(0, 0, 0)


def node(function: Any, block: int = 32) -> api.KernelNode:
    pointers = (c_void_p * 3)(*[ctypes.addressof(CELLS) + 8 * n for n in range(3)])
    return node_of(function.value, (1, 1, 1), (block, 1, 1), 0, pointers)


def graph_of(cuda: Any, edges: dict[int, tuple[int, ...]]) -> tuple[Any, list[Any], list[Any]]:
    """A graph with a node for each kernel, each after others; the nodes; the kernels."""
    module = made(cuda.cuModuleLoadDataEx, TEXT.encode(), 0, None, None)
    functions = [made(cuda.cuModuleGetFunction, module, name.encode()) for name in NAMES]
    graph, nodes = made(cuda.cuGraphCreate, 0), []
    for n, function in enumerate(functions):
        before = [nodes[k] for k in edges.get(n, ())]
        array = (c_void_p * max(len(before), 1))(*before)
        nodes.append(made(cuda.cuGraphAddKernelNode, graph, array, len(before), byref(node(function))))
    return graph, nodes, functions


def test_a_node_runs_after_those_that_it_waits_for_alone(cuda: Any) -> None:
    for edges, expected in (
        ({1: (0,), 2: (1,)}, ["first", "second", "third"]),
        ({2: (0,)}, ["second", "first", "third"]),
        ({}, ["third", "second", "first"]),
    ):
        graph, _, _ = graph_of(cuda, edges)
        runnable = made(cuda.cuGraphInstantiateWithFlags, graph, 0)
        cuda.launches.clear()
        assert cuda.cuGraphLaunch(runnable, 7) == 0
        assert cuda.launches == expected


def test_what_runs_has_arguments_of_its_own(cuda: Any) -> None:
    """The graph may go; a node takes other arguments, of no other kernel."""
    graph, nodes, functions = graph_of(cuda, {})
    runnable = made(cuda.cuGraphInstantiateWithFlags, graph, 0)
    set_node = cuda.cuGraphExecKernelNodeSetParams
    assert set_node(runnable, nodes[0], byref(node(functions[0], block=64))) == 0
    assert set_node(runnable, nodes[0], byref(node(functions[1]))) == api.INVALID_VALUE
    assert set_node(runnable, nodes[0], byref(node(functions[0], block=4096))) == api.INVALID_VALUE
    assert set_node(runnable, functions[0], byref(node(functions[0]))) == api.INVALID_VALUE
    assert cuda.cuGraphDestroy(graph) == 0
    assert cuda.cuGraphDestroy(graph) == api.INVALID_HANDLE
    assert cuda.cuGraphLaunch(runnable, 0) == 0
    assert cuda.cuGraphLaunch(runnable, 6) == api.INVALID_HANDLE
    assert cuda.cuGraphExecDestroy(runnable) == 0
    assert cuda.cuGraphLaunch(runnable, 0) == api.INVALID_HANDLE


def test_a_graph_takes_no_node_of_another(cuda: Any) -> None:
    _, nodes, functions = graph_of(cuda, {})
    other = made(cuda.cuGraphCreate, 0)
    array = (c_void_p * 1)(nodes[0])
    add = cuda.cuGraphAddKernelNode
    assert add(byref(c_void_p()), other, array, 1, byref(node(functions[0]))) == api.INVALID_VALUE
    assert cuda.cuGraphCreate(byref(c_void_p()), 1) == api.INVALID_VALUE
