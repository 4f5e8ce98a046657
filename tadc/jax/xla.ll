; XLA's foreign function interface: one handler for all kernels.
;
; XLA calls it with a frame, which says where the elements of arguments and results are, and their extents
; (`xla/ffi/api/c_api.h`, which comes with jaxlib). Each structure begins with its size: what is read of a
; structure is below that. Major version 0 of the interface adds fields at the ends of structures, and changes
; no offset that is used here (minor versions 0 to 3 were looked at).
;
; A call carries the number of its kernel and its program; where it says so, the last argument is a vector of
; 32-bit numbers, which are the extents of the kernel's last one behind a first of 0. `@tadc.xla` looks the
; number up in a table; where it is not there, as in a process that has read an exported program, a callback
; compiles the program. Of each kernel there is a table of `native/door_table.py`, which functions of
; `native/door.ll` read. `@tadc.install` tells of the kernels, of the callback, and of the version that a
; question for it is answered with.
;
; Codes of XLA_FFI_Error: 3 for an invalid argument, 8 for exhausted resources, 13 for errors of our own.

@old = private constant [44 x i8] c"tadc: this version of XLA passes too little\00"
@odd = private constant [27 x i8] c"tadc: a call has no kernel\00"
@kernels = internal global ptr null
@missing = internal global ptr null
@version = internal global [2 x i32] zeroinitializer

define void @"tadc.install"(ptr %table, ptr %missing, i32 %major, i32 %minor) {
  store i32 %major, ptr @version
  %minor.at = getelementptr i32, ptr @version, i64 1
  store i32 %minor, ptr %minor.at
  store atomic ptr %missing, ptr @missing release, align 8
  store atomic ptr %table, ptr @kernels release, align 8
  ret void
}

define ptr @"tadc.xla"(ptr %frame) {
begin:
  %message = alloca [1024 x i8]
  %size = load i64, ptr %frame
  %extension.at = getelementptr i8, ptr %frame, i64 8
  %first = load ptr, ptr %extension.at
  br label %extension
extension:
  %this = phi ptr [ %first, %begin ], [ %next, %further ]
  %is.last = icmp eq ptr %this, null
  br i1 %is.last, label %call, label %look
look:
  %type.at = getelementptr i8, ptr %this, i64 8
  %type = load i32, ptr %type.at
  %is.question = icmp eq i32 %type, 1
  br i1 %is.question, label %question, label %further
further:
  %next.at = getelementptr i8, ptr %this, i64 16
  %next = load ptr, ptr %next.at
  br label %extension
question:
  %answer.at = getelementptr i8, ptr %this, i64 24
  %answer = load ptr, ptr %answer.at
  %answer.size = load i64, ptr %answer
  %has.room = icmp uge i64 %answer.size, 36
  br i1 %has.room, label %tell, label %told
tell:
  %major.at = getelementptr i8, ptr %answer, i64 24
  %minor.at = getelementptr i8, ptr %answer, i64 28
  %traits.at = getelementptr i8, ptr %answer, i64 32
  %major = load i32, ptr @version
  store i32 %major, ptr %major.at
  %own.minor.at = getelementptr i32, ptr @version, i64 1
  %minor = load i32, ptr %own.minor.at
  store i32 %minor, ptr %minor.at
  store i32 0, ptr %traits.at
  br label %told
told:
  ret ptr null
call:
  ; What is read below ends at byte 168.
  %is.whole = icmp uge i64 %size, 168
  br i1 %is.whole, label %attributes, label %small
small:
  %e0 = call ptr @fail(ptr %frame, i32 13, ptr @old)
  ret ptr %e0
attributes:
  %count.at = getelementptr i8, ptr %frame, i64 136
  %count = load i64, ptr %count.at
  %has.two = icmp eq i64 %count, 2
  %is.told = icmp eq i64 %count, 3
  %has.all = or i1 %has.two, %is.told
  br i1 %has.all, label %kinds, label %nameless
kinds:
  ; In the order of their names: the number `kernel`, the text `program` and, if it is there, `told`.
  %kinds.at = getelementptr i8, ptr %frame, i64 144
  %kinds.of = load ptr, ptr %kinds.at
  %both = load i64, ptr %kinds.of, align 4
  %is.right = icmp eq i64 %both, 17179869187
  br i1 %is.right, label %number, label %nameless
nameless:
  %e1 = call ptr @fail(ptr %frame, i32 3, ptr @odd)
  ret ptr %e1
number:
  %values.at = getelementptr i8, ptr %frame, i64 160
  %values = load ptr, ptr %values.at
  %scalar = load ptr, ptr %values
  %number.at = getelementptr i8, ptr %scalar, i64 8
  %number.of = load ptr, ptr %number.at
  %key = load i64, ptr %number.of
  ; The number of places less 1, nothing, then a key and a table for each.
  %table = load atomic ptr, ptr @kernels acquire, align 8
  %mask = load i64, ptr %table
  br label %probe
probe:
  %turn = phi i64 [ %key, %number ], [ %after, %other ]
  %place = and i64 %turn, %mask
  %before = shl i64 %place, 4
  %in = getelementptr i8, ptr %table, i64 16
  %entry = getelementptr i8, ptr %in, i64 %before
  %door.at = getelementptr i8, ptr %entry, i64 8
  %door = load ptr, ptr %door.at
  %is.free = icmp eq ptr %door, null
  br i1 %is.free, label %missing, label %compare
compare:
  %here = load i64, ptr %entry
  %is.it = icmp eq i64 %here, %key
  br i1 %is.it, label %found, label %other
other:
  %after = add i64 %place, 1
  br label %probe
found:
  %done = tail call ptr @"tadc.xla.run"(ptr %frame, ptr %door, i1 %is.told)
  ret ptr %done
missing:
  %second = getelementptr ptr, ptr %values, i64 1
  %text = load ptr, ptr %second
  %start = load ptr, ptr %text
  %length.at = getelementptr i8, ptr %text, i64 8
  %length = load i64, ptr %length.at
  %compile = load atomic ptr, ptr @missing acquire, align 8
  %made = call ptr %compile(i64 %key, ptr %start, i64 %length, ptr %message)
  %is.not = icmp eq ptr %made, null
  br i1 %is.not, label %failed, label %compiled
failed:
  %e2 = call ptr @fail(ptr %frame, i32 13, ptr %message)
  ret ptr %e2
compiled:
  %now = tail call ptr @"tadc.xla.run"(ptr %frame, ptr %made, i1 %is.told)
  ret ptr %now
}

