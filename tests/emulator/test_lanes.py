"""Lanes that part and meet, memory that they share, and what they may not do."""

from __future__ import annotations

import numpy as np
import pytest

from tadc.backend.emulator.errors import KernelFault
from tests.emulator.ptx_text import kernel_text, launch

STORE = "mad.wide.u32 %rd20, %r1, 4, %rd2; st.global.b32 [%rd20], %r9;"


def refuses(body: str, words: str, outside: str = "", threads: int = 64) -> str:
    """Run a kernel that must be refused with these words; all it says."""
    with pytest.raises(KernelFault, match=words) as error:
        launch(kernel_text(body, outside=outside), [np.arange(64, dtype=np.uint32), 256], threads)
    assert error.value.diagnostics[0].code == "TAD0708"
    assert "kernel `k`" in str(error.value)
    return str(error.value)


def test_lanes_that_part_meet_again() -> None:
    """Collatz: every lane makes another number of steps; all then shuffle together."""
    body = """
    add.s32 %r2, %r1, 1;
    mov.b32 %r9, 0;
    $loop:
    setp.eq.b32 %p1, %r2, 1;
    @%p1 bra $done;
    add.s32 %r9, %r9, 1;
    and.b32 %r3, %r2, 1;
    setp.eq.b32 %p2, %r3, 0;
    @%p2 bra $even;
    mad.lo.s32 %r2, %r2, 3, 1;
    bra.uni $loop;
    $even:
    shr.u32 %r2, %r2, 1;
    bra.uni $loop;
    $done:
    shfl.sync.bfly.b32 %r4|%p3, %r9, 1, 31, -1;
    max.s32 %r9, %r9, %r4;
    """
    found = launch(kernel_text(body + STORE), [np.zeros(1), np.zeros(64, np.uint32)], 64)[-1]
    steps: list[int] = []
    for start in range(1, 65):
        count, n = 0, start
        while n != 1:
            n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
        steps.append(count)
    assert found.tolist() == [max(steps[i], steps[i ^ 1]) for i in range(64)]


@pytest.mark.parametrize("blocks", [1, 3, 400])
def test_a_sum_over_a_block(blocks: int) -> None:
    """Shuffles in a warp, shared memory and a barrier between warps; every block has its own."""
    rounds = "".join(
        f"shfl.sync.down.b32 %r10|%p1, %r9, {n}, 31, -1; add.s32 %r9, %r9, %r10;\n" for n in (16, 8, 4, 2, 1)
    )
    body = f"""
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 128, %r1;
    mad.wide.u32 %rd10, %r3, 4, %rd1;
    ld.global.nc.b32 %r9, [%rd10];
    {rounds}
    and.b32 %r4, %r1, 31;
    shr.u32 %r5, %r1, 5;
    setp.ne.b32 %p2, %r4, 0;
    mov.b64 %rd11, part;
    mad.wide.u32 %rd12, %r5, 4, %rd11;
    @%p2 bra $skip;
    st.shared.b32 [%rd12], %r9;
    $skip:
    bar.sync 0;
    ld.shared.v4.b32 {{%r20, %r21, %r22, %r23}}, [part];
    add.s32 %r20, %r20, %r21;
    add.s32 %r22, %r22, %r23;
    add.s32 %r9, %r20, %r22;
    setp.ne.b32 %p3, %r1, 0;
    mad.wide.u32 %rd20, %r2, 4, %rd2;
    @!%p3 st.global.b32 [%rd20], %r9;
    """
    values = np.random.default_rng(0).integers(0, 1000, 128 * blocks, np.uint32)
    text = kernel_text(body, outside=".shared .align 16 .b8 part[16];")
    found = launch(text, [values, np.zeros(blocks, np.uint32)], 128, blocks)[-1]
    np.testing.assert_array_equal(found, values.reshape(blocks, 128).sum(axis=1))


def test_dynamic_shared_memory_and_a_reversal() -> None:
    body = """
    mad.wide.u32 %rd10, %r1, 4, %rd1;
    ld.global.b32 %r9, [%rd10];
    mov.b64 %rd11, room;
    cvta.shared.u64 %rd12, %rd11;
    mad.wide.u32 %rd13, %r1, 4, %rd12;
    st.b32 [%rd13], %r9;
    barrier.sync.aligned 0;
    sub.s32 %r2, 63, %r1;
    mad.wide.u32 %rd14, %r2, 4, %rd11;
    ld.shared.b32 %r9, [%rd14];
    """
    text = kernel_text(body + STORE, outside=".extern .shared .align 16 .b8 room[];")
    values = np.arange(64, dtype=np.uint32) ** 2
    found = launch(text, [values, np.zeros(64, np.uint32)], 64, shared=256)[-1]
    assert found.tolist() == values[::-1].tolist()


