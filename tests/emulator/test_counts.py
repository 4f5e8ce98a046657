"""What the emulator counts, on kernels written by hand whose counts follow from their addresses."""

from __future__ import annotations

import numpy as np
import pytest

from tadc.backend.emulator.counts import LaunchCounts, counting, table
from tadc.cli import main
from tests.emulator.ptx_text import kernel_text, launch

SHARED = ".shared .align 16 .b8 box[16384];\n"


def counted(body: str, threads: int = 64, blocks: int = 1, outside: str = "") -> LaunchCounts:
    """The counts of a kernel that reads a buffer in `%rd1` and writes one in `%rd2`, of 64 KiB each."""
    buffer = np.zeros(1 << 14, np.float32)
    with counting() as launches:
        launch(kernel_text(body, 2, outside), [buffer, buffer.copy()], threads, blocks)
    (found,) = launches
    return found


def copy(step: int, offset: int = 0, type: str = "b32", registers: str = "%r2") -> str:
    """Each thread copies what lies so many bytes after that of the one before."""
    return f"""
    mad.wide.u32 %rd10, %r1, {step}, %rd1;
    mad.wide.u32 %rd11, %r1, {step}, %rd2;
    ld.global.{type} {registers}, [%rd10+{offset}];
    st.global.{type} [%rd11], {registers};"""


@pytest.mark.parametrize(
    ("body", "requests", "sectors", "bytes"),
    [
        pytest.param(copy(4), 2, 8, 512, id="consecutive"),
        pytest.param(copy(4, 4), 2, 10, 288 + 256, id="misaligned"),
        pytest.param(copy(8), 2, 16, 1024, id="every other"),
        pytest.param(copy(128), 2, 64, 4096, id="far apart"),
        pytest.param(copy(0), 2, 2, 64, id="the same"),
        pytest.param(copy(8, 0, "b64", "%rd20"), 4, 16, 1024, id="8 bytes"),
        pytest.param(copy(16, 0, "v4.b32", "{%r2, %r3, %r4, %r5}"), 8, 32, 2048, id="16 bytes"),
    ],
)
def test_sectors(body: str, requests: int, sectors: int, bytes: int) -> None:
    """`bytes` are those of DRAM, loads and stores together."""
    found = counted(body)
    assert (found.loads.requests, found.loads.parts) == (requests, sectors)
    assert found.dram_bytes == bytes


def test_a_first_cache_for_each_block() -> None:
    """Both blocks load the same sectors twice: once each from the second cache, and once from DRAM."""
    found = counted(copy(4) + copy(4), 32, 2)
    assert found.loads.parts == 16
    assert found.l2_bytes == 32 * (4 * 2 + 4 * 4)
    assert found.dram_bytes == 32 * (4 + 4)


@pytest.mark.parametrize(
    ("step", "passes"),
    [(4, 1), (8, 2), (128, 32), (132, 1), (0, 1)],
    ids="row even column padded same".split(),
)
def test_bank_conflicts(step: int, passes: int) -> None:
    """A warp that stores to shared memory at such distances, and loads its own again."""
    body = f"""
    mov.b32 %r3, box;
    mad.lo.s32 %r4, %r1, {step}, %r3;
    st.shared.b32 [%r4], %r1;
    bar.sync 0;
    ld.shared.b32 %r5, [%r4];"""
    if not step:
        body = body.replace("st.shared", "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared")
    found = counted(body, 32, 1, SHARED)
    assert found.shared.requests == 2
    assert found.shared.each == (passes if step else 1)
    assert found.issued["barrier"] == 1


def test_instructions_by_kind() -> None:
    """By warp and by lane; half of the lanes take the branch."""
    found = counted(
        """
        setp.lt.u32 %p1, %r1, 16;
        @%p1 bra $end;
        mov.b32 %r2, 0f3F800000;
        ex2.approx.f32 %r3, %r2;
        fma.rn.f32 %r4, %r2, %r3, %r3;
        cvt.f64.f32 %rd20, %r4;
        add.rn.f64 %rd21, %rd20, %rd20;
        div.u32 %r6, %r1, %r1;
        $end:""",
        64,
    )
    for kind in ("special", "f32", "f64", "divide", "convert"):
        assert (kind, found.issued[kind], found.lanes[kind]) == (kind, 2, 48)
    assert found.issued["branch"] == 2
    assert not found.issued["load local"]


def test_some_of_many_blocks() -> None:
    """They are spread over the grid, and what others would compute is taken to be there."""
    text = kernel_text(
        "mov.u32 %r3, %ctaid.x; mad.wide.u32 %rd10, %r3, 128, %rd1; st.global.b32 [%rd10], %r3;"
    )
    with counting(4) as launches:
        (found, _) = launch(text, [np.zeros(320, np.float32), np.zeros(1, np.float32)], 32, 10)
    assert launches[0].lanes["store global"] == 4 * 32
    assert np.nonzero(found.view(np.int32)[::32])[0].tolist() == [2, 5, 7]


def test_nothing_is_counted_outside() -> None:
    with counting() as launches:
        pass
    launch(kernel_text(copy(4)), [np.zeros(64, np.float32), np.zeros(64, np.float32)])
    assert not launches
    assert table(launches).splitlines()[-1].startswith("0 launches")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "-e", "x: f32; f[i: 64] = x", "x=2", "-o", "-"]
    assert main([*words, "--target", "emulated", "--counts"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].split()[:4] == ["kernel", "blocks", "threads", "DRAM"]
    assert lines[-1].split()[:2] == ["1", "launch"]
    assert main([*words, "--counts"]) == 2
