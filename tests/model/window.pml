/* How ranks of one node exchange messages through shared memory, for the model checker Spin.
   docs/reference/shared-memory-protocol.md tells the protocol. A run defines one topology (PAIR, CHAIN, …), SHARED if requests share their staging memory and Wait waits for
   its readers, or READY if they share it and the next exchange does, TWO_PLACES if staging memory has a place for every second exchange,
   SLOTS if mailboxes have more than two, CROSS_OVER if those of a pair change their slots, and what makes ranks block or
   the protocol wrong. CMakeLists.txt lists the runs and the verdict that each must get. */

#ifndef ITERATIONS
#define ITERATIONS 3
#endif

/* Kinds of messages. One over the network may begin or end on a node that is not modelled: ELSEWHERE. */
#define MAILBOX 1
#define PUSH 2
#define PULL 3
#define NETWORK 4
#define ELSEWHERE 9

/* The area of shared memory in which a message's bytes lie. A mailbox has one for each of its slots. */
#ifndef SLOTS
#define SLOTS 2
#endif
#define NOWHERE 99

/* Sets of ranks or messages. */
#define NONE 0
#define ONE(i) (1 << (i))
#define IN(set, i) (((set) >> (i)) & 1)

/* message(number, request, kind, from, to, area, after, pulling): it can go when the messages `after` have come; the
   network reads it from their areas. The ranks `pulling` read what it brings into its own area. */