def test_a_function_is_called_by_each_lane() -> None:
    """With results in two parts, and from two places."""
    outside = """
    .func (.param .align 8 .b8 out[16]) twice(.param .b32 p0)
    {
        .reg .b32 %r<5>; .reg .b64 %rd<5>; .reg .pred %p<3>;
        ld.param.b32 %r1, [p0];
        mul.wide.u32 %rd1, %r1, 2;
        setp.gt.u32 %p1, %r1, 40;
        @%p1 bra $far;
        mov.b64 %rd2, 7;
        bra.uni $end;
        $far:
        mov.b64 %rd2, 9;
        $end:
        st.param.v2.b64 [out], {%rd1, %rd2};
        ret;
    }
    """
    call = """
    {{ .param .b32 param0; st.param.b32 [param0], {}; .param .align 8 .b8 retval0[16];
    call.uni (retval0), twice, (param0);
    ld.param.v2.b64 {{%rd10, %rd11}}, [retval0]; }}
    """
    body = (
        call.format("%r1") + "cvt.u32.u64 %r2, %rd10;" + call.format("%r2") + "add.s64 %rd12, %rd10, %rd11;"
    )
    body += "cvt.u32.u64 %r9, %rd12;" + STORE
    found = launch(kernel_text(body, outside=outside), [np.zeros(1), np.zeros(64, np.uint32)], 64)[-1]
    assert found.tolist() == [4 * n + (9 if 2 * n > 40 else 7) for n in range(64)]


def test_a_table_of_branches() -> None:
    body = """
    and.b32 %r2, %r1, 3;
    $table: .branchtargets
        $a,
        $b,
        $c, $a;
    brx.idx %r2, $table;
    $a: mov.b32 %r9, 10; bra.uni $end;
    $b: mov.b32 %r9, 20; bra.uni $end;
    $c: mov.b32 %r9, 30;
    $end:
    """
    found = launch(kernel_text(body + STORE), [np.zeros(1), np.zeros(8, np.uint32)], 8)[-1]
    assert found.tolist() == [10, 20, 30, 10] * 2


