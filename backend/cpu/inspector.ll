; What is made of index arrays, whose elements are i32 and row-major without gaps. Each function takes time
; and memory in proportion to what it reads and writes, and computes the same on every machine.
; `backend/runtime/inspector.py` calls them from Python.

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; 1 where an element is less than the one before, else 0.
define i64 @tadc_falls(ptr noalias %array, i64 %count) {
entry:
  %pairs = sub i64 %count, 1
  %some = icmp sgt i64 %pairs, 0
  br i1 %some, label %loop, label %none
loop:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %any = phi i1 [ false, %entry ], [ %any.next, %loop ]
  %n.next = add nuw nsw i64 %n, 1
  %one.at = getelementptr i32, ptr %array, i64 %n
  %two.at = getelementptr i32, ptr %array, i64 %n.next
  %one = load i32, ptr %one.at, align 4
  %two = load i32, ptr %two.at, align 4
  %less = icmp slt i32 %two, %one
  %any.next = or i1 %any, %less
  %more = icmp slt i64 %n.next, %pairs
  br i1 %more, label %loop, label %done
done:
  %found = zext i1 %any.next to i64
  ret i64 %found
none:
  ret i64 0
}

; A stable counting sort: `places` becomes the places in the order of the keys, places of equal keys in the
; order given, and `starts`, of `below + 1` elements, how many keys are less than 0, 1, …, `below`. `order` is
; null where the order given is 0, 1, 2, ….
define void @tadc_sort(ptr noalias %keys, ptr noalias %order, i64 %count, i64 %below, ptr noalias %starts, ptr noalias %places) {
entry:
  %ends = add i64 %below, 1
  %bytes = mul i64 %ends, 4
  call void @llvm.memset.p0.i64(ptr %starts, i8 0, i64 %bytes, i1 false)
  %behind = getelementptr i32, ptr %starts, i64 1
  br label %tally.head

tally.head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %tally ]
  %tally.left = icmp slt i64 %n, %count
  br i1 %tally.left, label %tally, label %sum.head
tally:
  %n.key.at = getelementptr i32, ptr %keys, i64 %n
  %n.key = load i32, ptr %n.key.at, align 4
  %n.cell = zext i32 %n.key to i64
  %n.cell.at = getelementptr i32, ptr %behind, i64 %n.cell
  %n.tally = load i32, ptr %n.cell.at, align 4
  %n.more = add i32 %n.tally, 1
  store i32 %n.more, ptr %n.cell.at, align 4
  %n.next = add nuw nsw i64 %n, 1
  br label %tally.head

sum.head:
  %v = phi i64 [ 0, %tally.head ], [ %v.next, %sum ]
  %before = phi i32 [ 0, %tally.head ], [ %until, %sum ]
  %sum.left = icmp slt i64 %v, %ends
  br i1 %sum.left, label %sum, label %order.look
sum:
  %v.at = getelementptr i32, ptr %starts, i64 %v
  %v.tally = load i32, ptr %v.at, align 4
  %until = add i32 %before, %v.tally
  store i32 %until, ptr %v.at, align 4
  %v.next = add nuw nsw i64 %v, 1
  br label %sum.head

order.look:
  %has.order = icmp ne ptr %order, null
  br label %place.head
place.head:
  %q = phi i64 [ 0, %order.look ], [ %q.next, %put ]
  %place.left = icmp slt i64 %q, %count
  br i1 %place.left, label %place, label %back.head
place:
  br i1 %has.order, label %ordered, label %put
ordered:
  %e.at = getelementptr i32, ptr %order, i64 %q
  %e.there = load i32, ptr %e.at, align 4
  %e.wide = zext i32 %e.there to i64
  br label %put
put:
  %e = phi i64 [ %q, %place ], [ %e.wide, %ordered ]
  %key.at = getelementptr i32, ptr %keys, i64 %e
  %key = load i32, ptr %key.at, align 4
  %cell = zext i32 %key to i64
  %cell.at = getelementptr i32, ptr %starts, i64 %cell
  %next = load i32, ptr %cell.at, align 4
  %next.wide = zext i32 %next to i64
  %there = getelementptr i32, ptr %places, i64 %next.wide
  %e.narrow = trunc i64 %e to i32
  store i32 %e.narrow, ptr %there, align 4
  %next.more = add i32 %next, 1
  store i32 %next.more, ptr %cell.at, align 4
  %q.next = add nuw nsw i64 %q, 1
  br label %place.head

