; Calls of kernels from Python that need no more than a look at their arguments: `tadc_call`, a function of
; CPython's kind METH_FASTCALL. `backend/runtime/direct_calls.py` makes one for each plan of a kernel.
;
; Its `self` is an array of i64, the plan: the kernel, what passes it its arguments, how many objects a call
; gives, how many of them are inputs, how many temporaries and sizes there are, the types of arrays and of
; Python's floats; then how many bytes temporaries take, where each starts, the sizes, then of each array the
; kernel takes: its element type, the type of NumPy's numbers that can stand for it or 0, the flags it must
; have, its bytes, its rank, its extents.
;
; A call gives the inputs, the outputs. Returns True if the kernel has run; False, and nothing is done, where an object is not as the plan says or an output shares memory with another array.

declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyBool_FromLong(i64)
declare double @llvm.fabs.f64(double)
declare ptr @"tadc.scratch.take"(i64)
declare void @"tadc.scratch.give"(ptr)

define ptr @tadc_call(ptr %self, ptr %objects, i64 %given) {
entry:
  %places = alloca [128 x ptr], align 16
  %ends = alloca [128 x ptr], align 16
  %numbers = alloca [128 x float], align 16
  %plan.at = getelementptr i8, ptr %self, i64 16
  %plan = load ptr, ptr %plan.at
  %kernel = load ptr, ptr %plan
  %pass.at = getelementptr i64, ptr %plan, i64 1
  %pass = load ptr, ptr %pass.at
  %objects.at = getelementptr i64, ptr %plan, i64 2
  %arrays = load i64, ptr %objects.at
  %inputs.at = getelementptr i64, ptr %plan, i64 3
  %inputs = load i64, ptr %inputs.at
  %temporaries.at = getelementptr i64, ptr %plan, i64 4
  %temporaries = load i64, ptr %temporaries.at
  %sizes.at = getelementptr i64, ptr %plan, i64 5
  %sizes = load i64, ptr %sizes.at
  %array.type.at = getelementptr i64, ptr %plan, i64 6
  %array.type = load ptr, ptr %array.type.at
  %float.type.at = getelementptr i64, ptr %plan, i64 7
  %float.type = load ptr, ptr %float.type.at
  %room.at = getelementptr i64, ptr %plan, i64 8
  %room = load i64, ptr %room.at
  %offsets = getelementptr i64, ptr %plan, i64 9
  %values = getelementptr i64, ptr %offsets, i64 %temporaries
  %first = getelementptr i64, ptr %values, i64 %sizes
  %as.many = icmp eq i64 %given, %arrays
  br i1 %as.many, label %objects.head, label %no

objects.head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %fits ]
  %about = phi ptr [ %first, %entry ], [ %about.next, %fits ]
  %more = icmp slt i64 %n, %arrays
  br i1 %more, label %object.look, label %outputs.head
object.look:
  %object.at = getelementptr ptr, ptr %objects, i64 %n
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %content = getelementptr i8, ptr %object, i64 16
  %element = load ptr, ptr %about
  %number.at = getelementptr i64, ptr %about, i64 1
  %number = load ptr, ptr %number.at
  %flags.at = getelementptr i64, ptr %about, i64 2
  %flags = load i64, ptr %flags.at
  %bytes.at = getelementptr i64, ptr %about, i64 3
  %bytes = load i64, ptr %bytes.at
  %rank.at = getelementptr i64, ptr %about, i64 4
  %rank = load i64, ptr %rank.at
  %extents = getelementptr i64, ptr %about, i64 5
  %about.next = getelementptr i64, ptr %extents, i64 %rank
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %array, label %scalar

array:
  %its.element.at = getelementptr i8, ptr %object, i64 56
  %its.element = load ptr, ptr %its.element.at
  %its.flags.at = getelementptr i8, ptr %object, i64 64
  %its.flags.half = load i32, ptr %its.flags.at
  %its.flags = zext i32 %its.flags.half to i64
  %its.rank.at = getelementptr i8, ptr %object, i64 24
  %its.rank.half = load i32, ptr %its.rank.at
  %its.rank = zext i32 %its.rank.half to i64
  %its.extents.at = getelementptr i8, ptr %object, i64 32
  %its.extents = load ptr, ptr %its.extents.at
  %data = load ptr, ptr %content
  %has = and i64 %its.flags, %flags
  %same.element = icmp eq ptr %element, %its.element
  %same.flags = icmp eq i64 %has, %flags
  %same.rank = icmp eq i64 %rank, %its.rank
  %same.kind = and i1 %same.element, %same.flags
  %same = and i1 %same.kind, %same.rank
  br i1 %same, label %extents.head, label %no
extents.head:
  %d = phi i64 [ 0, %array ], [ %d.next, %extent ]
  %extents.left = icmp slt i64 %d, %rank
  br i1 %extents.left, label %extent, label %fits
extent:
  %extent.at = getelementptr i64, ptr %extents, i64 %d
  %wanted = load i64, ptr %extent.at
  %its.extent.at = getelementptr i64, ptr %its.extents, i64 %d
  %found = load i64, ptr %its.extent.at
  %d.next = add i64 %d, 1
  %same.extent = icmp eq i64 %wanted, %found
  br i1 %same.extent, label %extents.head, label %no

