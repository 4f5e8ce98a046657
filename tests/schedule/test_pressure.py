"""Tiles hold what fits in the registers of a processor: no vector goes to the stack and back."""

from __future__ import annotations

import re

import pytest

import tadc
from tadc.passes.schedule import search

PRODUCT = "a: f32[512, 512]; b: f32[512, 512]\nc[i, j] = sum{k} (a[i, k]*b[k, j])"

PROGRAMS = {
    "product": PRODUCT,
    "product f64": PRODUCT.replace("f32", "f64"),
    "a^T b": PRODUCT.replace("a[i, k]", "a[k, i]"),
    "a b^T": PRODUCT.replace("b[k, j]", "b[j, k]"),
    "dilated": "x: f32[64, 520]; w: f32[9]\ny[i, j: 504] = sum{k: 9} (w[k]*x[i, j + 2*k])",
    "distances": "x: f32[512, 64]; y: f32[512, 64]\nd[i, j] = sum{k} ((x[i, k] - y[j, k])**2)",
}

#: A vector that is stored on the stack, or an operand that is there.
ON_STACK = re.compile(r"%[yz]mm\d+, -?\d*\(%rsp\)|\d*\(%rsp\)[^\n]*%[yz]mm")


@pytest.mark.parametrize("target", ["cpu:x86-64-v3", "cpu:x86-64-v4"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_vector_is_spilled(name: str, target: str) -> None:
    assert not ON_STACK.findall(tadc.function(PROGRAMS[name]).lower(target).as_text("asm"))


@pytest.mark.parametrize(("target", "rows"), [("cpu:x86-64-v3", 6), ("cpu:x86-64-v4", 6), ("cpu:aarch64", 6)])
def test_products_fill_the_registers(target: str, rows: int) -> None:
    """12 results of 16, or 24 of 32: with two or four vectors, and one element of the rows."""
    text = tadc.function(PRODUCT).lower(target).as_text("schedule")
    assert f"split i {rows} overlap" in text


def test_what_is_chosen_depends_on_no_other_program() -> None:
    """Equal maps are searched once: not those over other shapes, or over what no caller gives."""
    within = (
        "x: f32[512, 512]; b: f32[512, 512]; let a[i, k] = exp(x[i, k])\nc[i, j] = sum{k} (a[i, k]*b[k, j])"
    )
    texts = [PRODUCT, PRODUCT.replace("512]; b", "4096]; b").replace("b: f32[512", "b: f32[4096"), within]
    texts += [PRODUCT.replace("f32", "f64"), f"{PRODUCT}; e = sum{{i, j}} (c[i, j])"]

    def chosen(text: str) -> str:
        return tadc.function(text).lower("cpu:x86-64-v3").as_text("schedule")

    together = [chosen(text) for text in texts]
    for text, found in zip(texts, together, strict=True):
        search.searched.cache_clear()
        assert chosen(text) == found


def test_blocks_of_a_long_sum_are_around_all_tiles() -> None:
    """Where rows of tiles share lines that a whole sum would take from the first cache."""
    text = "a: f32[8192, 512]; b: f32[8192, 128]\nc[i, j] = sum{k} (a[k, i]*b[k, j])"
    steps = tadc.function(text).lower("cpu:x86-64-v4").as_text("schedule")
    block = re.search(r"cut %3 k (\d+) -> k0", steps)
    assert block is not None
    assert int(block[1]) <= 512
    # It is the outermost loop where no other order is asked for.
    assert "reorder k0, " in steps or "reorder" not in steps