#if defined(PAIR) /* each sends to the other */
#define RANKS 2
#define MESSAGES 2
#define AREAS 4
inline messages() {
  message(0, 0, MAILBOX, 0, 1, 0, NONE, NONE);
#ifdef CROSS_OVER
  message(1, 0, MAILBOX, 1, 0, 0, NONE, NONE)
#else
  message(1, 0, MAILBOX, 1, 0, 2, NONE, NONE)
#endif
}
#elif defined(CHAIN) /* nobody hears from those to whom it sends */
#define RANKS 3
#define MESSAGES 2
#define AREAS (2 * SLOTS)
inline messages() {
  message(0, 0, MAILBOX, 0, 1, 0, NONE, NONE);
  message(1, 0, MAILBOX, 1, 2, SLOTS, NONE, NONE)
}
#elif defined(LANE) /* rank 1 sends to another node for ranks 0 and 2, and receives for them */
#define RANKS 3
#define AREAS 3
inline messages() {
  message(0, 0, PUSH, 0, 1, 0, NONE, NONE);
  message(1, 0, PUSH, 2, 1, 1, NONE, NONE);
  message(2, 0, NETWORK, 1, ELSEWHERE, NOWHERE, ONE(0) + ONE(1), NONE);
  message(3, 0, NETWORK, ELSEWHERE, 1, 2, NONE, ONE(0) + ONE(2));
  message(4, 0, PULL, 1, 0, 2, ONE(3), NONE);
  message(5, 0, PULL, 1, 2, 2, ONE(3), NONE)
}
#elif defined(NODES) /* rank 2 is another node; rank 1 sends to it and receives from it for rank 0; mailboxes besides */
#define RANKS 3
#define AREAS 6
inline messages() {
  message(0, 0, PUSH, 0, 1, 0, NONE, NONE);
  message(1, 0, NETWORK, 1, 2, NOWHERE, ONE(0), NONE);
  message(2, 0, NETWORK, 2, 1, 1, NONE, ONE(0));
  message(3, 0, PULL, 1, 0, 1, ONE(2), NONE);
  message(4, 0, MAILBOX, 0, 1, 2, NONE, NONE);
  message(5, 0, MAILBOX, 1, 0, 4, NONE, NONE)
}
#elif defined(SCATTER) /* rank 1 receives from another node for rank 0, which nobody needs */
#define RANKS 2
#define MESSAGES 2
#define AREAS 1
inline messages() {
  message(0, 0, NETWORK, ELSEWHERE, 1, 0, NONE, ONE(0));
  message(1, 0, PULL, 1, 0, 0, ONE(0), NONE)
}
#elif defined(RELAY) /* rank 2 pulls what rank 0 has pushed */
#define RANKS 3
#define MESSAGES 2
#define AREAS 1
inline messages() {
  message(0, 0, PUSH, 0, 1, 0, NONE, ONE(2));
  message(1, 0, PULL, 1, 2, 0, ONE(0), NONE)
}
#elif defined(CROSSED) /* two requests in the same areas; in each, both ranks pull from each other */
#define RANKS 2
#define REQUESTS 2
#define AREAS 2
inline messages() {
  message(0, 0, NETWORK, ELSEWHERE, 0, 0, NONE, ONE(1));
  message(1, 0, PULL, 0, 1, 0, ONE(0), NONE);
  message(2, 0, NETWORK, ELSEWHERE, 1, 1, NONE, ONE(0));
  message(3, 0, PULL, 1, 0, 1, ONE(2), NONE);
  message(4, 1, NETWORK, ELSEWHERE, 0, 0, NONE, ONE(1));
  message(5, 1, PULL, 0, 1, 0, ONE(4), NONE);
  message(6, 1, NETWORK, ELSEWHERE, 1, 1, NONE, ONE(0));
  message(7, 1, PULL, 1, 0, 1, ONE(6), NONE)
}
#elif defined(REUSED) /* two requests; rank 1 scatters in one from where it gathers in the other */
#define RANKS 3
#define REQUESTS 2
#define AREAS 2
inline messages() {
  message(0, 0, PUSH, 0, 1, 0, NONE, NONE);
  message(1, 0, NETWORK, 1, ELSEWHERE, NOWHERE, ONE(0), NONE);
  message(2, 0, NETWORK, ELSEWHERE, 1, 1, NONE, ONE(2));
  message(3, 0, PULL, 1, 2, 1, ONE(2), NONE);
  message(4, 1, PUSH, 0, 1, 1, NONE, NONE);
  message(5, 1, NETWORK, 1, ELSEWHERE, NOWHERE, ONE(4), NONE);
  message(6, 1, NETWORK, ELSEWHERE, 1, 0, NONE, ONE(2));
  message(7, 1, PULL, 1, 2, 0, ONE(6), NONE)
}
#elif defined(HANDED) /* two requests; rank 1 scatters from the area into which the other request gathers */
#define RANKS 3
#define REQUESTS 2
#define AREAS 1
inline messages() {
  message(0, 0, NETWORK, ELSEWHERE, 1, 0, NONE, ONE(2));
  message(1, 0, PULL, 1, 2, 0, ONE(0), NONE);
  message(2, 1, PUSH, 0, 1, 0, NONE, NONE);
  message(3, 1, NETWORK, 1, ELSEWHERE, NOWHERE, ONE(2), NONE)
}
#endif
#ifndef REQUESTS
#define REQUESTS 1
#endif

#ifdef MESSAGES
#define ALL(step) step(0) step(1)
#define EACH_MESSAGE(p, x) (p(x, 0) && p(x, 1))
#else
#define MESSAGES 8
#define ALL(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)
#define EACH_MESSAGE(p, x) (p(x, 0) && p(x, 1) && p(x, 2) && p(x, 3) && p(x, 4) && p(x, 5) && p(x, 6) && p(x, 7))
#endif
#if RANKS == 2
#define EACH_RANK(p, x) (p(x, 0) && p(x, 1))
#else
#define EACH_RANK(p, x) (p(x, 0) && p(x, 1) && p(x, 2))
#endif

hidden byte request[MESSAGES];
hidden byte kind[MESSAGES];
hidden byte from[MESSAGES];
hidden byte to[MESSAGES];
hidden byte area[MESSAGES];
hidden byte after[MESSAGES];
hidden byte pulling[MESSAGES];