; Each start has moved on to the next one.
back.head:
  %b = phi i64 [ %below, %place.head ], [ %b.less, %back ]
  %back.left = icmp sgt i64 %b, 0
  br i1 %back.left, label %back, label %done
back:
  %b.less = sub i64 %b, 1
  %b.from = getelementptr i32, ptr %starts, i64 %b.less
  %b.to = getelementptr i32, ptr %starts, i64 %b
  %b.value = load i32, ptr %b.from, align 4
  store i32 %b.value, ptr %b.to, align 4
  br label %back.head
done:
  store i32 0, ptr %starts, align 4
  ret void
}

; `cells[n] = cells[n] * factor + array[n]`, of 64 bits: the number of a cell whose subscripts arrays hold.
define void @tadc_cells(ptr noalias %cells, ptr noalias %array, i64 %count, i64 %factor) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %cell.at = getelementptr i64, ptr %cells, i64 %n
  %cell = load i64, ptr %cell.at, align 8
  %value.at = getelementptr i32, ptr %array, i64 %n
  %value = load i32, ptr %value.at, align 4
  %wide = zext i32 %value to i64
  %scaled = mul i64 %cell, %factor
  %made = add i64 %scaled, %wide
  store i64 %made, ptr %cell.at, align 8
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `starts[c]`, of `all` elements, becomes how many of the cells are less than `c`; none is `all - 1`.
define void @tadc_starts(ptr noalias %cells, i64 %count, ptr noalias %starts, i64 %all) {
entry:
  %bytes = mul i64 %all, 4
  call void @llvm.memset.p0.i64(ptr %starts, i8 0, i64 %bytes, i1 false)
  %behind = getelementptr i32, ptr %starts, i64 1
  br label %tally.head
tally.head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %tally ]
  %tally.left = icmp slt i64 %n, %count
  br i1 %tally.left, label %tally, label %sum.head
tally:
  %cell.at = getelementptr i64, ptr %cells, i64 %n
  %cell = load i64, ptr %cell.at, align 8
  %tally.at = getelementptr i32, ptr %behind, i64 %cell
  %tally.old = load i32, ptr %tally.at, align 4
  %tally.new = add i32 %tally.old, 1
  store i32 %tally.new, ptr %tally.at, align 4
  %n.next = add nuw nsw i64 %n, 1
  br label %tally.head
sum.head:
  %v = phi i64 [ 0, %tally.head ], [ %v.next, %sum ]
  %before = phi i32 [ 0, %tally.head ], [ %until, %sum ]
  %sum.left = icmp slt i64 %v, %all
  br i1 %sum.left, label %sum, label %done
sum:
  %v.at = getelementptr i32, ptr %starts, i64 %v
  %v.tally = load i32, ptr %v.at, align 4
  %until = add i32 %before, %v.tally
  store i32 %until, ptr %v.at, align 4
  %v.next = add nuw nsw i64 %v, 1
  br label %sum.head
done:
  ret void
}

