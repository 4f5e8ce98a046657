; Lists of numbers that a kernel computes for ROWS of their rows at a time, and where each of them is added to.
; T stands for a type of numbers; ROWS, RUNS, KERNEL, LOADED and ADDED for text that `added_blocks.py` makes.
;
; A part is so many rows, which are computed and added in their order; `slots` has a row for each one, with an
; element for each of its RUNS of numbers, which are added side by side from there on.
define void @tadc_added_blocks(ptr %about, i64 %first, i64 %last) {
entry:
LOADED
  %fits = sub i64 %count, ROWS
  br label %parts
parts:
  %part = phi i64 [ %first, %entry ], [ %part.next, %part.done ]
  %any.part = icmp slt i64 %part, %last
  br i1 %any.part, label %part.begin, label %done
part.begin:
  %begin.at = getelementptr i64, ptr %starts, i64 %part
  %begin = load i64, ptr %begin.at
  %end.at = getelementptr i64, ptr %begin.at, i64 1
  %end = load i64, ptr %end.at
  %room.offset = mul i64 %part, %room.bytes
  %room = getelementptr i8, ptr %rooms, i64 %room.offset
  br label %blocks
blocks:
  %row = phi i64 [ %begin, %part.begin ], [ %row.next, %block.done ]
  %any.row = icmp slt i64 %row, %end
  br i1 %any.row, label %block, label %part.done
block:
  ; The last block is moved back: rows before `row` were added before.
  %is.late = icmp slt i64 %fits, %row
  %at = select i1 %is.late, i64 %fits, i64 %row
KERNEL
  %row.next = add nsw i64 %row, ROWS
  %lane.first = sub i64 %row, %at
  %slots.row = mul nsw i64 %row, RUNS
  %slots.first = getelementptr i32, ptr %slots, i64 %slots.row
  br label %lanes
lanes:
  %lane = phi i64 [ %lane.first, %block ], [ %lane.next, %lane.done ]
  %slots.lane = phi ptr [ %slots.first, %block ], [ %slots.next, %lane.done ]
  %any.lane = icmp slt i64 %lane, ROWS
  br i1 %any.lane, label %lane.begin, label %block.done
lane.begin:
  %values = getelementptr T, ptr %room, i64 %lane
ADDED
  br label %lane.done
lane.done:
  %lane.next = add nsw i64 %lane, 1
  %slots.next = getelementptr i32, ptr %slots.lane, i64 RUNS
  br label %lanes
block.done:
  br label %blocks
part.done:
  %part.next = add nsw i64 %part, 1
  br label %parts
done:
  ret void
}

declare void @tadc_parallel(ptr, ptr, i64, i64, i64)

define void @tadc_added_parts(ptr %about, i64 %parts, i64 %operations) {
  call void @tadc_parallel(ptr @tadc_added_blocks, ptr %about, i64 %parts, i64 1, i64 %operations)
  ret void
}
