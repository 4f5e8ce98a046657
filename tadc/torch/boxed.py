"""The boxed kernel of an operator as LLVM IR: tensors of libtorch in and out, around the entry of a kernel.

    void @SYMBOL.boxed(ptr %stack, i64 %inputs, i64 %outputs)

`stack` holds handles of tensors, which the kernel owns; it puts those of the results in their place. Inputs
with gaps, or not aligned, are copied. A failure is an exception of C++. Code here has no tables by which C++
finds its way through it, so nothing of it may be on the stack then: it lets go of all that it has, and jumps
to the function of libtorch that throws, a call in the last place (`musttail`) with the arguments that this
function takes: the registers that hold a caller's three arguments hold the first three of five.
"""

from __future__ import annotations

from tadc.backend.runtime.interface import Interface
from tadc.native.entry import NO_INDEX, NO_MEMORY, Entry, refusals
from tadc.native.ir_lines import Lines, Value, text_constant
from tadc.torch.libtorch import cpu_number, element_number

_DECLARED = """
declare void @aoti_torch_check(ptr, i64, i64, i64, ptr)
declare i32 @aoti_torch_copy_(ptr, ptr, i32)
declare i32 @aoti_torch_delete_tensor_object(ptr)
declare i32 @aoti_torch_empty_strided(i64, ptr, ptr, i32, i32, i32, ptr)
declare i32 @aoti_torch_get_data_ptr(ptr, ptr)
declare i32 @aoti_torch_get_dim(ptr, ptr)
declare i32 @aoti_torch_get_dtype(ptr, ptr)
declare i32 @aoti_torch_get_sizes(ptr, ptr)
declare i1 @aoti_torch_grad_mode_is_enabled()
declare void @aoti_torch_grad_mode_set_enabled(i1)
declare i32 @aoti_torch_is_contiguous(ptr, ptr)
"""

# A new tensor, row-major without gaps; null where there is none.
_NEW = """
define internal ptr @torch.box.new.tensor(i64 %rank, ptr %shape, i32 %element) {{
begin:
  %made = alloca ptr
  %strides = alloca [{most} x i64]
  %none = icmp eq i64 %rank, 0
  br i1 %none, label %make, label %more
more:
  %left = phi i64 [ %rank, %begin ], [ %at, %more ]
  %stride = phi i64 [ 1, %begin ], [ %next, %more ]
  %at = sub i64 %left, 1
  %place = getelementptr i64, ptr %strides, i64 %at
  store i64 %stride, ptr %place
  %extent.at = getelementptr i64, ptr %shape, i64 %at
  %extent = load i64, ptr %extent.at
  %is.empty = icmp eq i64 %extent, 0
  %counted = select i1 %is.empty, i64 1, i64 %extent
  %next = mul i64 %stride, %counted
  %done = icmp eq i64 %at, 0
  br i1 %done, label %make, label %more
make:
  %failed = call i32 @aoti_torch_empty_strided(
    i64 %rank, ptr %shape, ptr %strides, i32 %element, i32 {cpu}, i32 -1, ptr %made)
  %tensor = load ptr, ptr %made
  %is.made = icmp eq i32 %failed, 0
  %found = select i1 %is.made, ptr %tensor, ptr null
  ret ptr %found
}}
"""

# The address of the elements of the tensor whose handle is at %place, which a copy without gaps takes the
# place of where the tensor has gaps or is not aligned. Returns 0 unless libtorch fails.
_ELEMENTS = """
define internal i32 @torch.box.data(ptr %place, i64 %rank, ptr %shape, i32 %type, i64 %mask, ptr %address) {
  %flag = alloca i8
  %tensor = load ptr, ptr %place
  %asked = call i32 @aoti_torch_is_contiguous(ptr %tensor, ptr %flag)
  %read = call i32 @aoti_torch_get_data_ptr(ptr %tensor, ptr %address)
  %first = or i32 %asked, %read
  %is.well = icmp eq i32 %first, 0
  br i1 %is.well, label %look, label %failed
look:
  %contiguous = load i8, ptr %flag
  %pointer = load ptr, ptr %address
  %bits = ptrtoint ptr %pointer to i64
  %beyond = and i64 %bits, %mask
  %is.aligned = icmp eq i64 %beyond, 0
  %is.dense = icmp ne i8 %contiguous, 0
  %as.it.is = and i1 %is.aligned, %is.dense
  br i1 %as.it.is, label %end, label %copy
copy:
  %new = call ptr @torch.box.new.tensor(i64 %rank, ptr %shape, i32 %type)
  %is.none = icmp eq ptr %new, null
  br i1 %is.none, label %failed, label %fill
fill:
  %records = call i1 @aoti_torch_grad_mode_is_enabled()
  call void @aoti_torch_grad_mode_set_enabled(i1 false)
  %copied = call i32 @aoti_torch_copy_(ptr %new, ptr %tensor, i32 0)
  call void @aoti_torch_grad_mode_set_enabled(i1 %records)
  %dropped = call i32 @aoti_torch_delete_tensor_object(ptr %tensor)
  store ptr %new, ptr %place
  %again = call i32 @aoti_torch_get_data_ptr(ptr %new, ptr %address)
  %both = or i32 %copied, %again
  ret i32 %both
end:
  ret i32 0
failed:
  ret i32 1
}
"""


