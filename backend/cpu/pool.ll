; The threads of this process that help with kernels: `tadc_parallel`, which kernels call, and what sets its
; number of threads. `thread_pool.py` adds how helpers sleep on this system (`pool_linux.ll`, `pool_posix.ll`) and
; how this processor waits and rounds (`pool_x86_64.ll`, `pool_aarch64.ll`).
;
; A caller opens a job, takes parts of it until none is left, closes it and waits for those that joined.
; A helper joins only while the job is open: who comes late finds it closed, and nobody waits for him.
; So a call is right with any number of helpers, none too: in the child of a fork, where none is left.

; The low half of `state` counts the helpers at work; the high half is twice the number of the job, plus 1
; while it is open. Helpers sleep on the high half.
@state = internal global i64 0, align 64
@sleepers = internal global i32 0, align 4
; The next part that nobody has taken, on a cache line of its own.
@next = internal global i64 0, align 64
; The open job, which only its caller writes: while `busy`, and while no helper is at work.
@body = internal global ptr null, align 64
@args = internal global ptr null
@end = internal global i64 0
; Its parts, of `each` times `step` elements; the first `longer` ones have a step more.
@count = internal global i64 0
@step = internal global i64 0
@each = internal global i64 0
@longer = internal global i64 0
@helpers = internal global i64 0
@rounding = internal global i64 0
@busy = internal global i32 0, align 64
@started = internal global i64 0
@threads = internal global i64 1
; The number that one thread is to use in the place of that, by a key of its own; -1 before any is.
@key = internal global i64 -1

