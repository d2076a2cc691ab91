/* Who lets a message of a partitioned exchange go, for the model checker Spin: threads make partitions ready while another
   one starts the exchange (src/channel/readiness.hpp). A message must go, and once, however they interleave. In any round
   the exchange may run before the first partition can be ready: then nobody claims the message, and nobody else looks. */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef ITERATIONS
#define ITERATIONS 3
#endif

byte missing;
bool runs;
bool ran_at_first;
bool has_gone;
byte written;
byte sent;
byte finished;
byte round;

inline go() {
  assert(runs);
  assert(written == THREADS);
  sent++
}

inline let_go() {
  bool before;
#ifdef NO_CLAIM
  before = has_gone;
  has_gone = true;
#else
  atomic { before = has_gone; has_gone = true };
#endif
  if
  :: !before -> go()
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
    :: left == 0 && ran_at_first -> go()
    :: left == 0 && !ran_at_first && runs -> let_go()
    :: else
    fi;
    atomic { finished++ }
  }
}

proctype starter() {
  byte k;
  bool first;
  for (k : 1 .. ITERATIONS) {
    if
    :: first = false
    :: first = true
    fi;
    d_step {
      missing = THREADS;
      runs = first;
      ran_at_first = first;
      has_gone = false;
      written = 0;
      sent = 0;
      finished = 0;
      round = k
    };
#ifdef LOOK_ALWAYS
    first = false;
#endif
    if
    :: first
    :: else ->
#ifdef COUNT_FIRST
      if
      :: missing == 0 -> runs = true; let_go()
      :: else -> runs = true
      fi
#else
      runs = true;
      if
      :: missing == 0 -> let_go()
      :: else
      fi
#endif
    fi;
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
