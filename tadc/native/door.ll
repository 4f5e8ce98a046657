; What ways into a kernel from a framework do alike: their own files come behind this one.
;
; The table of a kernel is that of `door_table.py`; what is wrong is numbered from 1, in the order of
; `backend/runtime/call_checks.py`.

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

%Table = type { i64, i64, i64, i64, ptr, ptr, ptr, i64, [0 x { i64, i64, i64 }] }

; 0 where tensor %n has the type and the rank that the table says, or the number of what is wrong.
define internal i64 @mistake(ptr %tensors, i64 %n, i64 %its.type, i64 %its.rank) {
  %twice = shl i64 %n, 1
  %type.number = add i64 %twice, 4
  %type.at = getelementptr { i64, i64, i64 }, ptr %tensors, i64 %n
  %type = load i64, ptr %type.at
  %same.type = icmp eq i64 %its.type, %type
  br i1 %same.type, label %typed, label %wrong.type
wrong.type:
  ret i64 %type.number
typed:
  %rank.number = add i64 %twice, 5
  %rank.at = getelementptr i64, ptr %type.at, i64 1
  %rank = load i64, ptr %rank.at
  %same.rank = icmp eq i64 %its.rank, %rank
  %number = select i1 %same.rank, i64 0, i64 %rank.number
  ret i64 %number
}

; Who is shown calls in the place of kernels, a function of `watched_calls.py`; null where nobody watches.
@watcher = internal global ptr null

define void @"tadc.door.watch"(ptr %watcher) {
  store atomic ptr %watcher, ptr @watcher release, align 8
  ret void
}

; Run the kernel of a table: 0, or the number of what is wrong.
define internal i64 @run(ptr %table, ptr %data, ptr %dims) {
  %entry.at = getelementptr %Table, ptr %table, i64 0, i32 4
  %entry = load ptr, ptr %entry.at
  %watcher = load atomic ptr, ptr @watcher acquire, align 8
  %nobody = icmp eq ptr %watcher, null
  br i1 %nobody, label %alone, label %watched
alone:
  %code = call i64 %entry(ptr %data, ptr %dims)
  ret i64 %code
watched:
  %tell.at = getelementptr %Table, ptr %table, i64 0, i32 5
  %tell = load ptr, ptr %tell.at
  %shown = call i64 %watcher(ptr %entry, ptr %tell, ptr %data, ptr %dims)
  ret i64 %shown
}

; What is said of the number of what is wrong; one who watches calls gives the address of a text.
define internal ptr @message(ptr %table, i64 %number) {
  %is.number = icmp ult i64 %number, 65536
  br i1 %is.number, label %look, label %text
text:
  %said = inttoptr i64 %number to ptr
  ret ptr %said
look:
  %messages.at = getelementptr %Table, ptr %table, i64 0, i32 6
  %messages = load ptr, ptr %messages.at
  %place = sub i64 %number, 1
  %message.at = getelementptr ptr, ptr %messages, i64 %place
  %message = load ptr, ptr %message.at
  ret ptr %message
}

; Put the extents of a tensor at %dims; returns where the next ones come.
define internal ptr @put.extents(ptr %dims, ptr %extents, i64 %rank) {
  %bytes = shl i64 %rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %dims, ptr %extents, i64 %bytes, i1 false)
  %next = getelementptr i8, ptr %dims, i64 %bytes
  ret ptr %next
}