; A map of fewer operations is not worth a dispatch; nor is such a part of one. `passes/schedule/work_counts.py`
; says what an operation is.
@least = internal constant i64 32768
@least_part = internal constant i64 8192
; Nor is a map of fewer worth it to wake a helper, or to make one: some 10 microseconds.
@least_to_wake = internal constant i64 262144
; So many parts for each thread: threads are not equally fast, parts not equally much work.
@parts = internal constant i64 4
; A helper looks so often for the next job before it sleeps: some 100 microseconds.
@looks = internal constant i64 2000

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
; A key has 32 bits on Linux, 64 on macOS: it is passed in a register, and stored in the low half where it is short.
declare i32 @pthread_key_create(ptr, ptr)
declare i32 @pthread_setspecific(i64, ptr)
declare ptr @pthread_getspecific(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_yield()

; Calls `body(args, begin, end)` on ranges that make up [0, elements), each once, several at a time where that
; pays. All begin at a multiple of `multiple`, if there are so many elements. `operations` are those of all
; elements, about.
define void @tadc_parallel(ptr %body, ptr %args, i64 %elements, i64 %multiple, i64 %operations) {
entry:
  %least = load i64, ptr @least
  %enough = icmp sge i64 %operations, %least
  br i1 %enough, label %number, label %alone

number:
  %all = load atomic i64, ptr @threads monotonic, align 8
  %key = load atomic i64, ptr @key monotonic, align 8
  %no_key = icmp eq i64 %key, -1
  br i1 %no_key, label %several, label %ask

ask:
  %said = call ptr @pthread_getspecific(i64 %key)
  %own = ptrtoint ptr %said to i64
  %none_said = icmp eq i64 %own, 0
  %here = select i1 %none_said, i64 %all, i64 %own
  br label %several

several:
  %threads = phi i64 [ %all, %number ], [ %here, %ask ]
  %worth = icmp sgt i64 %threads, 1
  br i1 %worth, label %rouse, label %alone

rouse:
  %helpers = sub i64 %threads, 1
  %asleep = load atomic i32, ptr @sleepers monotonic, align 4
  %nobody_sleeps = icmp eq i32 %asleep, 0
  %alive = load atomic i64, ptr @started monotonic, align 8
  %all_alive = icmp sge i64 %alive, %helpers
  %all_wake = and i1 %nobody_sleeps, %all_alive
  %least_to_wake = load i64, ptr @least_to_wake
  %much = icmp sge i64 %operations, %least_to_wake
  %worth_it = or i1 %all_wake, %much
  br i1 %worth_it, label %divide, label %alone

divide:
  %parts_each = load i64, ptr @parts
  %most = mul i64 %threads, %parts_each
  %least_part = load i64, ptr @least_part
  %worth_parts = udiv i64 %operations, %least_part
  %few = icmp ult i64 %worth_parts, %most
  %parts = select i1 %few, i64 %worth_parts, i64 %most
  %too_few = icmp slt i64 %elements, %multiple
  %step = select i1 %too_few, i64 1, i64 %multiple
  %up = add i64 %elements, %step
  %up_less = sub i64 %up, 1
  %steps = sdiv i64 %up_less, %step
  %fewer = icmp slt i64 %steps, %parts
  %count = select i1 %fewer, i64 %steps, i64 %parts
  %divides = icmp sgt i64 %count, 1
  br i1 %divides, label %try, label %alone

try:
  %taken = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %taken, 1
  br i1 %mine, label %together, label %alone

together:
  call void @start(i64 %helpers)
  store ptr %body, ptr @body
  store ptr %args, ptr @args
  store i64 %elements, ptr @end
  %each = udiv i64 %steps, %count
  %longer = urem i64 %steps, %count
  store i64 %count, ptr @count
  store i64 %step, ptr @step
  store i64 %each, ptr @each
  store i64 %longer, ptr @longer
  store i64 %helpers, ptr @helpers
  %rounding = call i64 @rounding_here()
  store i64 %rounding, ptr @rounding
  store atomic i64 0, ptr @next monotonic, align 64
  call void @open(i64 %helpers)
  call void @take()
  call void @close()
  store atomic i32 0, ptr @busy release, align 64
  ret void

; One thread is enough, or the helpers work for another caller, who is not waited for.
alone:
  call void %body(ptr %args, i64 0, i64 %elements)
  ret void
}

define internal void @open(i64 %helpers) {
  %state = load atomic i64, ptr @state monotonic, align 64
  %high = lshr i64 %state, 32
  %next = add i64 %high, 2
  %open = or i64 %next, 1
  %shifted = shl i64 %open, 32
  %job = trunc i64 %open to i32
  call void @call_here(i32 %job)
  ; Before the look at `sleepers`, as a helper counts itself there before it looks at `state` for the last time.
  store atomic i64 %shifted, ptr @state seq_cst, align 64
  %sleepers = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp ne i32 %sleepers, 0
  br i1 %any, label %wake, label %done

wake:
  call void @wake(i64 %helpers)
  br label %done

done:
  ret void
}

define internal void @close() {
  ; Less the 1 of the open job.
  %old = atomicrmw sub ptr @state, i64 4294967296 acq_rel, align 64
  br label %wait

wait:
  %looks = phi i64 [ 0, %0 ], [ %more, %again ]
  %state = load atomic i64, ptr @state acquire, align 64
  %working = and i64 %state, 4294967295
  %done = icmp eq i64 %working, 0
  br i1 %done, label %end, label %look

look:
  call void @pause()
  %more = add i64 %looks, 1
  %most = load i64, ptr @looks
  %long = icmp sgt i64 %more, %most
  br i1 %long, label %yield, label %again

; The helper may wait for this processor.
yield:
  call i32 @sched_yield()
  br label %again

again:
  br label %wait

end:
  ret void
}

; Where a part of the open job begins.
define internal i64 @begin(i64 %part) {
  %each = load i64, ptr @each
  %longer = load i64, ptr @longer
  %step = load i64, ptr @step
  %before = mul i64 %part, %each
  %are_longer = icmp slt i64 %part, %longer
  %more = select i1 %are_longer, i64 %part, i64 %longer
  %steps = add i64 %before, %more
  %begin = mul i64 %steps, %step
  ret i64 %begin
}

; Parts of the open job, until none is left.
define internal void @take() {
  %body = load ptr, ptr @body
  %args = load ptr, ptr @args
  %end = load i64, ptr @end
  %count = load i64, ptr @count
  br label %one

one:
  %part = atomicrmw add ptr @next, i64 1 monotonic, align 64
  %left = icmp slt i64 %part, %count
  br i1 %left, label %run, label %done

run:
  %following = add i64 %part, 1
  %begin = call i64 @begin(i64 %part)
  %full = call i64 @begin(i64 %following)
  %inside = icmp slt i64 %full, %end
  %until = select i1 %inside, i64 %full, i64 %end
  call void %body(ptr %args, i64 %begin, i64 %until)
  br label %one

done:
  ret void
}

define internal ptr @help(ptr %nothing) {
entry:
  br label %wait

; `last` is the high half of `state` with which this thread last worked.
wait:
  %last = phi i64 [ 0, %entry ], [ %high, %worked ], [ %last, %slept ]
  br label %look

look:
  %looks = phi i64 [ 0, %wait ], [ %more, %again ], [ %looks, %join ]
  %state = load atomic i64, ptr @state acquire, align 64
  %high = lshr i64 %state, 32
  %open = trunc i64 %high to i1
  %new = icmp ne i64 %high, %last
  %job = and i1 %open, %new
  br i1 %job, label %room, label %none

; This reads what the caller of the next job may be writing, but then `join` fails.
room:
  %working = and i64 %state, 4294967295
  %helpers = load atomic i64, ptr @helpers monotonic, align 8
  %free = icmp ult i64 %working, %helpers
  br i1 %free, label %join, label %none

join:
  %joined = add i64 %state, 1
  %swapped = cmpxchg ptr @state, i64 %state, i64 %joined acq_rel monotonic, align 64
  %in = extractvalue { i64, i1 } %swapped, 1
  br i1 %in, label %work, label %look

work:
  ; Threads round, and treat denormals, as their caller does: the results are the same.
  %rounding = load i64, ptr @rounding
  call void @round_here(i64 %rounding)
  %job_here = trunc i64 %high to i32
  call void @help_here(i32 %job_here)
  call void @take()
  %left = atomicrmw sub ptr @state, i64 1 acq_rel, align 64
  br label %worked

worked:
  br label %wait

none:
  %most = load i64, ptr @looks
  %more = add i64 %looks, 1
  %tired = icmp sgt i64 %more, %most
  br i1 %tired, label %sleep, label %again

again:
  call void @pause()
  br label %look

sleep:
  %value = trunc i64 %high to i32
  %before = atomicrmw add ptr @sleepers, i32 1 seq_cst, align 4
  call void @sleep(i32 %value)
  %after = atomicrmw sub ptr @sleepers, i32 1 seq_cst, align 4
  br label %slept

slept:
  br label %wait
}

; Starts what is missing of so many helpers. They take no signals, but those that are faults of their own.
define internal void @start(i64 %helpers) {
entry:
  %thread = alloca i64
  %old = alloca [16 x i64]
  %mask = alloca [16 x i64]
  %started = load i64, ptr @started
  %missing = icmp slt i64 %started, %helpers
  br i1 %missing, label %more, label %done

more:
  %none = icmp eq i64 %started, 0
  br i1 %none, label %first, label %mask_signals

first:
  call void @prepare_sleep()
  br label %mask_signals

mask_signals:
  call void @llvm.memset.p0.i64(ptr %mask, i8 -1, i64 128, i1 false)
  %others = load i64, ptr @no_faults
  store i64 %others, ptr %mask
  %set = load i32, ptr @set_mask
  call i32 @pthread_sigmask(i32 %set, ptr %mask, ptr %old)
  br label %loop

loop:
  %n = phi i64 [ %started, %mask_signals ], [ %up, %made ]
  %again = icmp slt i64 %n, %helpers
  br i1 %again, label %make, label %end

make:
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @help, ptr null)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %made, label %refused

made:
  %id = load i64, ptr %thread
  call i32 @pthread_detach(i64 %id)
  %up = add i64 %n, 1
  br label %loop

; The system gives no more threads: those that there are do, and no more are asked for.
refused:
  %all = add i64 %n, 1
  store atomic i64 %all, ptr @threads monotonic, align 8
  br label %end

end:
  %now = phi i64 [ %n, %loop ], [ %n, %refused ]
  store atomic i64 %now, ptr @started monotonic, align 8
  call i32 @pthread_sigmask(i32 %set, ptr %old, ptr null)
  br label %done

done:
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Further calls use so many threads, the caller one of them.
define void @tadc_pool_resize(i64 %threads) {
  store atomic i64 %threads, ptr @threads monotonic, align 8
  ret void
}

; Calls of this thread use so many threads; 0: as many as others. Callers take turns.
define void @tadc_pool_here(i64 %threads) {
entry:
  %key = load atomic i64, ptr @key monotonic, align 8
  %new = icmp eq i64 %key, -1
  br i1 %new, label %make, label %set

make:
  %place = alloca i64
  store i64 0, ptr %place
  %failed = call i32 @pthread_key_create(ptr %place, ptr null)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %made, label %done

made:
  %fresh = load i64, ptr %place
  store atomic i64 %fresh, ptr @key release, align 8
  br label %set

set:
  %now = phi i64 [ %key, %entry ], [ %fresh, %made ]
  %value = inttoptr i64 %threads to ptr
  call i32 @pthread_setspecific(i64 %now, ptr %value)
  br label %done

done:
  ret void
}

; In the child of a fork: no helpers are left, and no caller.
define void @tadc_pool_forget() {
  store i64 0, ptr @state
  store i32 0, ptr @sleepers
  store i64 0, ptr @started
  store i32 0, ptr @busy
  ret void
}
