"""Modules and contexts of other bindings of MLIR than those that tadc uses."""

import jaxlib.mlir.ir as foreign
import pytest

import tadc

F = tadc.function("x: f64[2]; f[i: 2] = x[1 - i]")


def test_a_module_of_other_bindings() -> None:
    module = foreign.Module.create(foreign.Location.unknown(foreign.Context()))
    for take in (lambda: tadc.build(F, module), lambda: tadc.run_passes(module, "canonicalize")):
        with pytest.raises(TypeError, match=r"and not of `jaxlib\.mlir.*hand it over as text") as refused:
            take()
        assert "Module.parse(str(module), context)" in str(refused.value)


def test_a_context_of_other_bindings() -> None:
    with pytest.raises(TypeError, match="takes a context of"):
        tadc.load_dialect(foreign.Context())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("thing", [None, "module {}", 3])
def test_what_is_no_module(thing: object) -> None:
    with pytest.raises(TypeError, match=rf"takes a module of `.*`, not {type(thing).__name__}"):
        tadc.run_passes(thing, "canonicalize")


def test_it_is_taken_as_text() -> None:
    from tadc.dialect.mlir import ir, new_context

    text = str(foreign.Module.create(foreign.Location.unknown(foreign.Context())))
    module = ir.Module.parse(text, new_context())
    tadc.load_dialect(module.context)
    assert "tad.map" in str(tadc.build(F, module))
