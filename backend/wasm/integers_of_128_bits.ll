; What LLVM calls for integers of 128 bits, where it has no instructions: numbers in words, low and high.
@llvm.used = appending global [4 x ptr] [ptr @__multi3, ptr @__ashlti3, ptr @__lshrti3, ptr @__ashrti3], section "llvm.metadata"

; A product: of the low words all of it, of the others their low words.
define void @__multi3(ptr %result, i64 %a.low, i64 %a.high, i64 %b.low, i64 %b.high) {
  %a0 = and i64 %a.low, 4294967295
  %a1 = lshr i64 %a.low, 32
  %b0 = and i64 %b.low, 4294967295
  %b1 = lshr i64 %b.low, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %carry = lshr i64 %p00, 32
  %p10.low = and i64 %p10, 4294967295
  %sum = add i64 %p01, %carry
  %middle = add i64 %sum, %p10.low
  %p00.low = and i64 %p00, 4294967295
  %middle.up = shl i64 %middle, 32
  %low = or i64 %middle.up, %p00.low
  %middle.high = lshr i64 %middle, 32
  %p10.high = lshr i64 %p10, 32
  %highs = add i64 %middle.high, %p10.high
  %top = add i64 %highs, %p11
  %left = mul i64 %a.low, %b.high
  %right = mul i64 %a.high, %b.low
  %cross = add i64 %left, %right
  %high = add i64 %top, %cross
  store i64 %low, ptr %result
  %second = getelementptr i64, ptr %result, i64 1
  store i64 %high, ptr %second
  ret void
}

; Left, by less than 128. A word is not shifted by 64.
define void @__ashlti3(ptr %result, i64 %low, i64 %high, i32 %count) {
  %wide = zext i32 %count to i64
  %is.far = icmp ugt i64 %wide, 63
  %is.none = icmp eq i64 %wide, 0
  %far = sub i64 %wide, 64
  %back = sub i64 64, %wide
  %near.low = shl i64 %low, %wide
  %up = shl i64 %high, %wide
  %over = lshr i64 %low, %back
  %joined = or i64 %up, %over
  %near.high = select i1 %is.none, i64 %high, i64 %joined
  %far.high = shl i64 %low, %far
  %new.low = select i1 %is.far, i64 0, i64 %near.low
  %new.high = select i1 %is.far, i64 %far.high, i64 %near.high
  store i64 %new.low, ptr %result
  %second = getelementptr i64, ptr %result, i64 1
  store i64 %new.high, ptr %second
  ret void
}

; Right, with zeros.
define void @__lshrti3(ptr %result, i64 %low, i64 %high, i32 %count) {
  %wide = zext i32 %count to i64
  %is.far = icmp ugt i64 %wide, 63
  %is.none = icmp eq i64 %wide, 0
  %far = sub i64 %wide, 64
  %back = sub i64 64, %wide
  %near.high = lshr i64 %high, %wide
  %down = lshr i64 %low, %wide
  %over = shl i64 %high, %back
  %joined = or i64 %down, %over
  %near.low = select i1 %is.none, i64 %low, i64 %joined
  %far.low = lshr i64 %high, %far
  %new.high = select i1 %is.far, i64 0, i64 %near.high
  %new.low = select i1 %is.far, i64 %far.low, i64 %near.low
  store i64 %new.low, ptr %result
  %second = getelementptr i64, ptr %result, i64 1
  store i64 %new.high, ptr %second
  ret void
}

; Right, with the sign.
define void @__ashrti3(ptr %result, i64 %low, i64 %high, i32 %count) {
  %wide = zext i32 %count to i64
  %is.far = icmp ugt i64 %wide, 63
  %is.none = icmp eq i64 %wide, 0
  %far = sub i64 %wide, 64
  %back = sub i64 64, %wide
  %sign = ashr i64 %high, 63
  %near.high = ashr i64 %high, %wide
  %down = lshr i64 %low, %wide
  %over = shl i64 %high, %back
  %joined = or i64 %down, %over
  %near.low = select i1 %is.none, i64 %low, i64 %joined
  %far.low = ashr i64 %high, %far
  %new.high = select i1 %is.far, i64 %sign, i64 %near.high
  %new.low = select i1 %is.far, i64 %far.low, i64 %near.low
  store i64 %new.low, ptr %result
  %second = getelementptr i64, ptr %result, i64 1
  store i64 %new.high, ptr %second
  ret void
}
