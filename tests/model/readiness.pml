/* Who lets a message of a partitioned exchange go, for the model checker Spin: threads make partitions ready while another
   one starts the exchange (src/operations/channel/readiness.hpp). A message must go, and once, however they interleave; the next
   exchange begins when it has gone, while threads may still be on their way out. In any round the exchange may run before
   the first partition can be ready: then the start is not counted. */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef ITERATIONS
#define ITERATIONS 3
#endif

byte missing;
bool runs;
bool has_gone;
byte written;
byte sent;
byte round;

inline go() {
  assert(runs);
  assert(written == THREADS);
  assert(sent == 0);
  sent++
}

inline count() {
  d_step { missing--; left = missing };
  if
  :: left == 0 -> go()
  :: else
  fi
}

#ifdef LOOK_AFTER
/* One who has counted looks whether the exchange runs, and the other way round. */
inline let_go() {
  bool before;
  atomic { before = has_gone; has_gone = true };
  if
  :: !before -> go()
  :: else
  fi
}
#endif

proctype thread() {
  byte k, left;
  for (k : 1 .. ITERATIONS) {
    round == k;
    atomic { written++ };
#ifdef LOOK_AFTER
    d_step { missing--; left = missing };
    if
    :: left == 0 && runs -> let_go()
    :: else
    fi
#else
    count()
#endif
  }
}

proctype starter() {
  byte k, left;
  bool first;
  for (k : 1 .. ITERATIONS) {
    if
    :: first = false
    :: first = true
    fi;
    d_step {
      missing = THREADS;
#ifndef LOOK_AFTER
      if
      :: first
      :: else -> missing++
      fi;
#endif
      runs = first;
      has_gone = false;
      written = 0;
      sent = 0;
      round = k
    };
    if
    :: first
    :: else ->
#ifdef COUNT_FIRST
      count();
      runs = true
#else
      runs = true;
#ifdef LOOK_AFTER
      if
      :: missing == 0 -> let_go()
      :: else
      fi
#else
      count()
#endif
#endif
    fi;
    sent == 1
  }
}

init {
  byte t;
  atomic {
    run starter();
    for (t : 1 .. THREADS) { run thread() }
  }
}