; One subscript of each place in an array: `to[n] = places[n] / stride % extent`.
define void @tadc_subscripts(ptr noalias %places, i64 %count, i64 %stride, i64 %extent, ptr noalias %to) {
entry:
  %stride.narrow = trunc i64 %stride to i32
  %extent.narrow = trunc i64 %extent to i32
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %place.at = getelementptr i32, ptr %places, i64 %n
  %place = load i32, ptr %place.at, align 4
  %line = udiv i32 %place, %stride.narrow
  %subscript = urem i32 %line, %extent.narrow
  %to.at = getelementptr i32, ptr %to, i64 %n
  store i32 %subscript, ptr %to.at, align 4
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n] = array[places[n]]`.
define void @tadc_taken(ptr noalias %array, ptr noalias %places, i64 %count, ptr noalias %to) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %place.at = getelementptr i32, ptr %places, i64 %n
  %place = load i32, ptr %place.at, align 4
  %wide = zext i32 %place to i64
  %value.at = getelementptr i32, ptr %array, i64 %wide
  %value = load i32, ptr %value.at, align 4
  %to.at = getelementptr i32, ptr %to, i64 %n
  store i32 %value, ptr %to.at, align 4
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `owners[e]`, of `count` elements, becomes the n with `starts[n] <= e < starts[n + 1]`, or the last n, which is
; `ends - 1`, where there is none. The starts, `ends` many, increase up to `count` at most.
define void @tadc_owners(ptr noalias %starts, i64 %ends, i64 %count, ptr noalias %owners) {
entry:
  %rows = sub i64 %ends, 1
  %rows.narrow = trunc i64 %rows to i32
  %any = icmp sge i64 %rows, 0
  br i1 %any, label %range, label %after.head
range:
  %last.at = getelementptr i32, ptr %starts, i64 %rows
  %first = load i32, ptr %starts, align 4
  %last = load i32, ptr %last.at, align 4
  %first.wide = zext i32 %first to i64
  %last.wide = zext i32 %last to i64
  br label %before.head
before.head:
  %b = phi i64 [ 0, %range ], [ %b.next, %before ]
  %before.left = icmp slt i64 %b, %first.wide
  br i1 %before.left, label %before, label %rows.head
before:
  %b.at = getelementptr i32, ptr %owners, i64 %b
  store i32 %rows.narrow, ptr %b.at, align 4
  %b.next = add nuw nsw i64 %b, 1
  br label %before.head

rows.head:
  %n = phi i64 [ 0, %before.head ], [ %n.next, %row.done ]
  %e.first = phi i64 [ %first.wide, %before.head ], [ %e, %row.done ]
  %rows.left = icmp slt i64 %n, %rows
  br i1 %rows.left, label %row, label %after.head
row:
  %n.next = add nuw nsw i64 %n, 1
  %end.at = getelementptr i32, ptr %starts, i64 %n.next
  %end.narrow = load i32, ptr %end.at, align 4
  %end = zext i32 %end.narrow to i64
  %n.narrow = trunc i64 %n to i32
  br label %row.head
row.head:
  %e = phi i64 [ %e.first, %row ], [ %e.next, %element ]
  %row.left = icmp slt i64 %e, %end
  br i1 %row.left, label %element, label %row.done
element:
  %e.at = getelementptr i32, ptr %owners, i64 %e
  store i32 %n.narrow, ptr %e.at, align 4
  %e.next = add nuw nsw i64 %e, 1
  br label %row.head
row.done:
  br label %rows.head

after.head:
  %a = phi i64 [ 0, %entry ], [ %last.wide, %rows.head ], [ %a.next, %after ]
  %after.left = icmp slt i64 %a, %count
  br i1 %after.left, label %after, label %done
after:
  %a.at = getelementptr i32, ptr %owners, i64 %a
  store i32 %rows.narrow, ptr %a.at, align 4
  %a.next = add nuw nsw i64 %a, 1
  br label %after.head
done:
  ret void
}

; 1 where one of `count` ranges has `length` elements or more, else 0. The n-th is from `begins[n]` up to `ends[n]`,
; or to `begins[n + 1]` where `ends` is null: then there is one range less.
define i64 @tadc_long(ptr noalias %begins, ptr noalias %ends, i64 %count, i64 %length) {
entry:
  %length.narrow = trunc i64 %length to i32
  %is.next = icmp eq ptr %ends, null
  %next.begins = getelementptr i32, ptr %begins, i64 1
  %ends.at = select i1 %is.next, ptr %next.begins, ptr %ends
  %less = zext i1 %is.next to i64
  %ranges = sub i64 %count, %less
  %any = icmp sgt i64 %ranges, 0
  br i1 %any, label %loop, label %none
loop:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %most = phi i32 [ 0, %entry ], [ %most.next, %loop ]
  %begin.at = getelementptr i32, ptr %begins, i64 %n
  %begin = load i32, ptr %begin.at, align 4
  %end.at = getelementptr i32, ptr %ends.at, i64 %n
  %end = load i32, ptr %end.at, align 4
  %apart = sub i32 %end, %begin
  %is.more = icmp sgt i32 %apart, %most
  %most.next = select i1 %is.more, i32 %apart, i32 %most
  %n.next = add nuw nsw i64 %n, 1
  %left = icmp slt i64 %n.next, %ranges
  br i1 %left, label %loop, label %done
done:
  %is.long = icmp uge i32 %most.next, %length.narrow
  %found = zext i1 %is.long to i64
  ret i64 %found
none:
  ret i64 0
}

; `wholes[n]`, of `count` elements, becomes how many parts of `length` elements are in the first n ranges, but
; no more than `most`. The n-th is from `begins[n]` up to `ends[n]`, or to `begins[n + 1]` where `ends` is null.
define void @tadc_wholes(ptr noalias %begins, ptr noalias %ends, i64 %count, i64 %length, i64 %most, ptr noalias %wholes) {
entry:
  %length.narrow = trunc i64 %length to i32
  %most.narrow = trunc i64 %most to i32
  %is.next = icmp eq ptr %ends, null
  %next.begins = getelementptr i32, ptr %begins, i64 1
  %ends.at = select i1 %is.next, ptr %next.begins, ptr %ends
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %first, label %done
first:
  store i32 0, ptr %wholes, align 4
  br label %head
head:
  %n = phi i64 [ 1, %first ], [ %n.next, %loop ]
  %before = phi i32 [ 0, %first ], [ %until, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %n.less = sub i64 %n, 1
  %begin.at = getelementptr i32, ptr %begins, i64 %n.less
  %begin = load i32, ptr %begin.at, align 4
  %end.at = getelementptr i32, ptr %ends.at, i64 %n.less
  %end = load i32, ptr %end.at, align 4
  %is.some = icmp ugt i32 %end, %begin
  %apart = sub i32 %end, %begin
  %elements = select i1 %is.some, i32 %apart, i32 0
  %parts = udiv i32 %elements, %length.narrow
  %all = add i32 %before, %parts
  %is.more = icmp ugt i32 %all, %most.narrow
  %until = select i1 %is.more, i32 %most.narrow, i32 %all
  %whole.at = getelementptr i32, ptr %wholes, i64 %n
  store i32 %until, ptr %whole.at, align 4
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `rests[n]`, of `count` elements, becomes the first of what is left of the n-th of these ranges after its parts;
; the last one is 0.
define void @tadc_rests(ptr noalias %begins, ptr noalias %wholes, i64 %count, i64 %length, ptr noalias %rests) {
entry:
  %length.narrow = trunc i64 %length to i32
  br label %head
head:
  %n = phi i64 [ 1, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %end
loop:
  %n.less = sub i64 %n, 1
  %begin.at = getelementptr i32, ptr %begins, i64 %n.less
  %begin = load i32, ptr %begin.at, align 4
  %before.at = getelementptr i32, ptr %wholes, i64 %n.less
  %before = load i32, ptr %before.at, align 4
  %until.at = getelementptr i32, ptr %wholes, i64 %n
  %until = load i32, ptr %until.at, align 4
  %parts = sub i32 %until, %before
  %elements = mul i32 %parts, %length.narrow
  %rest = add i32 %begin, %elements
  %rest.at = getelementptr i32, ptr %rests, i64 %n.less
  store i32 %rest, ptr %rest.at, align 4
  %n.next = add nuw nsw i64 %n, 1
  br label %head
end:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %last, label %done
last:
  %last.n = sub i64 %count, 1
  %last.at = getelementptr i32, ptr %rests, i64 %last.n
  store i32 0, ptr %last.at, align 4
  br label %done
done:
  ret void
}

; `places[c]`, of `most` elements, becomes where the c-th of these parts begins, or 0 where there are fewer.
define void @tadc_parts(ptr noalias %begins, ptr noalias %wholes, i64 %count, i64 %length, ptr noalias %places, i64 %most) {
entry:
  %bytes = mul i64 %most, 4
  call void @llvm.memset.p0.i64(ptr %places, i8 0, i64 %bytes, i1 false)
  %length.narrow = trunc i64 %length to i32
  br label %head
head:
  %n = phi i64 [ 1, %entry ], [ %n.next, %next ]
  %c.first = phi i64 [ 0, %entry ], [ %c, %next ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %range, label %done
range:
  %end.at = getelementptr i32, ptr %wholes, i64 %n
  %end.narrow = load i32, ptr %end.at, align 4
  %end = zext i32 %end.narrow to i64
  %n.less = sub i64 %n, 1
  %begin.at = getelementptr i32, ptr %begins, i64 %n.less
  %begin = load i32, ptr %begin.at, align 4
  br label %part.head
part.head:
  %c = phi i64 [ %c.first, %range ], [ %c.next, %part ]
  %place = phi i32 [ %begin, %range ], [ %place.next, %part ]
  %part.left = icmp slt i64 %c, %end
  br i1 %part.left, label %part, label %next
part:
  %place.at = getelementptr i32, ptr %places, i64 %c
  store i32 %place, ptr %place.at, align 4
  %place.next = add i32 %place, %length.narrow
  %c.next = add nuw nsw i64 %c, 1
  br label %part.head
next:
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to`, of `one + two` elements, becomes those of one array, then those of the other.
define void @tadc_joined(ptr noalias %first, i64 %one, ptr noalias %second, i64 %two, ptr noalias %to) {
entry:
  %bytes = mul i64 %one, 4
  %more = mul i64 %two, 4
  %behind = getelementptr i32, ptr %to, i64 %one
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %first, i64 %bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %behind, ptr %second, i64 %more, i1 false)
  ret void
}

