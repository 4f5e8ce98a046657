; How helpers of `pool.ll` sleep on Linux, by a futex, and to which processor each goes.

; SIG_SETMASK, and the signals that helpers leave to others: not SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE and
; SIGSEGV, bits 3, 4, 5, 6, 7 and 10.
@set_mask = internal constant i32 2
@no_faults = internal constant i64 -1273

; The job that last ran on each processor: its half of `state`, while it is open.
@ran = internal global [1024 x i32] zeroinitializer, align 64
; The thread of the caller, whose processors are those that helpers may use.
@caller = internal global i32 0

declare i32 @sched_getcpu()
declare i32 @gettid()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i64 @syscall(i64, ...)

define internal void @prepare_sleep() alwaysinline {
  ret void
}

; FUTEX_WAIT_PRIVATE, which returns at once where another job has come.
define internal void @sleep(i32 %value) alwaysinline {
  %number = load i64, ptr @futex
  call i64 (i64, ...) @syscall(i64 %number, ptr getelementptr (i8, ptr @state, i64 4), i32 128, i32 %value, ptr null)
  ret void
}

; FUTEX_WAKE_PRIVATE
define internal void @wake(i64 %helpers) alwaysinline {
  %number = load i64, ptr @futex
  call i64 (i64, ...) @syscall(i64 %number, ptr getelementptr (i8, ptr @state, i64 4), i32 129, i64 %helpers)
  ret void
}

; The caller of a job, before it is open.
define internal void @call_here(i32 %job) alwaysinline {
  call i1 @first_here(i32 %job)
  %thread = call i32 @gettid()
  store i32 %thread, ptr @caller
  ret void
}

; A helper, before it works.
define internal void @help_here(i32 %job) alwaysinline {
entry:
  %alone = call i1 @first_here(i32 %job)
  br i1 %alone, label %done, label %leave

leave:
  call void @part(i32 %job)
  br label %done

done:
  ret void
}

; Whether no other thread of the job has been on this processor; from now on one has.
define internal i1 @first_here(i32 %job) {
entry:
  %cpu = call i32 @sched_getcpu()
  %known = icmp ult i32 %cpu, 1024
  br i1 %known, label %look, label %first

look:
  %place = getelementptr [1024 x i32], ptr @ran, i64 0, i32 %cpu
  %old = atomicrmw xchg ptr %place, i32 %job monotonic, align 4
  %differs = icmp ne i32 %old, %job
  ret i1 %differs

first:
  ret i1 true
}

; Takes this helper to a processor that no other thread of the job has been on, if there is one. In a virtual
; machine a processor that rests counts as taken from it (`vcpu_is_preempted` of Linux), so the scheduler wakes
; a helper on the processor of its caller: they share it for milliseconds, and the other one rests.
define internal void @part(i32 %job) {
entry:
  %mask = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %caller = load i32, ptr @caller
  %failed = call i32 @sched_getaffinity(i32 %caller, i64 128, ptr %mask)
  %bad = icmp slt i32 %failed, 0
  br i1 %bad, label %done, label %one

one:
  %cpu = phi i32 [ 0, %entry ], [ %more, %next ]
  %place = getelementptr [1024 x i32], ptr @ran, i64 0, i32 %cpu
  %last = load atomic i32, ptr %place monotonic, align 4
  %taken = icmp eq i32 %last, %job
  br i1 %taken, label %strike, label %next

strike:
  %byte = lshr i32 %cpu, 3
  %at = getelementptr i8, ptr %mask, i32 %byte
  %bits = load i8, ptr %at
  %in_byte = and i32 %cpu, 7
  %wide = shl i32 1, %in_byte
  %bit = trunc i32 %wide to i8
  %others = xor i8 %bit, -1
  %rest = and i8 %bits, %others
  store i8 %rest, ptr %at
  br label %next

next:
  %more = add i32 %cpu, 1
  %again = icmp ult i32 %more, 1024
  br i1 %again, label %one, label %go

; Where none is left, this fails and changes nothing.
go:
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %mask)
  call i1 @first_here(i32 %job)
  br label %done

done:
  ret void
}
