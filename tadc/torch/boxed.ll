; Kernels of operators: tensors of libtorch in and out, around the entry of a kernel, whose table
; `native/door_table.py` describes, and functions of `native/door.ll` read.
;
;   void @tadc.torch.call(ptr %stack, i64 %table, i64 %unused, i64 %unused, ptr %unused)
;
; `stack` holds handles of tensors, which the kernel owns; it puts those of the results in their place. Inputs
; with gaps, or not aligned, are copied. A failure is an exception of C++. Code here has no tables by which C++
; finds its way through it, so nothing of it may be on the stack then: it lets go of all that it has, and jumps
; to the function of libtorch that throws, a call in the last place (`musttail`), of as many arguments.

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
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

@where = private constant [5 x i8] c"tadc\00"

define void @"tadc.torch.call"(ptr %stack, i64 %table.word, i64 %unused, i64 %unused2, ptr %unused3) {
begin:
  %table = inttoptr i64 %table.word to ptr
  %inputs = load i64, ptr %table
  %outputs.at = getelementptr %Table, ptr %table, i64 0, i32 1
  %outputs = load i64, ptr %outputs.at
  %made = alloca ptr, i64 %outputs
  %results.bytes = shl i64 %outputs, 3
  call void @llvm.memset.p0.i64(ptr %made, i8 0, i64 %results.bytes, i1 false)
  %code = call i64 @compute(ptr %stack, ptr %made, ptr %table)
  call void @let.go(ptr %stack, i64 %inputs)
  %is.well = icmp eq i64 %code, 0
  br i1 %is.well, label %well, label %failed
well:
  call void @llvm.memcpy.p0.p0.i64(ptr %stack, ptr %made, i64 %results.bytes, i1 false)
  ret void
failed:
  call void @let.go(ptr %made, i64 %outputs)
  %message = call ptr @message(ptr %table, i64 %code)
  %where = ptrtoint ptr @where to i64
  musttail call void @aoti_torch_check(ptr null, i64 %where, i64 %where, i64 1, ptr %message)
  ret void
}

; Let go of tensors, which may be null.
define internal void @let.go(ptr %tensors, i64 %count) noinline {
begin:
  br label %head
head:
  %n = phi i64 [ 0, %begin ], [ %next, %further ]
  %more = icmp slt i64 %n, %count
  br i1 %more, label %look, label %end
look:
  %at = getelementptr ptr, ptr %tensors, i64 %n
  %tensor = load ptr, ptr %at
  %is.none = icmp eq ptr %tensor, null
  br i1 %is.none, label %further, label %drop
drop:
  %dropped = call i32 @aoti_torch_delete_tensor_object(ptr %tensor)
  br label %further
further:
  %next = add i64 %n, 1
  br label %head
end:
  ret void
}