/* In shared memory: to which exchange each has come. One rank writes a word, others read it. The flag of a message over
   the network is MPI's answer to the receiver. */
byte started[REQUESTS * RANKS];
byte completed[REQUESTS * RANKS];
byte ready[RANKS];
byte flag[SLOTS * MESSAGES];

/* Between a rank and MPI, or its own. */
byte taken[MESSAGES];
byte sending[MESSAGES];
byte sent[MESSAGES];
byte receiving[MESSAGES];

/* What messages outside of the exchange tell: whose Wait has returned; and whether ranks wait for the next one or for the
   one before. */
byte returned[REQUESTS * RANKS];
bool upwards;

/* Which request is started at each turn, a bit for each turn: any order, the same on all ranks. */
byte order;

/* The bytes of an area are two halves that tell request and exchange. `unread` counts who has yet to read what is being
   or has been written. */
#ifdef TWO_PLACES
#define PLACES (2 * AREAS)
#else
#define PLACES AREAS
#endif
byte memory[2 * PLACES];
byte unread[PLACES];

/* With READY, exchanges are counted over all requests. */
#ifdef READY
#define AT(r) (r)
#define BYTES k
#define TURNS (REQUESTS * ITERATIONS)
#define HAS_TURN(m) (IN(order, k - 1) == request[m])
#else
#define AT(r) (q * RANKS + (r))
#define BYTES (q * ITERATIONS + k)
#define TURNS ITERATIONS
#define HAS_TURN(m) true
#endif
#ifdef ONE_SLOT
#define SLOT(m) 0
#elif defined(CROSS_OVER)
#define SLOT(m) ((k + (m)) % 2)
#else
#define SLOT(m) (kind[m] == MAILBOX -> k % SLOTS : 0)
#endif
#ifdef CROSS_OVER
#define FLAG(m) flag[SLOT(m)]
#else
#define FLAG(m) flag[SLOTS * (m) + SLOT(m)]
#endif
#ifdef TWO_PLACES
#define PLACE(m) (area[m] + (kind[m] == MAILBOX -> SLOT(m) : AREAS * (k % 2)))
#else
#define PLACE(m) (area[m] + SLOT(m))
#endif

inline write_half(m) {
#ifndef ONLY_BYTES
  assert(unread[PLACE(m)] == 0);
#endif
  unread[PLACE(m)] = (pulling[m] == NONE) + IN(pulling[m], 0) + IN(pulling[m], 1) + IN(pulling[m], 2);
  memory[2 * PLACE(m)] = BYTES
}
inline write_rest(m) {
  memory[2 * PLACE(m) + 1] = BYTES
}
inline read_half(m) {
  assert(memory[2 * PLACE(m)] == BYTES)
}
inline read_rest(m) {
  assert(memory[2 * PLACE(m) + 1] == BYTES);
  unread[PLACE(m)]--
}

/* The rules, for rank r in exchange k of request q: memory is written again after so many exchanges. */
#ifndef LAG
#ifdef TWO_PLACES
#define LAG 2
#else
#define LAG 1
#endif
#endif
#define HAS_PULLED(set, i) (!IN(set, i) || completed[AT(i)] + LAG >= k)
#if defined(READY) && !defined(PRIVATE_PUSH_RULE)
#define MAY_PUSH(m) (ready[to[m]] >= k)
#elif defined(SHARED) && !defined(PRIVATE_PUSH_RULE)
#define MAY_PUSH(m) (started[AT(to[m])] >= k)
#elif defined(NO_PUSH_RULE)
#define MAY_PUSH(m) true
#elif defined(RELAY_RULE)
#define MAY_PUSH(m) (completed[AT(to[m])] + LAG >= k && EACH_RANK(HAS_PULLED, pulling[m]))
#else
#define MAY_PUSH(m) (completed[AT(to[m])] + LAG >= k)
#endif
#if defined(READY) && !defined(NO_PULL_RULE)
#define MAY_RECEIVE(m) (ready[r] >= k)
#elif defined(SHARED) || defined(NO_PULL_RULE)
#define MAY_RECEIVE(m) true
#else
#define MAY_RECEIVE(m) EACH_RANK(HAS_PULLED, pulling[m])
#endif

