"""Faults that are put into kernels, each reported by the emulator in the line of the formula."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.gpu_kernel import GpuKernel

TEXT = """x: f32[9, 3000]
let scale = 2
f[i] = scale * exp(
  -sum{k} (x[i, k]**2))
"""
#: Threads above 40 of a block go another way.
LEAVE = "mov.u32 %r9000, %tid.x;\nsetp.gt.u32 %p9000, %r9000, 40;\n"


def kernel_with(change: str, by: str, sizes: dict[str, int] | None = None) -> GpuKernel:
    """The kernels of the program, the first match of a pattern in their PTX replaced."""
    kernel = tadc.compile(tadc.function(TEXT, "f.tad"), target="emulated", sizes=sizes).kernel
    assert isinstance(kernel, GpuKernel)
    text = kernel.image.decode()
    changed = re.sub(change, by, text, count=1)
    assert changed != text
    changed = re.sub(r"\.reg \.pred[^;]*;", ".reg .pred %p<9001>;", changed)
    kernel.image = re.sub(r"\.reg \.b32[^;]*;", ".reg .b32 %r<9001>;", changed).encode()
    return kernel


def said(kernel: GpuKernel) -> str:
    x = np.full((9, 3000), 0.01, np.float32)
    with pytest.raises(tadc.CompileError) as error:
        kernel((x,))
    assert error.value.diagnostics[0].code == "TAD0708"
    return str(error.value)


def test_the_program_without_a_fault() -> None:
    x = np.full((9, 3000), 0.01, np.float32)
    found = kernel_with(r"bar\.sync \t0;", "bar.sync \t0;\n")((x,))[0]
    np.testing.assert_allclose(found, np.full(9, 2 * np.exp(-0.3)), rtol=1e-5)


def test_a_barrier_that_threads_go_around() -> None:
    """Two barriers where a warp should have one."""
    apart = "@%p9000 bra $other;\nbar.sync \t0;\nbra.uni $joined;\n$other:\nbar.sync \t0;\n$joined:\n"
    text = said(kernel_with(r"bar\.sync \t0;", LEAVE + apart))
    assert "a barrier or an exchange that not all lanes reach" in text
    assert re.search(r"--> f\.tad:[34]:", text)
    assert "of the block goes another way" in text
    assert "bar.sync" in text


def test_an_exchange_that_threads_leave_before() -> None:
    text = said(kernel_with(r"(?=shfl\.sync)", LEAVE + "@%p9000 ret;\n"))
    assert "not all lanes reach" in text or "takes no part" in text
    assert "--> f.tad:" in text


def test_a_read_beyond_an_argument() -> None:
    """In the line where the read stands, with the distance."""
    text = said(kernel_with(r"(ld\.global\.nc\.b32 \t%r\d+), \[(%rd\d+)[^]]*\]", r"\1, [\2+400000]"))
    assert "access out of bounds" in text
    assert "--> f.tad:4:" in text
    assert "4 |   -sum{k} (x[i, k]**2))" in text
    assert re.search(r"at byte \d+ of the nearest buffer", text)


def test_memory_of_the_block_that_nothing_has_written() -> None:
    """A warp that does not leave its part of a sum."""
    text = said(kernel_with(r"st\.shared\.b32 \t", "@%p9000 st.shared.b32 \t"))
    assert "has no value" in text or "nothing has written" in text


def test_a_race_in_shared_memory() -> None:
    """A read of what another warp writes, with no barrier between."""
    text = said(kernel_with(r"bar\.sync \t0;", ""))
    assert "shared" in text
    assert "--> f.tad:" in text