; NumPy's numbers and Python's floats hold their value where arrays hold their address.
scalar:
  %takes.numbers = icmp ne ptr %number, null
  br i1 %takes.numbers, label %scalar.type, label %no
scalar.type:
  %is.number = icmp eq ptr %type, %number
  br i1 %is.number, label %fits, label %python
python:
  %is.float = icmp eq ptr %type, %float.type
  br i1 %is.float, label %float.width, label %no
float.width:
  %is.double = icmp eq i64 %bytes, 8
  br i1 %is.double, label %fits, label %narrow
narrow:
  %value = load double, ptr %content
  %size = call double @llvm.fabs.f64(double %value)
  ; The largest f32: what is beyond, or no number, is looked at by the other path.
  %is.held = fcmp ole double %size, 0x47EFFFFFE0000000
  br i1 %is.held, label %rounded, label %no
rounded:
  %single = fptrunc double %value to float
  %single.at = getelementptr float, ptr %numbers, i64 %n
  store float %single, ptr %single.at
  br label %fits

fits:
  %place = phi ptr [ %data, %extents.head ], [ %content, %scalar.type ], [ %content, %float.width ], [ %single.at, %rounded ]
  %place.at = getelementptr ptr, ptr %places, i64 %n
  store ptr %place, ptr %place.at
  %end = getelementptr i8, ptr %place, i64 %bytes
  %end.at = getelementptr ptr, ptr %ends, i64 %n
  store ptr %end, ptr %end.at
  %n.next = add i64 %n, 1
  br label %objects.head

; No output has a byte in common with an array before it.
outputs.head:
  %o = phi i64 [ %inputs, %objects.head ], [ %o.next, %outputs.next ]
  %outputs.left = icmp slt i64 %o, %arrays
  br i1 %outputs.left, label %output, label %memory
output:
  %o.place.at = getelementptr ptr, ptr %places, i64 %o
  %o.place = load ptr, ptr %o.place.at
  %o.end.at = getelementptr ptr, ptr %ends, i64 %o
  %o.end = load ptr, ptr %o.end.at
  br label %others.head
others.head:
  %m = phi i64 [ 0, %output ], [ %m.next, %others.next ]
  %others.left = icmp slt i64 %m, %o
  br i1 %others.left, label %other, label %outputs.next
other:
  %m.place.at = getelementptr ptr, ptr %places, i64 %m
  %m.place = load ptr, ptr %m.place.at
  %m.end.at = getelementptr ptr, ptr %ends, i64 %m
  %m.end = load ptr, ptr %m.end.at
  %below = icmp ule ptr %o.end, %m.place
  %above = icmp ule ptr %m.end, %o.place
  %apart = or i1 %below, %above
  %o.empty = icmp eq ptr %o.place, %o.end
  %m.empty = icmp eq ptr %m.place, %m.end
  %empty = or i1 %o.empty, %m.empty
  %free = or i1 %apart, %empty
  br i1 %free, label %others.next, label %no
others.next:
  %m.next = add i64 %m, 1
  br label %others.head
outputs.next:
  %o.next = add i64 %o, 1
  br label %outputs.head

memory:
  %needs = icmp ne i64 %temporaries, 0
  br i1 %needs, label %take, label %temporaries.head
take:
  %taken = call ptr @"tadc.scratch.take"(i64 %room)
  %is.none = icmp eq ptr %taken, null
  br i1 %is.none, label %no, label %temporaries.head

temporaries.head:
  %t = phi i64 [ 0, %memory ], [ 0, %take ], [ %t.next, %temporary ]
  %block = phi ptr [ null, %memory ], [ %taken, %take ], [ %block, %temporary ]
  %temporaries.left = icmp slt i64 %t, %temporaries
  br i1 %temporaries.left, label %temporary, label %sizes.head
temporary:
  %offset.at = getelementptr i64, ptr %offsets, i64 %t
  %offset = load i64, ptr %offset.at
  %there = getelementptr i8, ptr %block, i64 %offset
  %t.position = add i64 %arrays, %t
  %there.at = getelementptr i64, ptr %places, i64 %t.position
  store ptr %there, ptr %there.at
  %t.next = add i64 %t, 1
  br label %temporaries.head

sizes.head:
  %s = phi i64 [ 0, %temporaries.head ], [ %s.next, %size.put ]
  %sizes.left = icmp slt i64 %s, %sizes
  br i1 %sizes.left, label %size.put, label %run
size.put:
  %value.at = getelementptr i64, ptr %values, i64 %s
  %size.value = load i64, ptr %value.at
  %before = add i64 %arrays, %temporaries
  %s.position = add i64 %before, %s
  %s.at = getelementptr i64, ptr %places, i64 %s.position
  store i64 %size.value, ptr %s.at
  %s.next = add i64 %s, 1
  br label %sizes.head

run:
  %thread = call ptr @PyEval_SaveThread()
  call void %pass(ptr %kernel, ptr %places)
  call void @PyEval_RestoreThread(ptr %thread)
  br i1 %needs, label %give, label %done
give:
  call void @"tadc.scratch.give"(ptr %block)
  br label %done
done:
  %yes = call ptr @PyBool_FromLong(i64 1)
  ret ptr %yes
no:
  %refused = call ptr @PyBool_FromLong(i64 0)
  ret ptr %refused
}