; Computes and returns 0, or the number of what is wrong; inputs stay those of the stack.
define internal i64 @compute(ptr %stack, ptr %made, ptr %table) noinline {
begin:
  %word = alloca i64
  %inputs = load i64, ptr %table
  %outputs.at = getelementptr %Table, ptr %table, i64 0, i32 1
  %outputs = load i64, ptr %outputs.at
  %extents.at = getelementptr %Table, ptr %table, i64 0, i32 2
  %extents = load i64, ptr %extents.at
  %dims = alloca i64, i64 %extents
  %result.extents.at = getelementptr %Table, ptr %table, i64 0, i32 3
  %result.extents = load i64, ptr %result.extents.at
  %shapes = alloca i64, i64 %result.extents
  %tensors = add i64 %inputs, %outputs
  %data = alloca ptr, i64 %tensors
  %about = getelementptr %Table, ptr %table, i64 0, i32 8, i64 0
  br label %shape.head

; The extents of all inputs, if types and numbers of dimensions are right.
shape.head:
  %n = phi i64 [ 0, %begin ], [ %n.next, %sized ]
  %dims.at = phi ptr [ %dims, %begin ], [ %dims.next, %sized ]
  %shape.left = icmp slt i64 %n, %inputs
  br i1 %shape.left, label %shape, label %told
shape:
  %tensor.at = getelementptr ptr, ptr %stack, i64 %n
  %tensor = load ptr, ptr %tensor.at
  %e0 = call i32 @aoti_torch_get_dtype(ptr %tensor, ptr %word)
  %its.type.half = load i32, ptr %word
  %its.type = sext i32 %its.type.half to i64
  %e1 = call i32 @aoti_torch_get_dim(ptr %tensor, ptr %word)
  %its.rank = load i64, ptr %word
  %mistake = call i64 @mistake(ptr %about, i64 %n, i64 %its.type, i64 %its.rank)
  %is.right = icmp eq i64 %mistake, 0
  br i1 %is.right, label %sized, label %wrong
wrong:
  ret i64 %mistake
sized:
  %e2 = call i32 @aoti_torch_get_sizes(ptr %tensor, ptr %word)
  %its.sizes = load ptr, ptr %word
  %dims.next = call ptr @put.extents(ptr %dims.at, ptr %its.sizes, i64 %its.rank)
  %n.next = add i64 %n, 1
  br label %shape.head

told:
  %tell.at = getelementptr %Table, ptr %table, i64 0, i32 5
  %tell = load ptr, ptr %tell.at
  %refused = call i64 %tell(ptr %dims, ptr %shapes)
  %is.told = icmp eq i64 %refused, 0
  br i1 %is.told, label %read.head, label %not.told
not.told:
  ret i64 %refused

; The addresses of all inputs.
read.head:
  %m = phi i64 [ 0, %told ], [ %m.next, %read.end ]
  %shape.at = phi ptr [ %dims, %told ], [ %shape.next, %read.end ]
  %read.left = icmp slt i64 %m, %inputs
  br i1 %read.left, label %read, label %make.head
read:
  %place = getelementptr ptr, ptr %stack, i64 %m
  %address.at = getelementptr ptr, ptr %data, i64 %m
  %m.about = getelementptr { i64, i64, i64 }, ptr %about, i64 %m
  %m.rank.at = getelementptr i64, ptr %m.about, i64 1
  %m.rank = load i64, ptr %m.rank.at
  %failed = call i32 @elements(ptr %place, ptr %shape.at, ptr %m.about, ptr %table, ptr %address.at)
  %is.read = icmp eq i32 %failed, 0
  br i1 %is.read, label %read.end, label %not.read
not.read:
  ret i64 3
read.end:
  %shape.next = getelementptr i64, ptr %shape.at, i64 %m.rank
  %m.next = add i64 %m, 1
  br label %read.head

; New tensors for the results, which the caller lets go of where something fails.
make.head:
  %o = phi i64 [ 0, %read.head ], [ %o.next, %make.end ]
  %o.shape = phi ptr [ %shapes, %read.head ], [ %o.shape.next, %make.end ]
  %make.left = icmp slt i64 %o, %outputs
  br i1 %make.left, label %make, label %run
make:
  %o.position = add i64 %inputs, %o
  %o.about = getelementptr { i64, i64, i64 }, ptr %about, i64 %o.position
  %o.rank.at = getelementptr i64, ptr %o.about, i64 1
  %o.rank = load i64, ptr %o.rank.at
  %new = call ptr @new.tensor(ptr %o.shape, ptr %o.about, ptr %table)
  %made.at = getelementptr ptr, ptr %made, i64 %o
  store ptr %new, ptr %made.at
  %is.none = icmp eq ptr %new, null
  br i1 %is.none, label %no.memory, label %make.end
no.memory:
  ret i64 2
make.end:
  %o.address.at = getelementptr ptr, ptr %data, i64 %o.position
  %e3 = call i32 @aoti_torch_get_data_ptr(ptr %new, ptr %o.address.at)
  %o.shape.next = getelementptr i64, ptr %o.shape, i64 %o.rank
  %o.next = add i64 %o, 1
  br label %make.head

run:
  %code = call i64 @run(ptr %table, ptr %data, ptr %dims)
  ret i64 %code
}

; A new tensor, row-major without gaps; null where there is none.
define internal ptr @new.tensor(ptr %shape, ptr %about, ptr %table) {
begin:
  %made = alloca ptr
  %type = load i64, ptr %about
  %element = trunc i64 %type to i32
  %rank.at = getelementptr i64, ptr %about, i64 1
  %rank = load i64, ptr %rank.at
  %device.at = getelementptr %Table, ptr %table, i64 0, i32 7
  %device.word = load i64, ptr %device.at
  %device = trunc i64 %device.word to i32
  %strides = alloca i64, i64 %rank
  br label %head
head:
  %left = phi i64 [ %rank, %begin ], [ %at, %more ]
  %stride = phi i64 [ 1, %begin ], [ %next, %more ]
  %is.done = icmp eq i64 %left, 0
  br i1 %is.done, label %make, label %more
more:
  %at = sub i64 %left, 1
  %place = getelementptr i64, ptr %strides, i64 %at
  store i64 %stride, ptr %place
  %extent.at = getelementptr i64, ptr %shape, i64 %at
  %extent = load i64, ptr %extent.at
  %is.empty = icmp eq i64 %extent, 0
  %counted = select i1 %is.empty, i64 1, i64 %extent
  %next = mul i64 %stride, %counted
  br label %head
make:
  %failed = call i32 @aoti_torch_empty_strided(
    i64 %rank, ptr %shape, ptr %strides, i32 %element, i32 %device, i32 -1, ptr %made)
  %tensor = load ptr, ptr %made
  %is.made = icmp eq i32 %failed, 0
  %found = select i1 %is.made, ptr %tensor, ptr null
  ret ptr %found
}

; The address of the elements of the tensor whose handle is at %place, which a copy without gaps takes the
; place of where the tensor has gaps or is not aligned. Returns 0 unless libtorch fails.
define internal i32 @elements(ptr %place, ptr %shape, ptr %about, ptr %table, ptr %address) {
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
  %mask.at = getelementptr i64, ptr %about, i64 2
  %mask = load i64, ptr %mask.at
  %beyond = and i64 %bits, %mask
  %is.aligned = icmp eq i64 %beyond, 0
  %is.dense = icmp ne i8 %contiguous, 0
  %as.it.is = and i1 %is.aligned, %is.dense
  br i1 %as.it.is, label %end, label %copy
copy:
  %new = call ptr @new.tensor(ptr %shape, ptr %about, ptr %table)
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
