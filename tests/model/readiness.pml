/* Who lets a message of a partitioned exchange go, for the model checker Spin: threads make partitions ready while another
   one starts the exchange (src/channel/readiness.hpp). A message must go, and once, however they interleave. */

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
byte finished;
byte round;

inline let_go() {
  bool before;
#ifdef NO_CLAIM
  before = has_gone;
  has_gone = true;
#else
  atomic { before = has_gone; has_gone = true };
#endif
  if
  :: !before ->
    assert(runs);
    assert(written == THREADS);
    sent++
  :: else
  fi
}

proctype thread() {
  byte k, left;
  for (k : 1 .. ITERATIONS) {
    round == k;
    atomic { written++ };
    d_step { missing--; left = missing };
    if
    :: left == 0 && runs -> let_go()
    :: else
    fi;
    atomic { finished++ }
  }
}

proctype starter() {
  byte k;
  for (k : 1 .. ITERATIONS) {
    d_step {
      missing = THREADS;
      runs = false;
      has_gone = false;
      written = 0;
      sent = 0;
      finished = 0;
      round = k
    };
#ifdef COUNT_FIRST
    if
    :: missing == 0 -> runs = true; let_go()
    :: else -> runs = true
    fi;
#else
    runs = true;
    if
    :: missing == 0 -> let_go()
    :: else
    fi;
#endif
    finished == THREADS;
    assert(sent == 1)
  }
}

init {
  byte t;
  atomic {
    run starter();
    for (t : 1 .. THREADS) { run thread() }
  }
}