; Take a frame apart and call a kernel: null, or an error of XLA.
define ptr @"tadc.xla.run"(ptr %frame, ptr %table, i1 %is.told) {
begin:
  %inputs = load i64, ptr %table
  %outputs.at = getelementptr %Table, ptr %table, i64 0, i32 1
  %outputs = load i64, ptr %outputs.at
  %extents.at = getelementptr %Table, ptr %table, i64 0, i32 2
  %extents = load i64, ptr %extents.at
  %result.extents.at = getelementptr %Table, ptr %table, i64 0, i32 3
  %result.extents = load i64, ptr %result.extents.at
  %tensors = add i64 %inputs, %outputs
  %data = alloca ptr, i64 %tensors
  %dims = alloca i64, i64 %extents
  %shapes = alloca i64, i64 %result.extents
  %about = getelementptr %Table, ptr %table, i64 0, i32 8, i64 0
  %arguments = getelementptr i8, ptr %frame, i64 56
  %wrong.argument = call i64 @read(ptr %arguments, i64 %inputs, ptr %about, ptr %data, ptr %dims, i1 %is.told)
  %are.read = icmp eq i64 %wrong.argument, 0
  br i1 %are.read, label %results, label %failed
results:
  %returned = getelementptr i8, ptr %frame, i64 96
  %result.about = getelementptr { i64, i64, i64 }, ptr %about, i64 %inputs
  %result.data = getelementptr ptr, ptr %data, i64 %inputs
  %wrong.result = call i64 @read(ptr %returned, i64 %outputs, ptr %result.about, ptr %result.data, ptr %shapes, i1 false)
  %are.there = icmp eq i64 %wrong.result, 0
  br i1 %are.there, label %compute, label %failed
compute:
  %found = call i64 @run(ptr %table, ptr %data, ptr %dims)
  %is.well = icmp eq i64 %found, 0
  br i1 %is.well, label %well, label %failed
well:
  ret ptr null
failed:
  %number = phi i64 [ %wrong.argument, %begin ], [ 3, %results ], [ %found, %compute ]
  %twice = shl i64 %inputs, 1
  %last = add i64 %twice, 3
  %from.third = icmp uge i64 %number, 3
  %to.last = icmp ule i64 %number, %last
  %is.ours = and i1 %from.third, %to.last
  %is.memory = icmp eq i64 %number, 2
  %of.memory = select i1 %is.memory, i32 8, i32 3
  %code = select i1 %is.ours, i32 13, i32 %of.memory
  %message = call ptr @message(ptr %table, i64 %number)
  %error = call ptr @fail(ptr %frame, i32 %code, ptr %message)
  ret ptr %error
}

