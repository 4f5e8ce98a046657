"""Hosts whose functions launch kernels: what their operations do, with the emulator as the GPU."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from tadc.backend.base import Settings
from tadc.backend.cuda.ptx import emit_ptx
from tadc.backend.emulator.emulated_device import emulated_device
from tadc.backend.pipelines import translate
from tadc.backend.target import Target
from tadc.backend.to_llvm_dialect import lower_to_llvm_dialect
from tadc.compiler.run_passes import run_passes
from tadc.dialect.mlir import ir, new_context
from tadc.dialect.readable_text import parse_module

GUESTS = Path(__file__).parents[2] / "lit_tests" / "guests"


def ptx_of(kernels: ir.Operation) -> bytes:
    """PTX of a `gpu.module`."""
    alone = ir.Module.create(ir.Location.unknown(kernels.context))
    alone.body.append(kernels.clone())
    alone.operation.attributes["gpu.container_module"] = ir.UnitAttr.get(kernels.context)
    lower_to_llvm_dialect(alone, Settings(Target("cuda", "sm_80")))
    return emit_ptx(translate(alone, "nvvm"), 80).encode()


def shape(type: ir.MemRefType, sizes: list[int]) -> list[int]:
    """The shape of a type whose open sizes are given."""
    given = iter(sizes)
    return [next(given) if type.is_dynamic_dim(n) else size for n, size in enumerate(type.shape)]


class Host:
    """Runs a function without branches; `driver` is what a GPU is called by."""

    def __init__(self, module: ir.Module, driver) -> None:
        operations = [op.operation for op in module.body.operations]
        self.functions = {
            ir.StringAttr(op.attributes["sym_name"]).value: op for op in operations if op.name == "func.func"
        }
        self.driver, self.rooms, self.launched = driver, [], []
        images = {
            ir.StringAttr(op.attributes["sym_name"]).value: ptx_of(op)
            for op in operations
            if op.name == "gpu.module"
        }
        self.images = {name: driver.load(image) for name, image in images.items()}

    def __call__(self, name: str, *arrays: np.ndarray) -> list[np.ndarray]:
        """What a function gives."""
        block = self.functions[name].regions[0].blocks[0]
        self.values: dict[ir.Value, Any] = dict(zip(block.arguments, arrays, strict=True))
        for op in block.operations:
            op = op.operation
            given = [self.values[operand] for operand in op.operands]
            if op.name == "func.return":
                assert not self.rooms
                return given
            found = self.run(op, given)
            if op.results:
                self.values[op.results[0]] = found
        raise AssertionError

    def run(self, op: ir.Operation, given: list) -> Any:
        """What an operation gives; addresses are memory of the GPU."""
        match op.name:
            case "arith.constant":
                return op.attributes["value"].value
            case "tensor.cast" | "memref.cast" | "bufferization.to_buffer" | "bufferization.to_tensor":
                return given[0]
            case "memref.reinterpret_cast":
                return given[0]
            case "memref.alloc":
                return np.full(shape(op.results[0].type, given), np.nan)
            case "gpu.alloc":
                count = int(np.prod(shape(op.results[0].type, given)))
                self.rooms.append(self.driver.allocate(8 * count))
                return self.rooms[-1]
            case "gpu.dealloc":
                return self.rooms.remove(given[0])
            case "gpu.memcpy":
                to, source = given
                if isinstance(to, np.ndarray):
                    return self.driver.copy_out(to.ctypes.data, source, to.nbytes)
                return self.driver.copy_in(to, source.ctypes.data, source.nbytes)
            case "gpu.launch_func":
                kernels, kernel = re.findall(r"@(\w+)", str(op.attributes["kernel"]))
                function = self.driver.function(self.images[kernels], kernel)
                self.launched.append(kernel)
                return self.driver.launch(function, given[:3], given[3:6], given[6:])
            case name:
                raise AssertionError(name)


def test_a_host_launches_the_kernels_of_what_it_calls() -> None:
    module = parse_module((GUESTS / "to-gpu.mlir").read_text(), new_context())
    assert run_passes(module, "tad-to-gpu{gpu=sm_80},inline,canonicalize") == []
    x = np.random.default_rng(0).normal(size=(8, 300))
    with emulated_device().current() as driver:
        host = Host(module, driver)
        (found,) = host("host", x)
        driver.synchronize()
    np.testing.assert_allclose(found, x / x.sum(1)[:, None], rtol=1e-13)
    # Of several kernels for a tensor the one for these sizes.
    assert len(host.launched) == 2
