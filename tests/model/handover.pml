/* How a stream of messages is handed over from MPI to Laneway, for the model checker Spin:
   docs/concepts/point-to-point.md. Two ranks send each other MESSAGES messages of one stream each. The sender alone
   decides from which number on they go as entries. Some of these only say that their message, which is long, comes by MPI
   in a way of its own. MPI keeps the order of what it carries and of the receives that it has; entries overtake each
   other. A run defines what makes the protocol wrong. */

#ifndef MESSAGES
#define MESSAGES 2
#endif
#define none 255

/* Of the stream to rank r. */
typedef stream {
  byte sent;              /* messages that the sender has begun */
  byte from;              /* the sender's own: the first that is an entry */
  byte entry[MESSAGES];   /* 1: on its way, 2: on its way, and the message comes by MPI, 3: taken */
  chan messages = [MESSAGES] of { byte };
  bool own_way[MESSAGES]; /* long messages, each with a tag that is in its entry */
  /* The receiver's. */
  byte begun;             /* receives */
  byte known;             /* the first that is an entry, once one has come */
  byte next;              /* the next entry to be given to a receive */
  byte come[MESSAGES];    /* entries that have come, as above */
  byte got[MESSAGES];     /* 1: has its message, 2: waits for one that has a way of its own */
  chan receives = [MESSAGES + 1] of { byte }; /* that MPI has */
  byte all
};
stream to[2];

inline send(s) {
  if
  :: s.from == none -> s.messages!s.sent
  :: s.from == none -> s.from = s.sent; s.entry[s.sent] = 1
  :: s.from != none -> s.entry[s.sent] = 1
  :: s.from != none -> s.entry[s.sent] = 2;
#ifdef SAME_WAY
    s.messages!s.sent
#else
    s.own_way[s.sent] = true
#endif
  fi;
  s.sent++
}

inline receive(s) {
  if
  :: s.known == none || s.begun < s.known -> s.receives!s.begun
  :: else
  fi;
  s.begun++
}

/* MPI: the oldest message goes to the oldest receive. */
inline match(s) {
  s.messages?m;
  s.receives?r;
  assert(m == r && s.got[r] == 0);
  s.got[r] = 1;
  s.all++
}

/* The first one hands the stream over: what MPI has been given for it and later ones is cancelled. */
inline take_entry(s) {
  select(m : 0 .. MESSAGES - 1);
  if
  :: s.entry[m] == 1 || s.entry[m] == 2 ->
    s.come[m] = s.entry[m];
    s.entry[m] = 3;
    if
    :: s.known == none ->
      s.known = s.from;
      s.next = s.from;
#ifndef NO_CANCEL
      r = s.known;
      do
      :: r < s.begun -> assert(s.got[r] == 0); s.receives??eval(r); r++
      :: else -> break
      od
#endif
    :: else
    fi
  :: else
  fi
}

/* In their order. One that says that its message comes by MPI gives that the receive. */
inline give(s) {
  m = s.next;
  if
  :: m < s.begun && s.come[m] == 1 -> assert(s.got[m] == 0); s.got[m] = 1; s.all++; s.come[m] = 0; s.next++
  :: m < s.begun && s.come[m] == 2 ->
#ifdef SAME_WAY
    s.receives!m;
#else
    s.got[m] = 2;
#endif
    s.come[m] = 0;
    s.next++
  :: else
  fi
}

inline match_long(s) {
  select(m : 0 .. MESSAGES - 1);
  if
  :: s.got[m] == 2 && s.own_way[m] -> s.got[m] = 1; s.all++
  :: else
  fi
}

proctype rank(byte me) {
  byte m, r;
  do
  :: atomic { to[1 - me].sent < MESSAGES -> send(to[1 - me]) }
#ifdef WAITS_IN_MPI
  /* Until the receive is complete nothing else is done but what MPI does. */
  :: atomic { to[me].begun < MESSAGES -> r = to[me].begun; receive(to[me]) };
    if
    :: to[me].known == none ->
      do
      :: to[me].got[to[me].begun - 1] == 1 -> break
      :: atomic { nempty(to[me].messages) && nempty(to[me].receives) -> match(to[me]) }
      od
    :: else
    fi
#else
  :: atomic { to[me].begun < MESSAGES -> receive(to[me]) }
#endif
  :: atomic { nempty(to[me].messages) && nempty(to[me].receives) -> match(to[me]) }
  :: atomic { to[me].all < MESSAGES -> match_long(to[me]) }
  :: atomic { to[me].all < MESSAGES -> take_entry(to[me]) }
  :: atomic { to[me].next < MESSAGES && to[me].known != none -> give(to[me]) }
  :: to[0].all == MESSAGES && to[1].all == MESSAGES -> break
  od;
  assert(empty(to[me].receives))
}

init {
  atomic {
    to[0].from = none; to[0].known = none;
    to[1].from = none; to[1].known = none;
#ifdef ONE_WAY
    to[0].sent = MESSAGES; to[0].begun = MESSAGES; to[0].next = MESSAGES; to[0].all = MESSAGES;
#endif
    run rank(0);
    run rank(1)
  }
}
