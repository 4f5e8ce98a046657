; The largest of some integers of the type T, taken as unsigned, so that a negative one is larger than any index.
; They are copied as i32 where `to` is not null. WIDE has at least 32 bits; text stands for names in capitals.
define i64 @tadc_admit_NAME(ptr noalias %from, ptr noalias %to, i64 %count) {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %look, label %none
look:
  %copies = icmp ne ptr %to, null
  br i1 %copies, label %copy, label %read

read:
  %n = phi i64 [ 0, %look ], [ %n.next, %read ]
  %most = phi WIDE [ 0, %look ], [ %most.next, %read ]
  %n.at = getelementptr T, ptr %from, i64 %n
  %n.there = load T, ptr %n.at
  %n.value = EXTEND T %n.there to WIDE
  %most.next = call WIDE @llvm.umax.WIDE(WIDE %most, WIDE %n.value)
  %n.next = add nuw nsw i64 %n, 1
  %n.more = icmp slt i64 %n.next, %count
  br i1 %n.more, label %read, label %done

copy:
  %m = phi i64 [ 0, %look ], [ %m.next, %copy ]
  %top = phi WIDE [ 0, %look ], [ %top.next, %copy ]
  %m.at = getelementptr T, ptr %from, i64 %m
  %m.there = load T, ptr %m.at
  %m.value = EXTEND T %m.there to WIDE
  %top.next = call WIDE @llvm.umax.WIDE(WIDE %top, WIDE %m.value)
  %m.index = NARROW WIDE %m.value to i32
  %m.to = getelementptr i32, ptr %to, i64 %m
  store i32 %m.index, ptr %m.to, align 4
  %m.next = add nuw nsw i64 %m, 1
  %m.more = icmp slt i64 %m.next, %count
  br i1 %m.more, label %copy, label %done

done:
  %found = phi WIDE [ %most.next, %read ], [ %top.next, %copy ]
  %result = RESULT WIDE %found to i64
  ret i64 %result
none:
  ret i64 0
}

; Whether some integers of the type T are those that an array of i32 has, all of them from 0 on.
define i64 @tadc_same_NAME(ptr noalias %from, ptr noalias %kept, i64 %count) {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %look, label %none

look:
  %n = phi i64 [ 0, %entry ], [ %n.next, %look ]
  %other = phi WIDE [ 0, %entry ], [ %other.next, %look ]
  %at = getelementptr T, ptr %from, i64 %n
  %there = load T, ptr %at
  %value = EXTEND T %there to WIDE
  %kept.at = getelementptr i32, ptr %kept, i64 %n
  %kept.there = load i32, ptr %kept.at
  %kept.value = BROAD i32 %kept.there to WIDE
  %differs = xor WIDE %value, %kept.value
  %other.next = or WIDE %other, %differs
  %n.next = add nuw nsw i64 %n, 1
  %more = icmp slt i64 %n.next, %count
  br i1 %more, label %look, label %done

done:
  %same = icmp eq WIDE %other.next, 0
  %result = zext i1 %same to i64
  ret i64 %result
none:
  ret i64 1
}

; A body of `tadc_parallel`: `args` are the two arrays, and a number that becomes 1 where elements from `begin`
; to `end` differ.
define void @tadc_compare_NAME(ptr %args, i64 %begin, i64 %end) {
entry:
  %kept.at = getelementptr i64, ptr %args, i64 1
  %differs.at = getelementptr i64, ptr %args, i64 2
  %from = load ptr, ptr %args
  %kept = load ptr, ptr %kept.at
  %first = getelementptr T, ptr %from, i64 %begin
  %first.kept = getelementptr i32, ptr %kept, i64 %begin
  %count = sub i64 %end, %begin
  %same = call i64 @tadc_same_NAME(ptr %first, ptr %first.kept, i64 %count)
  %is_same = icmp ne i64 %same, 0
  br i1 %is_same, label %done, label %other
other:
  store atomic i64 1, ptr %differs.at monotonic, align 8
  br label %done
done:
  ret void
}
