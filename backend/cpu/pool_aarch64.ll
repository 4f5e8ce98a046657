; How an AArch64 processor waits and rounds, for `pool.ll`; the number of Linux's system call futex.
@futex = internal constant i64 98

declare void @llvm.aarch64.isb(i32)
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

; A barrier of instructions waits about as long as `pause` of x86-64; `yield` does nothing on most processors.
define internal void @pause() alwaysinline {
  call void @llvm.aarch64.isb(i32 15)
  ret void
}

define internal i64 @rounding_here() alwaysinline {
  %word = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %word
}

define internal void @round_here(i64 %rounding) alwaysinline {
  call void @llvm.aarch64.set.fpcr(i64 %rounding)
  ret void
}