/* Nobody reads from rank r any more what the exchange before has left there, in whatever request. */
#define READS_NO_MORE(r, m) (kind[m] != PULL || from[m] != (r) || completed[AT(to[m])] + 1 >= k)
#define EACH_READS_NO_MORE(r) EACH_MESSAGE(READS_NO_MORE, r)
#ifdef READY
#define RAISE :: d_step { ready[r] < k && EACH_READS_NO_MORE(r) -> ready[r] = k }
#else
#define RAISE
#endif

#define SENDS(what, m) (kind[m] == what && request[m] == q && from[m] == r)
#define TAKES(what, m) (kind[m] == what && request[m] == q && to[m] == r)
#define HAS_COME(set, i) (!IN(set, i) || flag[SLOTS * (i)] >= k)

#define CAN_MAIL(m) (SENDS(MAILBOX, m) && FLAG(m) < k)
#define CAN_PUSH(m) (SENDS(PUSH, m) && flag[SLOTS * (m)] < k && MAY_PUSH(m))
#define CAN_SEND(m) (SENDS(NETWORK, m) && sending[m] < k && EACH_MESSAGE(HAS_COME, after[m]))
#define CAN_TELL(m) (SENDS(PULL, m) && flag[SLOTS * (m)] < k && EACH_MESSAGE(HAS_COME, after[m]))
#define CAN_RECEIVE(m) (TAKES(NETWORK, m) && receiving[m] < k && MAY_RECEIVE(m))
#define CAN_TAKE(m) ((TAKES(PULL, m) || TAKES(MAILBOX, m)) && taken[m] < k && FLAG(m) >= k)

#define HAS_SENT(m) \
  ((!SENDS(PUSH, m) && !SENDS(PULL, m) || flag[SLOTS * (m)] == k) && (!SENDS(NETWORK, m) || sent[m] == k))
#define HAS_TAKEN(m) \
  ((!TAKES(PULL, m) && !TAKES(MAILBOX, m) || taken[m] == k) && (!TAKES(NETWORK, m) || flag[SLOTS * (m)] == k))
#define IS_DONE(r, m) (HAS_SENT(m) && HAS_TAKEN(m))
#ifndef AHEAD
#define AHEAD (SLOTS - 2)
#endif
#define HAS_STARTED(what, m) (!SENDS(what, m) || started[AT(to[m])] + AHEAD >= k)
#define HAS_COMPLETED(what, m) (!SENDS(what, m) || completed[AT(to[m])] >= k)

/* To see that something can be done and to begin it is one step of the model. That hides nothing: what a rank waits for
   stays true until it acts. */
#define MAIL(m) \
  :: d_step { CAN_MAIL(m) -> write_half(m) }; write_rest(m); FLAG(m) = k
#define STEP(m) \
  :: d_step { CAN_PUSH(m) -> write_half(m) }; write_rest(m); flag[SLOTS * m] = k \
  :: d_step { CAN_SEND(m) -> sending[m] = k } \
  :: d_step { CAN_TELL(m) -> flag[SLOTS * m] = k } \
  :: d_step { CAN_RECEIVE(m) -> receiving[m] = k } \
  :: d_step { CAN_TAKE(m) -> read_half(m) }; d_step { read_rest(m); taken[m] = k }

inline start() {
  started[AT(r)] = k;
  do
  ALL(MAIL)
  :: else -> break
  od
#ifdef BLOCKED
  ;
  /* All that can be done at once is. Then the rank may wait for a neighbour, and nothing advances the exchange here. */
  do
  ALL(STEP)
  RAISE
  :: else -> break
  od;
  if
  :: true
  :: IN(BLOCKED, r) && upwards && r + 1 < RANKS -> returned[AT(r + 1)] >= k
  :: IN(BLOCKED, r) && !upwards && r > 0 -> returned[AT(r - 1)] >= k
  fi
#endif
}

