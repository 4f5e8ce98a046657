; `sums[slots[n]] += values[n]`, one after the other: the entries of a matrix, added where they stand.
; T stands for a type of numbers, NAME for what NumPy calls it.
define void @tadc_added_NAME(ptr noalias %values, ptr noalias %slots, i64 %count, ptr noalias %sums) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %value.at = getelementptr T, ptr %values, i64 %n
  %value = load T, ptr %value.at
  %slot.at = getelementptr i32, ptr %slots, i64 %n
  %slot = load i32, ptr %slot.at, align 4
  %wide = zext i32 %slot to i64
  %sum.at = getelementptr T, ptr %sums, i64 %wide
  %sum = load T, ptr %sum.at
  %more = fadd T %sum, %value
  store T %more, ptr %sum.at
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}
