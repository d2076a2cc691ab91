/* How events of a plan come in and go out, for the model checker Spin: counts in src/runtime/executor/executor.hpp, fired as
   src/operations/request/edge_partitions.hpp does. Two threads make a partition of their own ready, which both name a byte: its
   event is fired by whoever comes first. A third thread fires an event of its own, possibly before the exchange starts.
   A fourth looks at what has arrived. Who waits for the exchange starts the next one while the others return. */

#ifndef ITERATIONS
#define ITERATIONS 3
#endif

/* The executor's counts: exchanges, events that came in, and one that goes out. */
byte exchanges;
byte own_count[2];
byte shared_count;
byte early_count;
byte gone_out;

/* The user's buffers, and what the user knows. */
byte own[2];
byte shared;
byte early;
byte received;
byte round;
byte completed;
byte looked;

/* How often partition 0 became ready, and who has returned. */
byte successes;
byte returned;

/* Two loads and a compare-exchange. */
inline fire_once(count, came) {
  now = exchanges;
#ifdef NO_EXCHANGE
  came = (count == now - 1);
  if
  :: came -> count = now
  :: else
  fi
#else
  atomic {
    came = (count == now - 1);
    if
    :: came -> count = now
    :: else
    fi
  }
#endif
}

inline ready(t) {
#ifdef OWN_FIRST
  fire_once(own_count[t], came);
  fire_once(shared_count, ignored)
#else
#ifdef COUNT_ALL
  atomic { shared_count++ };
#else
  fire_once(shared_count, ignored);
#endif
  fire_once(own_count[t], came)
#endif
}

proctype partition(byte t) {
  byte k, now;
  bool came, ignored;
  for (k : 1 .. ITERATIONS) {
    round == k;
    own[t] = k;
    shared = k;  /* both write the same */
    ready(t);
#ifdef TWICE
    atomic {
      if
      :: t == 0 && came -> successes++
      :: else
      fi;
      returned++
    }
#else
    assert(came)
#endif
  }
}

#ifdef TWICE
/* Says once more that partition 0 is ready: of the two, one is told that it is already. */
proctype twin() {
  byte k, now;
  bool came, ignored;
  for (k : 1 .. ITERATIONS) {
    round == k;
    own[0] = k;
    shared = k;
    ready(0);
    atomic {
      if
      :: came -> successes++
      :: else
      fi;
      returned++
    }
  }
}
#endif

proctype before_start() {
  byte k;
  for (k : 1 .. ITERATIONS) {
#ifdef TWICE
    returned == 3 * k;
#endif
    completed == k - 1;
    early = k;
    atomic { early_count++ }
  }
}

proctype reader() {
  byte k, out;
  for (k : 1 .. ITERATIONS) {
    round == k;
    do
    :: out = gone_out;
      if
      :: out == exchanges -> break
      :: else
      fi
    od;
    assert(received == k);
    looked = k
  }
}

/* Sends what has come in, in any order, and completes. */
proctype executor() {
  byte k;
  bool sent_own0, sent_own1, sent_shared, sent_early;
  for (k : 1 .. ITERATIONS) {
    received = 0;
    sent_own0 = false;
    sent_own1 = false;
    sent_shared = false;
    sent_early = false;
#ifdef COUNT_LATE
    round = k;
    exchanges = k;
#else
    exchanges = k;
    round = k;
#endif
    do
    :: !sent_own0 && own_count[0] >= k -> assert(own[0] == k); sent_own0 = true
    :: !sent_own1 && own_count[1] >= k -> assert(own[1] == k); sent_own1 = true
    :: !sent_shared && shared_count >= k -> assert(shared == k); sent_shared = true
    :: !sent_early && early_count >= k -> assert(early == k); sent_early = true
    :: sent_own0 && sent_own1 && sent_shared && sent_early -> break
    od;
#ifdef TWICE
    assert(successes == k);
#endif
    received = k;
    gone_out++;
    completed = k;
    looked == k
  }
}

init {
  atomic {
    run executor();
    run partition(0);
    run partition(1);
    run before_start();
    run reader();
#ifdef TWICE
    run twin()
#endif
  }
}