def test_votes() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 5;
    vote.sync.ballot.b32 %r9, %p1, -1;
    vote.sync.all.pred %p2, %p1, -1;
    selp.b32 %r3, 100, 0, %p2;
    add.s32 %r9, %r9, %r3;
    """
    found = launch(kernel_text(body + STORE), [np.zeros(1), np.zeros(64, np.uint32)], 64)[-1]
    assert found.tolist() == [31] * 32 + [0] * 32


def test_out_of_bounds() -> None:
    said = refuses("mad.wide.u32 %rd10, %r1, 4, %rd1; ld.global.b32 %r9, [%rd10+4];", "out of bounds")
    assert "at byte 256 of the nearest buffer, of 256" in said
    assert "thread (63, 0, 0) of block (0, 0, 0)" in said
    assert "`ld.global.b32 %r9, [%rd10+4]`" in said
    refuses("ld.global.b32 %r9, [%rd1+-4];", "out of bounds")
    refuses("st.global.b64 [%rd2+252], %rd1;", "misaligned access of 8 bytes")
    refuses("mov.b64 %rd9, 64; ld.global.b32 %r9, [%rd9];", "no buffer|out of bounds")


def test_a_vector_is_aligned_as_a_whole() -> None:
    refuses("ld.global.v2.b32 {%r8, %r9}, [%rd1+4];", "misaligned access of 8 bytes")


def test_memory_without_a_value() -> None:
    said = refuses("mad.wide.u32 %rd10, %r1, 4, %rd2; ld.global.b32 %r9, [%rd10];", "nothing has written")
    assert "byte 0 of a buffer of 256" in said


SHARED = ".shared .align 16 .b8 room[256];"
PLACE = "mov.b64 %rd10, room; mad.wide.u32 %rd11, %r1, 4, %rd10;"


def test_shared_memory() -> None:
    refuses(f"{PLACE} ld.shared.b32 %r9, [%rd11];", "shared memory that nothing has written", SHARED)
    refuses(f"{PLACE} st.shared.b32 [%rd11+4], %r1;", "out of bounds of shared memory", SHARED)
    refuses(f"{PLACE} st.shared.b32 [%rd11+2], %r1;", "misaligned access of 4 bytes", SHARED, 8)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("st.shared.b32 [%rd11], %r1; xor.b32 %r2, %r1, 1; mad.wide.u32 %rd12, %r2, 4, %rd10;"
         "ld.shared.b32 %r9, [%rd12];", "read of shared memory that another lane writes"),
        ("st.shared.b32 [%rd11], %r1; bar.sync 0; ld.shared.b32 %r9, [room]; "
         "st.shared.b32 [%rd11], %r9;", "write to shared memory that another lane reads"),
        ("st.shared.b32 [room], %r1;", "write to shared memory that another lane writes"),
    ],
)  # fmt: skip
def test_accesses_without_a_barrier_between(body: str, words: str) -> None:
    refuses(PLACE + body, words, SHARED)


GLOBAL = "mad.wide.u32 %rd11, %r1, 4, %rd2; xor.b32 %r2, %r1, 1; mad.wide.u32 %rd12, %r2, 4, %rd2;"
STORED = "st.global.b32 [%rd11], %r1;"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"{STORED} ld.global.b32 %r9, [%rd12];", "read of memory that another lane writes"),
        (f"{STORED} bar.sync 0; ld.global.b32 %r9, [%rd12]; st.global.b32 [%rd11], %r2;",
         "write to memory that another lane reads"),
        (f"{STORED} st.global.b32 [%rd12], %r1;", "write to memory that another lane writes"),
        ("st.global.b32 [%rd2], %r1;", "write to memory that another lane writes at once"),
    ],
)  # fmt: skip
def test_accesses_of_global_memory_without_a_barrier_between(body: str, words: str) -> None:
    refuses(GLOBAL + body, words)


def test_blocks_do_not_see_what_others_write() -> None:
    """A barrier is one of a block; what lanes write alike, or after a barrier, they may."""
    one = f"{GLOBAL} st.global.b32 [%rd2], 7; bar.sync 0; ld.global.b32 %r9, [%rd2]; bar.sync 0; {STORED}"
    found = launch(kernel_text(one), [np.zeros(1), 256], 64)[-1].view(np.uint32)
    assert found.tolist() == list(range(64))
    with pytest.raises(KernelFault, match="memory that another lane writes"):
        launch(kernel_text(one), [np.zeros(1), 256], 64, 2)


def test_a_barrier_that_not_all_reach() -> None:
    body = "setp.lt.u32 %p1, %r1, 40; @%p1 bra $less; mov.b32 %r9, 1; bra.uni $end; $less: bar.sync 0;\n$end:"
    said = refuses(body + STORE, "barrier .* not all lanes reach")
    assert "`bar.sync 0`" in said
    assert "thread (40, 0, 0) of the block goes another way" in said


def test_lanes_that_have_left_are_not_waited_for() -> None:
    body = "setp.ge.u32 %p1, %r1, 40; @%p1 bra $end; bar.sync 0; mov.b32 %r9, 3;" + STORE + "$end:"
    found = launch(kernel_text(body), [np.zeros(1), np.zeros(64, np.uint32)], 64)[-1]
    assert found.tolist() == [3] * 40 + [0] * 24


def test_lanes_of_a_warp_do_not_wait_for_another_warp() -> None:
    """Half of a warp waits in a shuffle for the other, which loops, while the next warp leaves."""
    body = """
    bra.uni $start;
    $leave: ret;
    $meet: shfl.sync.bfly.b32 %r9, %r1, 16, 31, -1;
    """ + STORE + """
    bra.uni $end;
    $start:
    setp.lt.u32 %p2, %r1, 16; @%p2 bra $meet;
    setp.ge.u32 %p1, %r1, 32; @%p1 bra $leave;
    mov.b32 %r2, 0;
    $loop: add.s32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 9; @%p3 bra $loop;
    bra.uni $meet;
    $end:
    """  # fmt: skip
    found = launch(kernel_text(body), [np.zeros(1), np.zeros(64, np.uint32)], 64)[-1]
    assert found.tolist() == [n ^ 16 for n in range(32)] + [0] * 32


def test_shuffles() -> None:
    refuses("setp.lt.u32 %p1, %r1, 7; @%p1 bra $a; mov.b32 %r9, 1; bra.uni $end; "
            "$a: shfl.sync.idx.b32 %r9, %r1, 0, 31, -1; $end:" + STORE,
            "exchange .* not all lanes")  # fmt: skip
    refuses("shfl.sync.idx.b32 %r9, %r1, 9, 31, 255;", "does not name it", threads=32)
    refuses("shfl.sync.down.b32 %r9, %r1, 8, 31, -1;", "reads lane 24", threads=24)


def test_what_a_vector_reads_and_nothing_uses_may_lie_beyond_a_buffer() -> None:
    """LLVM reads 16 aligned bytes where it needs 12 of them; what is used must be there."""
    body = "ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%rd1]; add.s32 %r9, %r20, {};"
    values = [np.array([3, 4, 5], np.uint32), np.zeros(64, np.uint32)]
    found = launch(kernel_text(body.format("%r22") + STORE), values, 64)[-1]
    assert found.tolist() == [8] * 64
    with pytest.raises(KernelFault, match="out of bounds"):
        launch(kernel_text(body.format("%r23") + STORE), values, 64)