; `order` are the places 0, 1, … of which those from `first` on, `asked` many, ask how many others stand before
; them: `to[p - first]` becomes that.
define void @tadc_ranks(ptr noalias %order, i64 %count, i64 %first, i64 %asked, ptr noalias %to) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %after ]
  %others = phi i32 [ 0, %entry ], [ %others.next, %after ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %place.at = getelementptr i32, ptr %order, i64 %n
  %place = load i32, ptr %place.at, align 4
  %wide = zext i32 %place to i64
  %cell = sub i64 %wide, %first
  %asks = icmp ult i64 %cell, %asked
  br i1 %asks, label %put, label %pass
put:
  %to.at = getelementptr i32, ptr %to, i64 %cell
  store i32 %others, ptr %to.at, align 4
  br label %after
pass:
  %one.more = add i32 %others, 1
  br label %after
after:
  %others.next = phi i32 [ %others, %put ], [ %one.more, %pass ]
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n]` becomes a number that looks random: that of n in a sequence which `seed` chooses, less than the largest
; difference of neighbours among `rows + 1` starts, or 0. Bits are mixed as at the end of MurmurHash3.
define void @tadc_spread(ptr noalias %to, i64 %count, i64 %seed, ptr noalias %starts, i64 %rows) {
entry:
  %seed.narrow = trunc i64 %seed to i32
  %start = mul i32 %seed.narrow, 2135587861
  br label %row.head
row.head:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row ]
  %range.narrow = phi i32 [ 1, %entry ], [ %longer, %row ]
  %range = zext i32 %range.narrow to i64
  %row.left = icmp slt i64 %r, %rows
  br i1 %row.left, label %row, label %head
row:
  %r.next = add nuw nsw i64 %r, 1
  %begin.at = getelementptr i32, ptr %starts, i64 %r
  %end.at = getelementptr i32, ptr %starts, i64 %r.next
  %begin = load i32, ptr %begin.at, align 4
  %end = load i32, ptr %end.at, align 4
  %length = sub i32 %end, %begin
  %is.longer = icmp ugt i32 %length, %range.narrow
  %longer = select i1 %is.longer, i32 %length, i32 %range.narrow
  br label %row.head
head:
  %n = phi i64 [ 0, %row.head ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %n.narrow = trunc i64 %n to i32
  %step = mul i32 %n.narrow, -1640531535
  %a = add i32 %step, %start
  %a.high = lshr i32 %a, 16
  %b = xor i32 %a, %a.high
  %c = mul i32 %b, -2048144789
  %c.high = lshr i32 %c, 13
  %d = xor i32 %c, %c.high
  %e = mul i32 %d, -1028477387
  %e.high = lshr i32 %e, 16
  %f = xor i32 %e, %e.high
  %f.wide = zext i32 %f to i64
  %scaled = mul i64 %f.wide, %range
  %found = lshr i64 %scaled, 32
  %found.narrow = trunc i64 %found to i32
  %to.at = getelementptr i32, ptr %to, i64 %n
  store i32 %found.narrow, ptr %to.at, align 4
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n] = value`, of 64 bits.
define void @tadc_filled(ptr noalias %to, i64 %count, i64 %value) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %to.at = getelementptr i64, ptr %to, i64 %n
  store i64 %value, ptr %to.at, align 8
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n] += n / stride % extent * factor`, of 64 bits: multiples of a subscript of each place.
define void @tadc_counted(ptr noalias %to, i64 %count, i64 %stride, i64 %extent, i64 %factor) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %line = udiv i64 %n, %stride
  %subscript = urem i64 %line, %extent
  %to.at = getelementptr i64, ptr %to, i64 %n
  %old = load i64, ptr %to.at, align 8
  %scaled = mul i64 %subscript, %factor
  %new = add i64 %old, %scaled
  store i64 %new, ptr %to.at, align 8
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n] += from[n] / divisor * factor`, of 64 bits, quotients rounded down.
define void @tadc_quotients(ptr noalias %to, i64 %count, ptr noalias %from, i64 %divisor, i64 %factor) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %from.at = getelementptr i64, ptr %from, i64 %n
  %from.n = load i64, ptr %from.at, align 8
  %quotient = sdiv i64 %from.n, %divisor
  %rest = srem i64 %from.n, %divisor
  %less = ashr i64 %rest, 63
  %down = add i64 %quotient, %less
  %to.at = getelementptr i64, ptr %to, i64 %n
  %old = load i64, ptr %to.at, align 8
  %scaled = mul i64 %down, %factor
  %new = add i64 %old, %scaled
  store i64 %new, ptr %to.at, align 8
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n] = to[n] * extent + other[n]`, of 64 bits, or -1 where one is not below `before`, or the other not below
; `extent`: the place of an element by its subscripts.
define void @tadc_crossed(ptr noalias %to, i64 %count, i64 %before, ptr noalias %other, i64 %extent) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %to.at = getelementptr i64, ptr %to, i64 %n
  %place = load i64, ptr %to.at, align 8
  %other.at = getelementptr i64, ptr %other, i64 %n
  %subscript = load i64, ptr %other.at, align 8
  %one.fits = icmp ult i64 %place, %before
  %other.fits = icmp ult i64 %subscript, %extent
  %fits = and i1 %one.fits, %other.fits
  %row = mul i64 %place, %extent
  %there = add i64 %row, %subscript
  %made = select i1 %fits, i64 %there, i64 -1
  store i64 %made, ptr %to.at, align 8
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n] += array[places[n]] * factor`, of 64 bits but for the array, which has `size` elements; others count as 0.
define void @tadc_looked(ptr noalias %to, i64 %count, ptr noalias %places, ptr noalias %array, i64 %size, i64 %factor) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %next ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %place.at = getelementptr i64, ptr %places, i64 %n
  %place = load i64, ptr %place.at, align 8
  %fits = icmp ult i64 %place, %size
  br i1 %fits, label %look, label %next
