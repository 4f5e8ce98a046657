// What is made of index arrays, on a GPU: bit for bit what `backend/cpu/inspector.ll` makes. Elements are
// i32, in row-major order without gaps. `backend/cuda/device_inspector.py` launches the kernels.
//
// A thread has a run of elements that follow each other, and counters of its own, so nothing is added at the
// same place by two threads, and what comes out does not depend on which one is first.
gpu.module @inspector {
  // `to[t] = t`.
  gpu.func @numbers(%to.at: memref<1xi32>,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %n = arith.index_castui %t : index to i32
      memref.store %n, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `table[d, t]` becomes how many keys of the run of t have the digit d, of 8 bits from `shift` on.
  gpu.func @tally(%keys.at: memref<1xi32>,
      %order.at: memref<1xi32>,
      %table.at: memref<1xi32>,
      %count: index,
      %run: index,
      %threads: index,
      %shift: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %keys = memref.reinterpret_cast %keys.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %order = memref.reinterpret_cast %order.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %table = memref.reinterpret_cast %table.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
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
        memref.store %zero, %table[%cell] : memref<?xi32, strided<[1]>>
      }
      scf.for %q = %begin to %end step %c1 {
        %e.narrow = memref.load %order[%q] : memref<?xi32, strided<[1]>>
        %e = arith.index_castui %e.narrow : i32 to index
        %key.narrow = memref.load %keys[%e] : memref<?xi32, strided<[1]>>
        %key = arith.index_castui %key.narrow : i32 to index
        %shifted = arith.shrui %key, %shift : index
        %digit = arith.andi %shifted, %last : index
        %row = arith.muli %digit, %threads : index
        %cell = arith.addi %row, %t : index
        %there = memref.load %table[%cell] : memref<?xi32, strided<[1]>>
        %one = arith.constant 1 : i32
        %more = arith.addi %there, %one : i32
        memref.store %more, %table[%cell] : memref<?xi32, strided<[1]>>
      }
    }
    gpu.return
  }

  // The places of a run in the order of the digit of their keys: `table` has where the next of each goes.
  gpu.func @place(%keys.at: memref<1xi32>,
      %order.at: memref<1xi32>,
      %table.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %count: index,
      %run: index,
      %threads: index,
      %shift: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %keys = memref.reinterpret_cast %keys.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %order = memref.reinterpret_cast %order.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %table = memref.reinterpret_cast %table.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
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
        %e.narrow = memref.load %order[%q] : memref<?xi32, strided<[1]>>
        %e = arith.index_castui %e.narrow : i32 to index
        %key.narrow = memref.load %keys[%e] : memref<?xi32, strided<[1]>>
        %key = arith.index_castui %key.narrow : i32 to index
        %shifted = arith.shrui %key, %shift : index
        %digit = arith.andi %shifted, %last : index
        %row = arith.muli %digit, %threads : index
        %cell = arith.addi %row, %t : index
        %there = memref.load %table[%cell] : memref<?xi32, strided<[1]>>
        %one = arith.constant 1 : i32
        %more = arith.addi %there, %one : i32
        memref.store %more, %table[%cell] : memref<?xi32, strided<[1]>>
        %next = arith.index_castui %there : i32 to index
        memref.store %e.narrow, %to[%next] : memref<?xi32, strided<[1]>>
      }
    }
    gpu.return
  }

  // `to[t]` becomes the sum of a run of cells.
  gpu.func @sums(%cells.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %count: index,
      %run: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %cells = memref.reinterpret_cast %cells.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
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
      %sum = scf.for %n = %begin to %end step %c1 iter_args(%before = %zero) -> (i32) {
        %x = memref.load %cells[%n] : memref<?xi32, strided<[1]>>
        %after = arith.addi %before, %x : i32
        scf.yield %after : i32
      }
      memref.store %sum, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // Each cell of a run becomes the sum of those before it: `bases[t]` is that of those before the run.
  gpu.func @scan(%cells.at: memref<1xi32>,
      %bases.at: memref<1xi32>,
      %count: index,
      %run: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %cells = memref.reinterpret_cast %cells.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %bases = memref.reinterpret_cast %bases.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %begin = arith.muli %t, %run : index
      %behind = arith.addi %begin, %run : index
      %end = arith.minui %behind, %count : index
      %base = memref.load %bases[%t] : memref<?xi32, strided<[1]>>
      %sum = scf.for %n = %begin to %end step %c1 iter_args(%before = %base) -> (i32) {
        %x = memref.load %cells[%n] : memref<?xi32, strided<[1]>>
        memref.store %before, %cells[%n] : memref<?xi32, strided<[1]>>
        %after = arith.addi %before, %x : i32
        scf.yield %after : i32
      }
    }
    gpu.return
  }

  // `to[t]` becomes the largest of a run, taken as unsigned.
  gpu.func @most(%from.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %count: index,
      %run: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %from = memref.reinterpret_cast %from.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
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
        %x = memref.load %from[%n] : memref<?xi32, strided<[1]>>
        %after = arith.maxui %before, %x : i32
        scf.yield %after : i32
      }
      memref.store %top, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `to[t]` becomes 1 where an element of the run is more than the one after it, else 0.
  // `count` is one less than there are.
  gpu.func @falls(%from.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %count: index,
      %run: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %from = memref.reinterpret_cast %from.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
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
        %x = memref.load %from[%n] : memref<?xi32, strided<[1]>>
        %y = memref.load %from[%m] : memref<?xi32, strided<[1]>>
        %less = arith.cmpi slt, %y, %x : i32
        %bit = arith.extui %less : i1 to i32
        %after = arith.ori %before, %bit : i32
        scf.yield %after : i32
      }
      memref.store %any, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `to[0]` becomes 1 where an element differs from the other one at its place: thread t compares those at t + k*threads.
  gpu.func @differs(%one.at: memref<1xi32>,
      %other.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %count: index,
      %run: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %one = memref.reinterpret_cast %one.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %other = memref.reinterpret_cast %other.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
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
          %x = memref.load %one[%n] : memref<?xi32, strided<[1]>>
          %y = memref.load %other[%n] : memref<?xi32, strided<[1]>>
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
        memref.store %yes, %to[%c0] : memref<?xi32, strided<[1]>>
      }
    }
    gpu.return
  }

  // `to[v]` becomes how many keys, which increase in the order given, are less than v.
  gpu.func @starts(%keys.at: memref<1xi32>,
      %order.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %count: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %keys = memref.reinterpret_cast %keys.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %order = memref.reinterpret_cast %order.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
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
        %e.narrow = memref.load %order[%middle] : memref<?xi32, strided<[1]>>
        %e = arith.index_castui %e.narrow : i32 to index
        %keys.narrow = memref.load %keys[%e] : memref<?xi32, strided<[1]>>
        %keys.key = arith.index_castui %keys.narrow : i32 to index
        %before = arith.cmpi ult, %keys.key, %t : index
        %above = arith.addi %middle, %c1 : index
        %low.next = arith.select %before, %above, %low : index
        %high.next = arith.select %before, %high, %middle : index
        scf.yield %low.next, %high.next : index, index
      }
      %n = arith.index_castui %found#0 : index to i32
      memref.store %n, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `to[u, v]`, v below `width`, becomes how many pairs of keys are less, which increase in the order given.
  gpu.func @joint_starts(%keys.at: memref<1xi32>,
      %others.at: memref<1xi32>,
      %order.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %count: index,
      %width: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %keys = memref.reinterpret_cast %keys.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %others = memref.reinterpret_cast %others.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %order = memref.reinterpret_cast %order.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %u = arith.divui %t, %width : index
      %v = arith.remui %t, %width : index
      %found:2 = scf.while (%low = %c0, %high = %count) : (index, index) -> (index, index) {
        %open = arith.cmpi ult, %low, %high : index
        scf.condition(%open) %low, %high : index, index
      } do {
      ^bb0(%low: index, %high: index):
        %both = arith.addi %low, %high : index
        %middle = arith.shrui %both, %c1 : index
        %e.narrow = memref.load %order[%middle] : memref<?xi32, strided<[1]>>
        %e = arith.index_castui %e.narrow : i32 to index
        %keys.narrow = memref.load %keys[%e] : memref<?xi32, strided<[1]>>
        %keys.key = arith.index_castui %keys.narrow : i32 to index
        %others.narrow = memref.load %others[%e] : memref<?xi32, strided<[1]>>
        %others.key = arith.index_castui %others.narrow : i32 to index
        %is.less = arith.cmpi ult, %keys.key, %u : index
        %is.same = arith.cmpi eq, %keys.key, %u : index
        %other = arith.cmpi ult, %others.key, %v : index
        %is.then = arith.andi %is.same, %other : i1
        %before = arith.ori %is.less, %is.then : i1
        %above = arith.addi %middle, %c1 : index
        %low.next = arith.select %before, %above, %low : index
        %high.next = arith.select %before, %high, %middle : index
        scf.yield %low.next, %high.next : index, index
      }
      %n = arith.index_castui %found#0 : index to i32
      memref.store %n, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `to[e]` becomes the n below `rows` with `starts[n] <= e < starts[n + 1]`, or `rows` where there is none.
  // `count` is rows + 1.
  gpu.func @owners(%starts.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %count: index,
      %rows: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %starts = memref.reinterpret_cast %starts.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
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
        %start.narrow = memref.load %starts[%middle] : memref<?xi32, strided<[1]>>
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
      memref.store %narrow, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `to[t]` becomes how many parts of `length` elements are from `starts[t]` to the next; the last one is 0.
  gpu.func @counts(%starts.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %length: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %starts = memref.reinterpret_cast %starts.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %next = arith.addi %t, %c1 : index
      %is.range = arith.cmpi ult, %next, %threads : index
      %found = scf.if %is.range -> index {
        %begin.narrow = memref.load %starts[%t] : memref<?xi32, strided<[1]>>
        %begin = arith.index_castui %begin.narrow : i32 to index
        %end.narrow = memref.load %starts[%next] : memref<?xi32, strided<[1]>>
        %end = arith.index_castui %end.narrow : i32 to index
        %elements = arith.subi %end, %begin : index
        %parts = arith.divui %elements, %length : index
        scf.yield %parts : index
      } else {
        scf.yield %c0 : index
      }
      %narrow = arith.index_castui %found : index to i32
      memref.store %narrow, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `to[t]` becomes where those end that begin at `begins[t]`, of which `wholes` are counted; the last one is 0.
  gpu.func @rests(%begins.at: memref<1xi32>,
      %wholes.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %length: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %begins = memref.reinterpret_cast %begins.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %wholes = memref.reinterpret_cast %wholes.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %next = arith.addi %t, %c1 : index
      %is.range = arith.cmpi ult, %next, %threads : index
      %found = scf.if %is.range -> index {
        %begin.narrow = memref.load %begins[%t] : memref<?xi32, strided<[1]>>
        %begin = arith.index_castui %begin.narrow : i32 to index
        %before.narrow = memref.load %wholes[%t] : memref<?xi32, strided<[1]>>
        %before = arith.index_castui %before.narrow : i32 to index
        %until.narrow = memref.load %wholes[%next] : memref<?xi32, strided<[1]>>
        %until = arith.index_castui %until.narrow : i32 to index
        %parts = arith.subi %until, %before : index
        %elements = arith.muli %parts, %length : index
        %rest = arith.addi %begin, %elements : index
        scf.yield %rest : index
      } else {
        scf.yield %c0 : index
      }
      %narrow = arith.index_castui %found : index to i32
      memref.store %narrow, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `to[c]` becomes where the c-th part begins, which is one of the range `owners[c]`; 0 of none, `rows`.
  gpu.func @parts(%begins.at: memref<1xi32>,
      %wholes.at: memref<1xi32>,
      %owners.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %length: index,
      %rows: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %begins = memref.reinterpret_cast %begins.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %wholes = memref.reinterpret_cast %wholes.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %owners = memref.reinterpret_cast %owners.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %owner.narrow = memref.load %owners[%t] : memref<?xi32, strided<[1]>>
      %owner = arith.index_castui %owner.narrow : i32 to index
      %is.part = arith.cmpi ult, %owner, %rows : index
      %found = scf.if %is.part -> index {
        %begin.narrow = memref.load %begins[%owner] : memref<?xi32, strided<[1]>>
        %begin = arith.index_castui %begin.narrow : i32 to index
        %before.narrow = memref.load %wholes[%owner] : memref<?xi32, strided<[1]>>
        %before = arith.index_castui %before.narrow : i32 to index
        %parts = arith.subi %t, %before : index
        %elements = arith.muli %parts, %length : index
        %start = arith.addi %begin, %elements : index
        scf.yield %start : index
      } else {
        scf.yield %c0 : index
      }
      %narrow = arith.index_castui %found : index to i32
      memref.store %narrow, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // One subscript of each place in an array: `to[t] = places[t] / stride % extent`.
  gpu.func @subscripts(%places.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %stride: index,
      %extent: index,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %places = memref.reinterpret_cast %places.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %place.narrow = memref.load %places[%t] : memref<?xi32, strided<[1]>>
      %place = arith.index_castui %place.narrow : i32 to index
      %line = arith.divui %place, %stride : index
      %subscript = arith.remui %line, %extent : index
      %narrow = arith.index_castui %subscript : index to i32
      memref.store %narrow, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }

  // `to[t] = array[places[t]]`.
  gpu.func @taken(%array.at: memref<1xi32>,
      %places.at: memref<1xi32>,
      %to.at: memref<1xi32>,
      %threads: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = arith.constant 256 : index
    %most = arith.constant 0x7fffffff : index
    %array = memref.reinterpret_cast %array.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %places = memref.reinterpret_cast %places.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %to = memref.reinterpret_cast %to.at to offset: [0], sizes: [%most], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
    %id = gpu.thread_id x
    %number = gpu.block_id x
    %first = arith.muli %number, %block : index
    %t = arith.addi %first, %id : index
    %is.one = arith.cmpi ult, %t, %threads : index
    scf.if %is.one {
      %place.narrow = memref.load %places[%t] : memref<?xi32, strided<[1]>>
      %place = arith.index_castui %place.narrow : i32 to index
      %x = memref.load %array[%place] : memref<?xi32, strided<[1]>>
      memref.store %x, %to[%t] : memref<?xi32, strided<[1]>>
    }
    gpu.return
  }
}
