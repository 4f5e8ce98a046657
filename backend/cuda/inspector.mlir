// What is made of index arrays, on a GPU: bit for bit what `backend/cpu/inspector.ll` makes. Elements are
// i32, in row-major order without gaps. `backend/cuda/device_inspector.py` launches the kernels.
//
// A thread has a run of elements that follow each other, and counters of its own, so nothing is added at the
// same place by two threads, and what comes out does not depend on which one is first.
!i32s = memref<2147483647xi32>
!i64s = memref<2147483647xi64>

gpu.module @inspector {
  // `to[t] = t`.
  gpu.func @numbers(%to: !i32s, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %n = arith.index_castui %t : index to i32
      memref.store %n, %to[%t] : !i32s
    }
    gpu.return
  }

  // `table[d, t]` becomes how many keys of the run of t have the digit d, of 8 bits from `shift` on.
  gpu.func @tally(%keys: !i32s, %order: !i32s, %table: !i32s, %count: index, %run: index, %threads: index,
      %shift: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %begin = arith.muli %t, %run : index
      %behind = arith.addi %begin, %run : index
      %end = arith.minui %behind, %count : index
      %zero = arith.constant 0 : i32
      %digits = arith.constant 256 : index
      %last = arith.constant 255 : index
      scf.for %d = %c0 to %digits step %c1 {
        %row = arith.muli %d, %threads : index
        %cell = arith.addi %row, %t : index
        memref.store %zero, %table[%cell] : !i32s
      }
      scf.for %q = %begin to %end step %c1 {
        %e.narrow = memref.load %order[%q] : !i32s
        %e = arith.index_castui %e.narrow : i32 to index
        %key.narrow = memref.load %keys[%e] : !i32s
        %key = arith.index_castui %key.narrow : i32 to index
        %shifted = arith.shrui %key, %shift : index
        %digit = arith.andi %shifted, %last : index
        %row = arith.muli %digit, %threads : index
        %cell = arith.addi %row, %t : index
        %there = memref.load %table[%cell] : !i32s
        %one = arith.constant 1 : i32
        %more = arith.addi %there, %one : i32
        memref.store %more, %table[%cell] : !i32s
      }
    }
    gpu.return
  }

  // The places of a run in the order of the digit of their keys: `table` has where the next of each goes.
  gpu.func @place(%keys: !i32s, %order: !i32s, %table: !i32s, %to: !i32s, %count: index, %run: index,
      %threads: index, %shift: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %begin = arith.muli %t, %run : index
      %behind = arith.addi %begin, %run : index
      %end = arith.minui %behind, %count : index
      %last = arith.constant 255 : index
      scf.for %q = %begin to %end step %c1 {
        %e.narrow = memref.load %order[%q] : !i32s
        %e = arith.index_castui %e.narrow : i32 to index
        %key.narrow = memref.load %keys[%e] : !i32s
        %key = arith.index_castui %key.narrow : i32 to index
        %shifted = arith.shrui %key, %shift : index
        %digit = arith.andi %shifted, %last : index
        %row = arith.muli %digit, %threads : index
        %cell = arith.addi %row, %t : index
        %there = memref.load %table[%cell] : !i32s
        %one = arith.constant 1 : i32
        %more = arith.addi %there, %one : i32
        memref.store %more, %table[%cell] : !i32s
        %next = arith.index_castui %there : i32 to index
        memref.store %e.narrow, %to[%next] : !i32s
      }
    }
    gpu.return
  }

  // `to[t]` becomes the sum of a run of cells, but no more than `cap`.
  gpu.func @sums(%cells: !i32s, %to: !i32s, %count: index, %run: index, %threads: index, %cap: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %cap.narrow = arith.index_castui %cap : index to i32
      %begin = arith.muli %t, %run : index
      %behind = arith.addi %begin, %run : index
      %end = arith.minui %behind, %count : index
      %zero = arith.constant 0 : i32
      %sum = scf.for %n = %begin to %end step %c1 iter_args(%before = %zero) -> (i32) {
        %x = memref.load %cells[%n] : !i32s
        %sum.all = arith.addi %before, %x : i32
        %after = arith.minui %sum.all, %cap.narrow : i32
        scf.yield %after : i32
      }
      memref.store %sum, %to[%t] : !i32s
    }
    gpu.return
  }

  // Each cell of a run becomes the sum of those before it, but no more than `cap`: `bases[t]` is that of those
  // before the run.
  gpu.func @scan(%cells: !i32s, %bases: !i32s, %count: index, %run: index, %threads: index, %cap: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %cap.narrow = arith.index_castui %cap : index to i32
      %begin = arith.muli %t, %run : index
      %behind = arith.addi %begin, %run : index
      %end = arith.minui %behind, %count : index
      %base = memref.load %bases[%t] : !i32s
      %sum = scf.for %n = %begin to %end step %c1 iter_args(%before = %base) -> (i32) {
        %x = memref.load %cells[%n] : !i32s
        memref.store %before, %cells[%n] : !i32s
        %sum.all = arith.addi %before, %x : i32
        %after = arith.minui %sum.all, %cap.narrow : i32
        scf.yield %after : i32
      }
    }
    gpu.return
  }

  // `to[t]` becomes the largest of a run, taken as unsigned.
  gpu.func @most(%from: !i32s, %to: !i32s, %count: index, %run: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %begin = arith.muli %t, %run : index
      %behind = arith.addi %begin, %run : index
      %end = arith.minui %behind, %count : index
      %zero = arith.constant 0 : i32
      %top = scf.for %n = %begin to %end step %c1 iter_args(%before = %zero) -> (i32) {
        %x = memref.load %from[%n] : !i32s
        %after = arith.maxui %before, %x : i32
        scf.yield %after : i32
      }
      memref.store %top, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[t]` becomes 1 where an element of the run is more than the one after it, else 0.
  // `count` is one less than there are.
  gpu.func @falls(%from: !i32s, %to: !i32s, %count: index, %run: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %begin = arith.muli %t, %run : index
      %behind = arith.addi %begin, %run : index
      %end = arith.minui %behind, %count : index
      %zero = arith.constant 0 : i32
      %any = scf.for %n = %begin to %end step %c1 iter_args(%before = %zero) -> (i32) {
        %m = arith.addi %n, %c1 : index
        %x = memref.load %from[%n] : !i32s
        %y = memref.load %from[%m] : !i32s
        %less = arith.cmpi slt, %y, %x : i32
        %bit = arith.extui %less : i1 to i32
        %after = arith.ori %before, %bit : i32
        scf.yield %after : i32
      }
      memref.store %any, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[0]` becomes 1 where an element differs from the other one at its place: thread t compares those at t + k*threads.
  gpu.func @differs(%one: !i32s, %other: !i32s, %to: !i32s, %count: index, %run: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %false = arith.constant false
      %any = scf.for %step = %c0 to %run step %c1 iter_args(%before = %false) -> (i1) {
        %next = arith.muli %step, %threads : index
        %n = arith.addi %next, %t : index
        %is.there = arith.cmpi ult, %n, %count : index
        %after = scf.if %is.there -> (i1) {
          %x = memref.load %one[%n] : !i32s
          %y = memref.load %other[%n] : !i32s
          %differ = arith.cmpi ne, %x, %y : i32
          %either = arith.ori %before, %differ : i1
          scf.yield %either : i1
        } else {
          scf.yield %before : i1
        }
        scf.yield %after : i1
      }
      scf.if %any {
        %yes = arith.constant 1 : i32
        memref.store %yes, %to[%c0] : !i32s
      }
    }
    gpu.return
  }

  // `to[v]` becomes how many keys, which increase in the order given, are less than v.
  gpu.func @starts(%keys: !i32s, %order: !i32s, %to: !i32s, %count: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %found:2 = scf.while (%low = %c0, %high = %count) : (index, index) -> (index, index) {
        %open = arith.cmpi ult, %low, %high : index
        scf.condition(%open) %low, %high : index, index
      } do {
      ^bb0(%low: index, %high: index):
        %both = arith.addi %low, %high : index
        %middle = arith.shrui %both, %c1 : index
        %e.narrow = memref.load %order[%middle] : !i32s
        %e = arith.index_castui %e.narrow : i32 to index
        %keys.narrow = memref.load %keys[%e] : !i32s
        %keys.key = arith.index_castui %keys.narrow : i32 to index
        %before = arith.cmpi ult, %keys.key, %t : index
        %above = arith.addi %middle, %c1 : index
        %low.next = arith.select %before, %above, %low : index
        %high.next = arith.select %before, %high, %middle : index
        scf.yield %low.next, %high.next : index, index
      }
      %n = arith.index_castui %found#0 : index to i32
      memref.store %n, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[e]` becomes the n below `rows` with `starts[n] <= e < starts[n + 1]`, or `rows` where there is none.
  // `count` is rows + 1.
  gpu.func @owners(%starts: !i32s, %to: !i32s, %count: index, %rows: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %found:2 = scf.while (%low = %c0, %high = %count) : (index, index) -> (index, index) {
        %open = arith.cmpi ult, %low, %high : index
        scf.condition(%open) %low, %high : index, index
      } do {
      ^bb0(%low: index, %high: index):
        %both = arith.addi %low, %high : index
        %middle = arith.shrui %both, %c1 : index
        %start.narrow = memref.load %starts[%middle] : !i32s
        %start = arith.index_castui %start.narrow : i32 to index
        %before = arith.cmpi ule, %start, %t : index
        %above = arith.addi %middle, %c1 : index
        %low.next = arith.select %before, %above, %low : index
        %high.next = arith.select %before, %high, %middle : index
        scf.yield %low.next, %high.next : index, index
      }
      %n = arith.subi %found#0, %c1 : index
      %is.before = arith.cmpi eq, %found#0, %c0 : index
      %owner = arith.select %is.before, %rows, %n : index
      %narrow = arith.index_castui %owner : index to i32
      memref.store %narrow, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[t]` becomes how many parts of `length` elements are from `begins[t]` up to `ends[t]`; the last one is 0.
  gpu.func @counts(%begins: !i32s, %ends: !i32s, %to: !i32s, %length: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %next = arith.addi %t, %c1 : index
      %is.range = arith.cmpi ult, %next, %threads : index
      %zero = arith.constant 0 : i32
      %found = scf.if %is.range -> i32 {
        %begin = memref.load %begins[%t] : !i32s
        %end = memref.load %ends[%t] : !i32s
        %is.some = arith.cmpi ugt, %end, %begin : i32
        %apart = arith.subi %end, %begin : i32
        %elements = arith.select %is.some, %apart, %zero : i32
        %length.narrow = arith.index_castui %length : index to i32
        %parts = arith.divui %elements, %length.narrow : i32
        scf.yield %parts : i32
      } else {
        scf.yield %zero : i32
      }
      memref.store %found, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[t]` becomes where those end that begin at `begins[t]`, of which `wholes` are counted; the last one is 0.
  gpu.func @rests(%begins: !i32s, %wholes: !i32s, %to: !i32s, %length: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %next = arith.addi %t, %c1 : index
      %is.range = arith.cmpi ult, %next, %threads : index
      %found = scf.if %is.range -> index {
        %begin.narrow = memref.load %begins[%t] : !i32s
        %begin = arith.index_castui %begin.narrow : i32 to index
        %before.narrow = memref.load %wholes[%t] : !i32s
        %before = arith.index_castui %before.narrow : i32 to index
        %until.narrow = memref.load %wholes[%next] : !i32s
        %until = arith.index_castui %until.narrow : i32 to index
        %parts = arith.subi %until, %before : index
        %elements = arith.muli %parts, %length : index
        %rest = arith.addi %begin, %elements : index
        scf.yield %rest : index
      } else {
        scf.yield %c0 : index
      }
      %narrow = arith.index_castui %found : index to i32
      memref.store %narrow, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[c]` becomes where the c-th part begins, which is one of the range `owners[c]`; 0 of none, `rows`.
  gpu.func @parts(%begins: !i32s, %wholes: !i32s, %owners: !i32s, %to: !i32s, %length: index,
      %rows: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %owner.narrow = memref.load %owners[%t] : !i32s
      %owner = arith.index_castui %owner.narrow : i32 to index
      %is.part = arith.cmpi ult, %owner, %rows : index
      %found = scf.if %is.part -> index {
        %begin.narrow = memref.load %begins[%owner] : !i32s
        %begin = arith.index_castui %begin.narrow : i32 to index
        %before.narrow = memref.load %wholes[%owner] : !i32s
        %before = arith.index_castui %before.narrow : i32 to index
        %parts = arith.subi %t, %before : index
        %elements = arith.muli %parts, %length : index
        %start = arith.addi %begin, %elements : index
        scf.yield %start : index
      } else {
        scf.yield %c0 : index
      }
      %narrow = arith.index_castui %found : index to i32
      memref.store %narrow, %to[%t] : !i32s
    }
    gpu.return
  }

  // One subscript of each place in an array: `to[t] = places[t] / stride % extent`.
  gpu.func @subscripts(%places: !i32s, %to: !i32s, %stride: index, %extent: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %place.narrow = memref.load %places[%t] : !i32s
      %place = arith.index_castui %place.narrow : i32 to index
      %line = arith.divui %place, %stride : index
      %subscript = arith.remui %line, %extent : index
      %narrow = arith.index_castui %subscript : index to i32
      memref.store %narrow, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[t] = array[places[t]]`.
  gpu.func @taken(%array: !i32s, %places: !i32s, %to: !i32s, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %place.narrow = memref.load %places[%t] : !i32s
      %place = arith.index_castui %place.narrow : i32 to index
      %x = memref.load %array[%place] : !i32s
      memref.store %x, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[t] = to[t] * factor + array[t]`, of 64 bits.
  gpu.func @cells(%to: !i64s, %array: !i32s, %factor: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %factor.wide = arith.index_cast %factor : index to i64
      %old = memref.load %to[%t] : !i64s
      %value = memref.load %array[%t] : !i32s
      %value.wide = arith.extui %value : i32 to i64
      %scaled = arith.muli %old, %factor.wide : i64
      %new = arith.addi %scaled, %value.wide : i64
      memref.store %new, %to[%t] : !i64s
    }
    gpu.return
  }

  // `to[t] = value`, of 64 bits.
  gpu.func @filled(%to: !i64s, %value: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %value.wide = arith.index_cast %value : index to i64
      memref.store %value.wide, %to[%t] : !i64s
    }
    gpu.return
  }

  // `to[t] += t / stride % extent * factor`, of 64 bits.
  gpu.func @counted(%to: !i64s, %stride: index, %extent: index, %factor: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %line = arith.divui %t, %stride : index
      %subscript = arith.remui %line, %extent : index
      %multiple = arith.muli %subscript, %factor : index
      %scaled = arith.index_cast %multiple : index to i64
      %old = memref.load %to[%t] : !i64s
      %new = arith.addi %old, %scaled : i64
      memref.store %new, %to[%t] : !i64s
    }
    gpu.return
  }

  // `to[t] += from[t] / divisor * factor`, of 64 bits, quotients rounded down.
  gpu.func @quotients(%to: !i64s, %from: !i64s, %divisor: index, %factor: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %divisor.wide = arith.index_cast %divisor : index to i64
      %factor.wide = arith.index_cast %factor : index to i64
      %whole = memref.load %from[%t] : !i64s
      %quotient = arith.floordivsi %whole, %divisor.wide : i64
      %scaled = arith.muli %quotient, %factor.wide : i64
      %old = memref.load %to[%t] : !i64s
      %new = arith.addi %old, %scaled : i64
      memref.store %new, %to[%t] : !i64s
    }
    gpu.return
  }

  // `to[t] = to[t] * extent + other[t]`, of 64 bits, or -1 where one is not below `before`, or the other not below
  // `extent`.
  gpu.func @crossed(%to: !i64s, %other: !i64s, %before: index, %extent: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %before.wide = arith.index_cast %before : index to i64
      %extent.wide = arith.index_cast %extent : index to i64
      %place = memref.load %to[%t] : !i64s
      %subscript = memref.load %other[%t] : !i64s
      %one.fits = arith.cmpi ult, %place, %before.wide : i64
      %other.fits = arith.cmpi ult, %subscript, %extent.wide : i64
      %fits = arith.andi %one.fits, %other.fits : i1
      %row = arith.muli %place, %extent.wide : i64
      %there = arith.addi %row, %subscript : i64
      %none = arith.constant -1 : i64
      %made = arith.select %fits, %there, %none : i64
      memref.store %made, %to[%t] : !i64s
    }
    gpu.return
  }

  // `to[t] += array[places[t]] * factor`, of 64 bits but for the array, which has `size` elements; others count as 0.
  gpu.func @looked(%to: !i64s, %places: !i64s, %array: !i32s, %size: index, %factor: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %size.wide = arith.index_cast %size : index to i64
      %factor.wide = arith.index_cast %factor : index to i64
      %place = memref.load %places[%t] : !i64s
      %fits = arith.cmpi ult, %place, %size.wide : i64
      scf.if %fits {
        %at = arith.index_cast %place : i64 to index
        %value = memref.load %array[%at] : !i32s
        %value.wide = arith.extui %value : i32 to i64
        %scaled = arith.muli %value.wide, %factor.wide : i64
        %old = memref.load %to[%t] : !i64s
        %new = arith.addi %old, %scaled : i64
        memref.store %new, %to[%t] : !i64s
      }
    }
    gpu.return
  }

  // `to[t] += array[t] * factor`, of 64 bits but for the array.
  gpu.func @summed(%to: !i64s, %array: !i32s, %factor: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %factor.wide = arith.index_cast %factor : index to i64
      %value = memref.load %array[%t] : !i32s
      %value.wide = arith.extui %value : i32 to i64
      %scaled = arith.muli %value.wide, %factor.wide : i64
      %old = memref.load %to[%t] : !i64s
      %new = arith.addi %old, %scaled : i64
      memref.store %new, %to[%t] : !i64s
    }
    gpu.return
  }

  // `to[t] = from[t]`, of 32 bits and of 64.
  gpu.func @narrowed(%from: !i64s, %to: !i32s, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %value = memref.load %from[%t] : !i64s
      %narrow = arith.trunci %value : i64 to i32
      memref.store %narrow, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[t]` becomes 1 where the place `order[t]` is none of those from `first` on, `asked` many, else 0.
  gpu.func @others(%order: !i32s, %to: !i32s, %first: index, %asked: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %place = memref.load %order[%t] : !i32s
      %wide = arith.index_castui %place : i32 to index
      %cell = arith.subi %wide, %first : index
      %asks = arith.cmpi ult, %cell, %asked : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %bit = arith.select %asks, %zero, %one : i32
      memref.store %bit, %to[%t] : !i32s
    }
    gpu.return
  }

  // `to[order[t] - first] = before[t]` for these places.
  gpu.func @ranks(%order: !i32s, %before: !i32s, %to: !i32s, %first: index, %asked: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %place = memref.load %order[%t] : !i32s
      %wide = arith.index_castui %place : i32 to index
      %cell = arith.subi %wide, %first : index
      %asks = arith.cmpi ult, %cell, %asked : index
      scf.if %asks {
        %found = memref.load %before[%t] : !i32s
        memref.store %found, %to[%cell] : !i32s
      }
    }
    gpu.return
  }

  // `to[t]` becomes a number that looks random, less than `range`: `seed` chooses the sequence.
  gpu.func @spread(%to: !i32s, %seed: index, %range: index, %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = arith.constant 256 : index
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first.t = arith.muli %number, %block : index
    %t = arith.addi %first.t, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %n = arith.index_castui %t : index to i32
      %start = arith.index_castui %seed : index to i32
      %golden = arith.constant -1640531535 : i32
      %step = arith.muli %n, %golden : i32
      %a = arith.addi %step, %start : i32
      %shift0 = arith.constant 16 : i32
      %a.high = arith.shrui %a, %shift0 : i32
      %a.mixed = arith.xori %a, %a.high : i32
      %factor0 = arith.constant -2048144789 : i32
      %c = arith.muli %a.mixed, %factor0 : i32
      %shift1 = arith.constant 13 : i32
      %c.high = arith.shrui %c, %shift1 : i32
      %c.mixed = arith.xori %c, %c.high : i32
      %factor1 = arith.constant -1028477387 : i32
      %e = arith.muli %c.mixed, %factor1 : i32
      %e.high = arith.shrui %e, %shift0 : i32
      %f = arith.xori %e, %e.high : i32
      %f.wide = arith.extui %f : i32 to i64
      %range.wide = arith.index_cast %range : index to i64
      %scaled = arith.muli %f.wide, %range.wide : i64
      %bits = arith.constant 32 : i64
      %found = arith.shrui %scaled, %bits : i64
      %narrow = arith.trunci %found : i64 to i32
      memref.store %narrow, %to[%t] : !i32s
    }
    gpu.return
  }
}