look:
  %value.at = getelementptr i32, ptr %array, i64 %place
  %value = load i32, ptr %value.at, align 4
  %wide = zext i32 %value to i64
  %to.at = getelementptr i64, ptr %to, i64 %n
  %old = load i64, ptr %to.at, align 8
  %scaled = mul i64 %wide, %factor
  %new = add i64 %old, %scaled
  store i64 %new, ptr %to.at, align 8
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n] = from[n]`, of 32 bits and of 64.
define void @tadc_narrowed(ptr noalias %from, i64 %count, ptr noalias %to) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %from.at = getelementptr i64, ptr %from, i64 %n
  %wide = load i64, ptr %from.at, align 8
  %narrow = trunc i64 %wide to i32
  %to.at = getelementptr i32, ptr %to, i64 %n
  store i32 %narrow, ptr %to.at, align 4
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}

; `to[n] += array[n] * factor`, of 64 bits but for the array.
define void @tadc_summed(ptr noalias %to, i64 %count, ptr noalias %array, i64 %factor) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %loop, label %done
loop:
  %value.at = getelementptr i32, ptr %array, i64 %n
  %value = load i32, ptr %value.at, align 4
  %wide = zext i32 %value to i64
  %to.at = getelementptr i64, ptr %to, i64 %n
  %old = load i64, ptr %to.at, align 8
  %scaled = mul i64 %wide, %factor
  %new = add i64 %old, %scaled
  store i64 %new, ptr %to.at, align 8
  %n.next = add nuw nsw i64 %n, 1
  br label %head
done:
  ret void
}