; The addresses and the extents of so many buffers, or the number of what is wrong. %list has their number
; and, 16 bytes behind, where they are. If %is.told, the elements of the last one are extents.
define internal i64 @read(ptr %list, i64 %count, ptr %about, ptr %data, ptr %dims, i1 %is.told) {
begin:
  %given = load i64, ptr %list
  %as.many = icmp eq i64 %given, %count
  br i1 %as.many, label %there, label %other
there:
  %buffers.at = getelementptr i8, ptr %list, i64 16
  %buffers = load ptr, ptr %buffers.at
  br label %head
head:
  %n = phi i64 [ 0, %there ], [ %n.next, %after ]
  %dims.at = phi ptr [ %dims, %there ], [ %dims.next, %after ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %look, label %done
look:
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %n
  %buffer = load ptr, ptr %buffer.at
  %size = load i64, ptr %buffer
  %is.whole = icmp uge i64 %size, 48
  br i1 %is.whole, label %typed, label %other
typed:
  %its.type.at = getelementptr i8, ptr %buffer, i64 16
  %its.type.half = load i32, ptr %its.type.at
  %its.type = zext i32 %its.type.half to i64
  %its.rank.at = getelementptr i8, ptr %buffer, i64 32
  %its.rank = load i64, ptr %its.rank.at
  %elements.at = getelementptr i8, ptr %buffer, i64 24
  %elements = load ptr, ptr %elements.at
  %place = getelementptr ptr, ptr %data, i64 %n
  %extents.at = getelementptr i8, ptr %buffer, i64 40
  %extents = load ptr, ptr %extents.at
  %n.next = add i64 %n, 1
  %is.last = icmp eq i64 %n.next, %count
  %is.numbers = and i1 %is.last, %is.told
  br i1 %is.numbers, label %numbers, label %plain
plain:
  %mistake = call i64 @mistake(ptr %about, i64 %n, i64 %its.type, i64 %its.rank)
  %is.right = icmp eq i64 %mistake, 0
  br i1 %is.right, label %placed, label %wrong
wrong:
  ret i64 %mistake
placed:
  store ptr %elements, ptr %place
  %dims.behind = call ptr @put.extents(ptr %dims.at, ptr %extents, i64 %its.rank)
  br label %after
numbers:
  ; A vector (rank 1) of type 4, which is s32, has one number less than the kernel's argument has dimensions.
  %is.vector = icmp eq i64 %its.rank, 1
  %is.s32 = icmp eq i64 %its.type, 4
  %is.fit = and i1 %is.vector, %is.s32
  br i1 %is.fit, label %counted, label %other
counted:
  %many = load i64, ptr %extents
  %rank = add i64 %many, 1
  %about.at = getelementptr { i64, i64, i64 }, ptr %about, i64 %n, i32 1
  %wanted = load i64, ptr %about.at
  %as.wanted = icmp eq i64 %rank, %wanted
  br i1 %as.wanted, label %extend, label %other
extend:
  store ptr null, ptr %place
  store i64 0, ptr %dims.at
  %dims.told = getelementptr i64, ptr %dims.at, i64 %rank
  br label %number
number:
  %m = phi i64 [ 0, %extend ], [ %m.next, %put ]
  %is.more = icmp slt i64 %m, %many
  br i1 %is.more, label %put, label %after
put:
  %from = getelementptr i32, ptr %elements, i64 %m
  %value = load i32, ptr %from
  %wide = sext i32 %value to i64
  %m.next = add i64 %m, 1
  %to = getelementptr i64, ptr %dims.at, i64 %m.next
  store i64 %wide, ptr %to
  br label %number
after:
  %dims.next = phi ptr [ %dims.behind, %placed ], [ %dims.told, %number ]
  br label %head
done:
  ret i64 0
other:
  ret i64 3
}

define internal ptr @fail(ptr %frame, i32 %code, ptr %message) noinline {
  %error = alloca { i64, ptr, ptr, i32 }
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %create.at = getelementptr i8, ptr %api, i64 48
  %create = load ptr, ptr %create.at
  %message.at = getelementptr i8, ptr %error, i64 16
  %code.at = getelementptr i8, ptr %error, i64 24
  %extension.at = getelementptr i8, ptr %error, i64 8
  store i64 28, ptr %error
  store ptr null, ptr %extension.at
  store ptr %message, ptr %message.at
  store i32 %code, ptr %code.at
  %made = call ptr %create(ptr %error)
  ret ptr %made
}