#ifdef ACKNOWLEDGED_FIRST
#define IS_COMPLETE (EACH_MESSAGE(IS_DONE, r) && EACH_MESSAGE(HAS_COMPLETED, PULL))
#else
#define IS_COMPLETE EACH_MESSAGE(IS_DONE, r)
#endif

inline wait() {
  do
  ALL(STEP)
  RAISE
  :: d_step { IS_COMPLETE -> completed[AT(r)] = k }; break
  od;
#if defined(SHARED) && !defined(NO_ACKNOWLEDGEMENT)
  EACH_MESSAGE(HAS_COMPLETED, PULL);
#endif
#ifndef NO_STARTED_RULE
  EACH_MESSAGE(HAS_STARTED, MAILBOX);
#endif
#ifdef BLOCKED
  returned[AT(r)] = k
#endif
}

proctype rank(byte r) {
  byte turn, q, k;
  do
  :: turn < REQUESTS * ITERATIONS ->
    atomic {
      q = IN(order, turn);
      k = started[AT(r)] + 1
    }
    start();
    wait();
    turn++
  :: else -> break
  od
}

/* The network has read a send's areas early, or at any time until it is received. */
proctype outgoing(byte m) {
  byte k, i;
  byte q = request[m];
  for (k : 1 .. TURNS) {
    if
    :: !HAS_TURN(m)
    :: else ->
      if
      :: sending[m] == k
      :: sending[m] == k && to[m] != ELSEWHERE && receiving[m] >= k
      fi;
      do
      :: d_step { i < MESSAGES && IN(after[m], i) -> read_half(i) }; d_step { read_rest(i); i++ }
      :: i < MESSAGES && !IN(after[m], i) -> i++
      :: d_step { i == MESSAGES -> sent[m] = k; i = 0 }; break
      od
    fi
  }
}

#define HAS_ARRIVED (receiving[m] == k && (from[m] == ELSEWHERE || sent[m] >= k))
proctype incoming(byte m) {
  byte k;
  byte q = request[m];
  for (k : 1 .. TURNS) {
    if
    :: !HAS_TURN(m)
    :: else ->
      if
      :: d_step { HAS_ARRIVED && area[m] != NOWHERE -> write_half(m) }; write_rest(m)
      :: HAS_ARRIVED && area[m] == NOWHERE
      fi;
      flag[SLOTS * m] = k
    fi
  }
}

inline message(number, request_, kind_, from_, to_, area_, after_, pulling_) {
  request[number] = request_;
  kind[number] = kind_;
  from[number] = from_;
  to[number] = to_;
  area[number] = area_;
  after[number] = after_;
  pulling[number] = pulling_
}

init {
  byte i, second;
  atomic {
    messages();
#ifdef BLOCKED
    if
    :: upwards = true
    :: upwards = false
    fi;
#endif
#if REQUESTS == 2
    /* The requests are alike, so the first turn is the first one's. */
    i = 1;
    do
    :: i < 2 * ITERATIONS && i - second < ITERATIONS -> i++
    :: i < 2 * ITERATIONS && second < ITERATIONS ->
      order = order | ONE(i);
      second++;
      i++
    :: i == 2 * ITERATIONS -> break
    od;
    second = 0;
#endif
    for (i : 0 .. RANKS - 1) {
      run rank(i)
    }
    for (i : 0 .. MESSAGES - 1) {
      if
      :: kind[i] == NETWORK && from[i] != ELSEWHERE -> run outgoing(i)
      :: else
      fi;
      if
      :: kind[i] == NETWORK && to[i] != ELSEWHERE -> run incoming(i)
      :: else
      fi
    }
  }
}