def boxed_symbol(interface: Interface) -> str:
    """The name of the boxed kernel."""
    return f"{interface.symbol}.boxed"


def boxed(interface: Interface, entry: Entry) -> str:
    """LLVM IR that defines it, to stand behind the kernel and its entry."""
    return _Boxed(interface, entry).text()


class _Boxed:
    def __init__(self, interface: Interface, entry: Entry) -> None:
        self.interface = interface
        self.entry = entry
        self.inputs = interface.arguments
        self.outputs = interface.outputs
        self.extents = sum(len(p.shape) for p in self.inputs)
        #: What is returned where libtorch fails: the least code.
        self.failed = NO_INDEX - len(self.inputs)
        #: The blocks that return a code, and what those return that are for one place alone.
        self.failures: dict[int, str] = {}
        self.ends: dict[str, str] = {}

    def text(self) -> str:
        most = max([1, *(len(p.shape) for p in (*self.inputs, *self.outputs))])
        helpers = _DECLARED + _NEW.format(most=most, cpu=cpu_number()) + _ELEMENTS
        return helpers + self.run() + self.box() + self.messages()

    def run(self) -> str:
        """A function that computes and returns 0, or what is wrong; inputs stay those of the stack."""
        lines = Lines()
        words = [lines.put(f"alloca i64, i64 {max(1, n)}") for n in (1, self.extents, self.result_extents)]
        word, dims, shapes = words
        data = lines.put(f"alloca ptr, i64 {len(self.inputs) + len(self.outputs)}")
        self.read_shapes(lines, word, dims)
        self.go_on(lines, lines.put(f'call i64 @"{self.entry.shapes_symbol}"(ptr {dims}, ptr {shapes})'))
        self.read_elements(lines, dims, data)
        self.make_outputs(lines, shapes, data)
        self.go_on(lines, lines.put(f'call i64 @"{self.entry.symbol}"(ptr {data}, ptr {dims})'))
        lines.do("ret i64 0")
        ends = self.ends | {label: f"i64 {code}" for code, label in self.failures.items()}
        return lines.function("internal i64 @torch.box.compute(ptr %stack, ptr %made)", ends)

    @property
    def result_extents(self) -> int:
        return sum(len(p.shape) for p in self.outputs)

    def read_shapes(self, lines: Lines, word: Value, dims: Value) -> None:
        """The extents of all inputs, if types and numbers of dimensions are right."""
        position = 0
        for n, parameter in enumerate(self.inputs):
            tensor = lines.put(f"load ptr, ptr {lines.word('%stack', n)}")
            lines.put(f"call i32 @aoti_torch_get_dtype(ptr {tensor}, ptr {word})")
            found = lines.put(f"load i32, ptr {word}")
            same = lines.put(f"icmp eq i32 {found}, {element_number(parameter.type)}")
            self.require(lines, same, self.extents + 1 + n)
            lines.put(f"call i32 @aoti_torch_get_dim(ptr {tensor}, ptr {word})")
            rank = lines.put(f"load i64, ptr {word}")
            same = lines.put(f"icmp eq i64 {rank}, {len(parameter.shape)}")
            self.require(lines, same, self.extents + 1 + len(self.inputs) + n)
            lines.put(f"call i32 @aoti_torch_get_sizes(ptr {tensor}, ptr {word})")
            sizes = lines.put(f"load ptr, ptr {word}")
            for d in range(len(parameter.shape)):
                extent = lines.put(f"load i64, ptr {lines.word(sizes, d)}")
                lines.do(f"store i64 {extent}, ptr {lines.word(dims, position + d)}")
            position += len(parameter.shape)

    def read_elements(self, lines: Lines, dims: Value, data: Value) -> None:
        """The addresses of all inputs."""
        position = 0
        for n, parameter in enumerate(self.inputs):
            place, shape, address = (lines.word("%stack", n), lines.word(dims, position), lines.word(data, n))
            element, mask = element_number(parameter.type), parameter.dtype.itemsize - 1
            about = f"ptr {place}, i64 {len(parameter.shape)}, ptr {shape}, i32 {element}, i64 {mask}"
            failed = lines.put(f"call i32 @torch.box.data({about}, ptr {address})")
            self.require(lines, lines.put(f"icmp eq i32 {failed}, 0"), self.failed)
            position += len(parameter.shape)

    def make_outputs(self, lines: Lines, shapes: Value, data: Value) -> None:
        """New tensors for the results, which the caller lets go of where something fails."""
        position = 0
        for n, parameter in enumerate(self.outputs):
            rank, element = len(parameter.shape), element_number(parameter.type)
            shape = lines.word(shapes, position)
            made = lines.put(f"call ptr @torch.box.new.tensor(i64 {rank}, ptr {shape}, i32 {element})")
            lines.do(f"store ptr {made}, ptr {lines.word('%made', n)}")
            self.require(lines, lines.put(f"icmp ne ptr {made}, null"), NO_MEMORY)
            address = lines.word(data, len(self.inputs) + n)
            lines.put(f"call i32 @aoti_torch_get_data_ptr(ptr {made}, ptr {address})")
            position += rank

    def require(self, lines: Lines, condition: Value, code: int) -> None:
        """Go on where a condition holds, else return the code."""
        lines.require(condition, self.failures.setdefault(code, f"failure{len(self.failures)}"))

    def go_on(self, lines: Lines, code: Value) -> None:
        """Go on where a code is 0, else return it."""
        wrong = lines.fresh("wrong")
        self.ends[wrong] = f"i64 {code}"
        lines.require(lines.put(f"icmp eq i64 {code}, 0"), wrong)

    def box(self) -> str:
        """The function that libtorch calls."""
        lines, count = Lines(), len(self.outputs)
        made = lines.put(f"alloca ptr, i64 {count}")
        for n in range(count):
            lines.do(f"store ptr null, ptr {lines.word(made, n)}")
        code = lines.put(f"call i64 @torch.box.compute(ptr %stack, ptr {made})")
        for n in range(len(self.inputs)):
            tensor = lines.put(f"load ptr, ptr {lines.word('%stack', n)}")
            lines.put(f"call i32 @aoti_torch_delete_tensor_object(ptr {tensor})")
        is_well = lines.put(f"icmp eq i64 {code}, 0")
        lines.do(f"br i1 {is_well}, label %well, label %failed")
        lines.label("well")
        for n in range(count):
            tensor = lines.put(f"load ptr, ptr {lines.word(made, n)}")
            lines.do(f"store ptr {tensor}, ptr {lines.word('%stack', n)}")
        lines.do("ret void")
        lines.label("failed")
        for n in range(count):
            tensor = lines.put(f"load ptr, ptr {lines.word(made, n)}")
            lines.do(f"call void @torch.box.let.go(ptr {tensor})")
        index = lines.put(f"add i64 {code}, {-self.failed}")
        place = lines.put(f"getelementptr ptr, ptr @torch.box.messages, i64 {index}")
        message = lines.put(f"load ptr, ptr {place}")
        where = "i64 ptrtoint (ptr @torch.box.where to i64)"
        lines.do(f"musttail call void @aoti_torch_check(ptr null, {where}, {where}, i64 1, ptr {message})")
        lines.do("ret void")
        parameters = "ptr %stack, i64 %inputs, i64 %outputs, i64 %unused, ptr %unused2"
        return _LET_GO + lines.function(f'void @"{boxed_symbol(self.interface)}"({parameters})', {})

    def messages(self) -> str:
        """What exceptions say, by code."""
        known = refusals(self.interface)
        known[self.failed] = (
            "tadc: libtorch cannot read a tensor, or has no memory to copy one that is not contiguous"
        )
        texts = [known.get(code, "") for code in range(self.failed, max(known) + 1)]
        found = [f"@torch.box.where = private constant {text_constant('tadc')}"]
        found += [
            f"@torch.box.message{n} = private constant {text_constant(text)}" for n, text in enumerate(texts)
        ]
        table = ", ".join(f"ptr @torch.box.message{n}" for n in range(len(texts)))
        found.append(f"@torch.box.messages = private constant [{len(texts)} x ptr] [{table}]")
        return "\n".join([*found, ""])


_LET_GO = """
define internal void @torch.box.let.go(ptr %tensor) {
  %is.none = icmp eq ptr %tensor, null
  br i1 %is.none, label %end, label %drop
drop:
  %dropped = call i32 @aoti_torch_delete_tensor_object(ptr %tensor)
  br label %end
end:
  ret void
}
"""
