; How an x86-64 processor waits and rounds, for `pool.ll`; the number of Linux's system call futex.
@futex = internal constant i64 202

declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal void @pause() alwaysinline {
  call void @llvm.x86.sse2.pause()
  ret void
}

define internal i64 @rounding_here() alwaysinline {
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %word = load i32, ptr %place
  %wide = zext i32 %word to i64
  ret i64 %wide
}

define internal void @round_here(i64 %rounding) alwaysinline {
  %place = alloca i32
  %word = trunc i64 %rounding to i32
  store i32 %word, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
