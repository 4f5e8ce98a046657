; How helpers of `pool.ll` sleep on macOS, by a condition of POSIX. The system chooses their processors.

; SIG_SETMASK, and the signals that helpers leave to others: not SIGILL, SIGTRAP, SIGABRT, SIGEMT, SIGFPE, SIGBUS
; and SIGSEGV, bits 3, 4, 5, 6, 7, 9 and 10.
@set_mask = internal constant i32 3
@no_faults = internal constant i64 -1785

; Of the system's types, which need less: 64 and 48 bytes on macOS, 40 and 48 on Linux.
@mutex = internal global [128 x i8] zeroinitializer, align 64
@condition = internal global [128 x i8] zeroinitializer, align 64

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

; Before the first helper of a process starts, in the child of a fork too.
define internal void @prepare_sleep() {
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @condition, ptr null)
  ret void
}

; Until the high half of `state` differs from `value`. Who opens a job changes it before he asks whether someone
; sleeps, and wakes with the mutex: a helper is in `pthread_cond_wait` then, or sees the job.
define internal void @sleep(i32 %value) {
entry:
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look

look:
  %state = load atomic i64, ptr @state seq_cst, align 64
  %high = lshr i64 %state, 32
  %now = trunc i64 %high to i32
  %same = icmp eq i32 %now, %value
  br i1 %same, label %wait, label %done

wait:
  call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %look

done:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

define internal void @wake(i64 %helpers) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  call i32 @pthread_cond_broadcast(ptr @condition)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

define internal void @call_here(i32 %job) alwaysinline {
  ret void
}

define internal void @help_here(i32 %job) alwaysinline {
  ret void
}
