/* The words of a channel through memory, for the model checker Spin: docs/reference/shared-memory-protocol.md. Each
   segment has a thread of the sender's and one of the receiver's. A run defines what makes the protocol wrong. */

#ifndef SEGMENTS
#define SEGMENTS 2
#endif
#ifndef ITERATIONS
#define ITERATIONS 3
#endif

/* In shared memory, for each segment: two halves of its data, the number of the last put and of the last release. */
byte data[2 * SEGMENTS];
byte put[SEGMENTS];
byte released[SEGMENTS];
bool sender_closed;

#ifdef NO_CREDIT
#define IS_FREE(s, n) true
#else
#define IS_FREE(s, n) (released[s] == n - 1)
#endif

byte done;

proctype sender(byte s) {
  byte n;
  for (n : 1 .. ITERATIONS) {
    IS_FREE(s, n);
#ifdef WORD_FIRST
    put[s] = n;
    data[2 * s] = n;
    data[2 * s + 1] = n
#else
    data[2 * s] = n;
    data[2 * s + 1] = n;
    put[s] = n
#endif
  }
  atomic {
    done++;
    if
    :: done == SEGMENTS -> sender_closed = true
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
    assert(data[2 * s] == n);
    assert(data[2 * s + 1] == n);
#ifdef RELEASE_BEFORE_READ
    released[s] = n;
    assert(data[2 * s] == n)
#else
    released[s] = n
#endif
  }
}

init {
  byte s;
  atomic {
    for (s : 0 .. SEGMENTS - 1) {
      run sender(s);
      run receiver(s)
    }
  }
}
