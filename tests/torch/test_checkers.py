"""PyTorch's own checkers, and its ways to differentiate, against the same functions in PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tadc
from tests.torch.programs import PROGRAMS, Program, assert_alike, program, torch

__all__ = ["program"]


def total(f: Any) -> Any:
    """A smooth number of all results."""

    def called(*inputs: Any) -> Any:
        found = f(*inputs)
        return sum(torch.sin(part).sum() for part in (found if isinstance(found, tuple) else (found,)))

    return called


def test_values(program: Program) -> None:
    inputs = program.inputs()
    assert_alike(program.function.torch(*inputs), program.same(*inputs))


def test_opcheck(program: Program) -> None:
    f = program.function.torch
    for inputs in (program.inputs(), program.inputs(requires_grad=True)):
        found = torch.library.opcheck(f._op, inputs)
        assert set(found.values()) == {"SUCCESS"}, found
    assert set(
        torch.library.opcheck(torch.ops.tadc.__getattr__(f._op._opname).direct, program.inputs()).values()
    ) == {"SUCCESS"}


def test_gradcheck(program: Program) -> None:
    inputs = program.inputs(requires_grad=True)
    assert torch.autograd.gradcheck(
        program.function.torch,
        inputs,
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )
    assert torch.autograd.gradcheck(program.function.torch, inputs, fast_mode=True, check_forward_ad=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradgradcheck(name: str) -> None:
    program = PROGRAMS[name]
    inputs = program.inputs(requires_grad=True)
    assert torch.autograd.gradgradcheck(
        program.function.torch, inputs, check_fwd_over_rev=True, check_batched_grad=True
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_third_derivative(name: str) -> None:
    program = PROGRAMS[name]

    def third(f: Any) -> Any:
        x, *rest = program.inputs(requires_grad=True, seed=3)
        value = total(f)(x, *rest)
        for _ in range(3):
            (value,) = torch.autograd.grad(value, x, create_graph=True)
            value = (value**2).sum()
        return value

    assert_alike(third(program.function.torch), third(program.same))


def transformed(f: Any, x: Any, rest: Any) -> dict[str, Any]:
    """What the transforms of `torch.func` make of a function of its first input."""
    func = torch.func

    def of(x: Any) -> Any:
        return total(f)(x, *rest)

    many = torch.stack([x, 2 * x, 3 * x])
    return {
        "grad": func.grad(of)(x),
        "grad of grad": func.grad(lambda x: func.grad(of)(x).pow(2).sum())(x),
        "vjp": func.vjp(lambda x: f(x, *rest), x)[1](func.vjp(lambda x: f(x, *rest), x)[0])[0],
        "jvp": func.jvp(lambda x: f(x, *rest), (x,), (x.cos(),))[1],
        "vmap": func.vmap(lambda x: f(x, *rest))(many),
        "vmap from the end": func.vmap(lambda x: f(x, *rest), in_dims=-1)(many.movedim(0, -1)),
        "vmap of grad": func.vmap(func.grad(of))(many),
        "grad of vmap": func.grad(lambda xs: func.vmap(of)(xs).pow(2).sum())(many),
        "grad of jvp": func.grad(lambda x: func.jvp(of, (x,), (x.cos(),))[1])(x),
        "vmap of vmap": func.vmap(func.vmap(of))(torch.stack([many, many + 1])),
        "jacrev": func.jacrev(lambda x: f(x, *rest))(x),
        "jacfwd": func.jacfwd(lambda x: f(x, *rest))(x),
        "hessian": func.hessian(of)(x),
        "jacrev of jacfwd": func.jacrev(func.jacfwd(of))(x),
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_transforms(name: str) -> None:
    program = PROGRAMS[name]
    x, *rest = program.inputs(seed=1)
    found, expected = (transformed(f, x, rest) for f in (program.function.torch, program.same))
    for kind, value in expected.items():
        assert_alike(found[kind], value)


def test_nothing_is_recorded_where_pytorch_records_nothing() -> None:
    x, *rest = PROGRAMS["density"].inputs()

    def found(f: Any) -> Any:
        def inner(x: Any) -> Any:
            with torch.no_grad():
                constant = f(x, *rest)
            return (f(x, *rest) * constant).sum()

        return torch.func.grad(lambda x: torch.func.grad(inner)(x).pow(2).sum())(x)

    assert_alike(found(PROGRAMS["density"].function.torch), found(PROGRAMS["density"].same))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", ["layer", pytest.param("mixed", marks=pytest.mark.sweep)])
def test_compile(name: str, dynamic: bool) -> None:
    """The graph is whole, one for all sizes where they are symbols; gradients are in it."""
    program = PROGRAMS[name]
    f = program.function.torch
    torch._dynamo.reset()
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    compiled = torch.compile(total(f), fullgraph=True, dynamic=dynamic, backend=backend)
    for n in (0, 1, 2):
        inputs = list(program.inputs(requires_grad=True))
        if dynamic and n:
            inputs[0] = torch.cat([inputs[0].detach()] * (n + 1)).requires_grad_()
            if name == "mixed":
                inputs[1] = torch.cat([inputs[1].detach()] * (n + 1)).requires_grad_()
        expected = total(program.same)(*inputs)
        found = compiled(*inputs)
        assert_alike(found, expected)
        assert_alike(torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs))
    assert len(graphs) == 1


def test_compile_by_inductor() -> None:
    program = PROGRAMS["layer"]
    inputs = program.inputs(requires_grad=True)
    compiled = torch.compile(total(program.function.torch), fullgraph=True)
    found, expected = compiled(*inputs), total(program.same)(*inputs)
    assert_alike(found, expected)
    assert_alike(torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs))


def test_code_that_inductor_keeps_finds_operators_of_gradients(tmp_path: Path) -> None:
    """A later process runs the code of a former one, which has their names alone."""
    script = f"""
import tadc, torch
f = tadc.function({PROGRAMS["density"].text!r}).torch
p, h = torch.rand(5, 2).double().requires_grad_(), torch.ones(()).double()
found = torch.compile(lambda p, h: f(p, h).sin().sum(), fullgraph=True)(p, h)
expected = torch.autograd.grad(f(p, h).sin().sum(), p)
torch.testing.assert_close(torch.autograd.grad(found, p), expected)
print(dict(torch._dynamo.utils.counters["aot_autograd"]))
"""
    settings = {
        "PYTHONPATH": str(Path(tadc.__file__).parent.parent),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
    }
    run = partial(subprocess.run, [sys.executable, "-c", script], check=True, capture_output=True, text=True)
    for kind in ("miss", "hit"):
        assert f"autograd_cache_{kind}" in run(env={**os.environ, **settings}).stdout
