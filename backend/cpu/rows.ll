; The row at a place where threads divide rows by how long they are: row r begins at the place
; `starts[r] - starts[0] + r`, as each costs something by itself. `starts` increase, and are one more than `rows`.
; It is a multiple of `multiple`, or `rows`.
define internal i64 @tadc_row_at(ptr noalias readonly %starts, i64 %rows, i64 %multiple, i64 %place) {
entry:
  %first.narrow = load i32, ptr %starts, align 4
  %first = zext i32 %first.narrow to i64
  br label %head
head:
  %low = phi i64 [ 0, %entry ], [ %low.next, %look ]
  %high = phi i64 [ %rows, %entry ], [ %high.next, %look ]
  %left = icmp slt i64 %low, %high
  br i1 %left, label %look, label %found
look:
  %sum = add i64 %low, %high
  %row = lshr i64 %sum, 1
  %start.at = getelementptr i32, ptr %starts, i64 %row
  %start.narrow = load i32, ptr %start.at, align 4
  %start = zext i32 %start.narrow to i64
  %elements = sub i64 %start, %first
  %begin = add i64 %elements, %row
  %before = icmp slt i64 %begin, %place
  %after = add i64 %row, 1
  %low.next = select i1 %before, i64 %after, i64 %low
  %high.next = select i1 %before, i64 %high, i64 %row
  br label %head
found:
  %more = urem i64 %low, %multiple
  %even = sub i64 %low, %more
  %is.end = icmp eq i64 %low, %rows
  %result = select i1 %is.end, i64 %low, i64 %even
  ret i64 %result
}
