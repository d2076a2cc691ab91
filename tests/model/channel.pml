/* The words of a channel through memory, for the model checker Spin: docs/reference/shared-memory-protocol.md. Each
   segment has one or several threads of the sender's and one of the receiver's. A run defines what makes the protocol
   wrong. */

#ifndef SEGMENTS
#define SEGMENTS 2
#endif
#ifndef ITERATIONS
#define ITERATIONS 3
#endif
#ifndef PUTTERS /* threads that put into the same segment */
#define PUTTERS 1
#endif

/* In shared memory, for each segment: two halves of its data, the number of the last put and of the last release. */
byte data[2 * SEGMENTS];
byte put[SEGMENTS];
byte released[SEGMENTS];
bool sender_closed;

/* The sender's own: how often it has put. Who raises it from the number of the last release may write. */
byte own[SEGMENTS];

byte done;

inline write(s, n, who) {
  data[2 * s] = (n) * PUTTERS + who;
  data[2 * s + 1] = (n) * PUTTERS + who
}

proctype sender(byte s; byte who) {
  byte before;
  bool claimed;
  do
  :: own[s] == ITERATIONS -> break
  :: else ->
#ifdef NO_CREDIT
    before = own[s];
#else
    before = released[s];
#endif
    claimed = false;
#ifdef NO_EXCHANGE
    if
    :: own[s] == before && before < ITERATIONS -> claimed = true; own[s] = before + 1
    :: else
    fi;
#else
    atomic {
      if
      :: own[s] == before && before < ITERATIONS -> claimed = true; own[s] = before + 1
      :: else
      fi
    };
#endif
    if
    :: claimed ->
#ifdef WORD_FIRST
      put[s] = before + 1;
      write(s, before + 1, who)
#else
      write(s, before + 1, who);
      put[s] = before + 1
#endif
    :: else
    fi
  od;
  atomic {
    done++;
    if
    :: done == SEGMENTS * PUTTERS -> sender_closed = true
    :: else
    fi
  }
}

/* What has been put before the sender closed comes: the receiver looks at the word once more after it has seen that. */
proctype receiver(byte s) {
  byte n;
  for (n : 1 .. ITERATIONS) {
    do
    :: put[s] == n -> break
    :: sender_closed ->
#ifdef NO_SECOND_LOOK
      assert(false)
#else
      assert(put[s] == n);
      break
#endif
    od;
    assert(data[2 * s] / PUTTERS == n);
    assert(data[2 * s + 1] == data[2 * s]);
#ifdef RELEASE_BEFORE_READ
    released[s] = n;
    assert(data[2 * s] / PUTTERS == n)
#else
    released[s] = n
#endif
  }
}

init {
  byte s, who;
  atomic {
    for (s : 0 .. SEGMENTS - 1) {
      for (who : 0 .. PUTTERS - 1) { run sender(s, who) }
      run receiver(s)
    }
  }
}
