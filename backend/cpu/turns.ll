; The steps of a recurrence by several threads: part of a kernel that has such, on top of `tadc_parallel`.
;
; A job has phases, one after the other, each of some parts. A thread takes a part of the phase at hand that
; nobody has taken, and waits where none is left until all of them are done. So a job is right with any number
; of threads, which may come late; one that the system lets wait holds up the others only while it is in a part.
; Threads have parts of their own, whose data is in their caches, and take others after a short wait.

; What a job is: its function, the arguments of it, its phases, the parts of a phase that are worth it.
%job = type { ptr, ptr, i64, i64, ptr }
; Where it is: the threads that have come, the parts that are done, the parts of a phase once that is
; decided, and for each part how often it has been taken; each on a line of the cache.
%line = type { i64, [7 x i64] }
%state = type { %line, %line, %line, [64 x %line] }

; So many operations are worth a part.
@tadc_least_part = internal constant i64 LEAST
; How often a thread looks for others to take their parts before it takes them: a microsecond.
@tadc_patience = internal constant i64 24
; How often it looks before it gives its processor away: another thread may wait for it. 10 microseconds.
@tadc_looks = internal constant i64 200

declare extern_weak i32 @sched_yield()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Calls `body(args, phase, phase + 1, part, parts)` for each part of each phase, or for several phases at once
; where that is all of it; there are `most` parts at most. `operations` are those of all phases, about.
define internal void @tadc_turns(ptr %body, ptr %args, i64 %phases, i64 %most, i64 %operations) noinline {
entry:
  %job = alloca %job
  %state = alloca %state, align 64
  %some = icmp sgt i64 %phases, 0
  %divisor = select i1 %some, i64 %phases, i64 1
  %each = sdiv i64 %operations, %divisor
  %least = load i64, ptr @tadc_least_part
  %enough = sdiv i64 %each, %least
  %many = icmp sgt i64 %enough, %most
  %worth = select i1 %many, i64 %most, i64 %enough
  %several = icmp sgt i64 %worth, 1
  br i1 %several, label %together, label %alone

together:
  call void @llvm.memset.p0.i64(ptr align 64 %state, i8 0, i64 ptrtoint (ptr getelementptr (%state, ptr null, i64 1) to i64), i1 false)
  store ptr %body, ptr %job
  %job.args = getelementptr %job, ptr %job, i64 0, i32 1
  store ptr %args, ptr %job.args
  %job.phases = getelementptr %job, ptr %job, i64 0, i32 2
  store i64 %phases, ptr %job.phases
  %job.worth = getelementptr %job, ptr %job, i64 0, i32 3
  store i64 %worth, ptr %job.worth
  %job.state = getelementptr %job, ptr %job, i64 0, i32 4
  store ptr %state, ptr %job.state
  call void @tadc_parallel(ptr @tadc_join, ptr %job, i64 64, i64 1, i64 %operations)
  ret void

alone:
  call void %body(ptr %args, i64 0, i64 %phases, i64 0, i64 1)
  ret void
}

