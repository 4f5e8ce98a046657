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

; What is said of the number of what is wrong.
define internal ptr @message(ptr %table, i64 %number) {
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