; A thread that joins a job, with a range of 64 elements: all of them where it is the only one; else there are
; as many parts as ranges.
define internal void @tadc_join(ptr %job, i64 %begin, i64 %end) noinline {
entry:
  %body = load ptr, ptr %job
  %job.args = getelementptr %job, ptr %job, i64 0, i32 1
  %args = load ptr, ptr %job.args
  %job.phases = getelementptr %job, ptr %job, i64 0, i32 2
  %phases = load i64, ptr %job.phases
  %job.worth = getelementptr %job, ptr %job, i64 0, i32 3
  %worth = load i64, ptr %job.worth
  %job.state = getelementptr %job, ptr %job, i64 0, i32 4
  %state = load ptr, ptr %job.state
  %done = getelementptr %state, ptr %state, i64 0, i32 1
  %decided = getelementptr %state, ptr %state, i64 0, i32 2
  %range = sub i64 %end, %begin
  %is.all = icmp eq i64 %range, 64
  br i1 %is.all, label %alone, label %join

alone:
  call void %body(ptr %args, i64 0, i64 %phases, i64 0, i64 1)
  ret void

join:
  %ranges = udiv i64 64, %range
  %few = icmp slt i64 %worth, %ranges
  %wanted = select i1 %few, i64 %worth, i64 %ranges
  cmpxchg ptr %decided, i64 0, i64 %wanted monotonic monotonic
  %parts = load atomic i64, ptr %decided monotonic, align 8
  %own = atomicrmw add ptr %state, i64 1 monotonic
  br label %phase

phase:
  %begun = load atomic i64, ptr %done acquire, align 8
  %at = udiv i64 %begun, %parts
  %left = icmp slt i64 %at, %phases
  br i1 %left, label %share, label %leave
leave:
  ret void

; The parts are shared evenly among those who have come.
share:
  %next = add i64 %at, 1
  %until = mul i64 %next, %parts
  %threads = load atomic i64, ptr %state monotonic, align 8
  %before = mul i64 %own, %parts
  %first = udiv i64 %before, %threads
  %after = add i64 %before, %parts
  %last = udiv i64 %after, %threads
  br label %own.head
own.head:
  %mine = phi i64 [ %first, %share ], [ %mine.next, %own.one ]
  %more = icmp slt i64 %mine, %last
  br i1 %more, label %own.one, label %wait.others
own.one:
  call void @tadc_take(ptr %job, i64 %mine, i64 %parts, i64 %at)
  %mine.next = add i64 %mine, 1
  br label %own.head

wait.others:
  %is.only = icmp eq i64 %threads, 1
  %patience = load i64, ptr @tadc_patience
  %waits = select i1 %is.only, i64 0, i64 %patience
  br label %others.head
others.head:
  %waited = phi i64 [ 0, %wait.others ], [ %waited.next, %others.look ]
  %done.now = load atomic i64, ptr %done acquire, align 8
  %all.done = icmp sge i64 %done.now, %until
  br i1 %all.done, label %phase, label %others.more
others.more:
  %patient = icmp slt i64 %waited, %waits
  br i1 %patient, label %others.look, label %help.head
others.look:
  PAUSE
  %waited.next = add i64 %waited, 1
  br label %others.head

; Those of others, from the one that they take last.
help.head:
  %further = phi i64 [ 1, %others.more ], [ %further.next, %help.one ]
  %is.round = icmp sgt i64 %further, %parts
  br i1 %is.round, label %wait.all, label %help.one
help.one:
  %down = sub i64 %first, %further
  %around = add i64 %down, %parts
  %below = icmp slt i64 %down, 0
  %theirs = select i1 %below, i64 %around, i64 %down
  call void @tadc_take(ptr %job, i64 %theirs, i64 %parts, i64 %at)
  %further.next = add i64 %further, 1
  br label %help.head

wait.all:
  %looks = phi i64 [ 0, %help.head ], [ %looks.next, %again ]
  %done.all = load atomic i64, ptr %done acquire, align 8
  %all = icmp sge i64 %done.all, %until
  br i1 %all, label %phase, label %look
look:
  PAUSE
  %looks.next = add i64 %looks, 1
  %most = load i64, ptr @tadc_looks
  %long = icmp sgt i64 %looks.next, %most
  %can.yield = icmp ne ptr @sched_yield, null
  %yields = and i1 %long, %can.yield
  br i1 %yields, label %yield, label %again
yield:
  call i32 @sched_yield()
  br label %again
again:
  br label %wait.all
}

; Computes a part of a phase, if nobody has taken it.
define internal void @tadc_take(ptr %job, i64 %part, i64 %parts, i64 %phase) noinline {
entry:
  %job.state = getelementptr %job, ptr %job, i64 0, i32 4
  %state = load ptr, ptr %job.state
  %taken = getelementptr %state, ptr %state, i64 0, i32 3, i64 %part
  %times = load atomic i64, ptr %taken monotonic, align 8
  %free = icmp eq i64 %times, %phase
  br i1 %free, label %try, label %end

try:
  %next = add i64 %phase, 1
  %swap = cmpxchg ptr %taken, i64 %phase, i64 %next acq_rel monotonic
  %mine = extractvalue { i64, i1 } %swap, 1
  br i1 %mine, label %run, label %end

run:
  %body = load ptr, ptr %job
  %job.args = getelementptr %job, ptr %job, i64 0, i32 1
  %args = load ptr, ptr %job.args
  call void %body(ptr %args, i64 %phase, i64 %next, i64 %part, i64 %parts)
  %done = getelementptr %state, ptr %state, i64 0, i32 1
  atomicrmw add ptr %done, i64 1 acq_rel
  br label %end

end:
  ret void
}
