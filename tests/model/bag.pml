/* Rounds of a bag, for the model checker Spin: docs/use/discovery.md. Rank 0 is a node of its own; ranks 1 and 2 share
   another, and what rank 0 sends to rank 2 is handed on by rank 1. A bundle is one message, and each way has credit for
   one. Ranks 1 and 2 tell rank 0 what they have sent and got in the round, and it says whether that was all. A run
   defines what makes the protocol wrong. */

#ifndef MESSAGES
#define MESSAGES 2 /* of a rank in a round, at most */
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define NOBODY 3
#define WAY(to, from) (3 * (to) + (from))
#define HOP(to) (me == 0 -> 1 : to)
#define AT(round) (2 * me + (round) % 2)

/* Bundles: who gets the message, and its round. */
chan bundles[9] = [1] of { byte, byte };
chan credits[9] = [1] of { bit };
chan up[3] = [1] of { byte, byte };
chan down[3] = [1] of { bool };

byte sent[6];
byte arrived[6];
/* For the assertion alone: messages of a round that have not come yet. */
byte missing[ROUNDS];

#ifdef NO_TAKE_WHILE_WAITING
#define TAKES (wants == NOBODY)
#else
#define TAKES true
#endif

#ifdef LOST_CREDIT
#define CREDIT(o) if :: me == 2 -> skip :: else -> credits[WAY(o, me)] ! 1 fi
#else
#define CREDIT(o) credits[WAY(o, me)] ! 1
#endif

/* What has come from rank o is taken, or held to be handed on. */
#define HEAR(o) \
  :: atomic { nempty(bundles[WAY(me, o)]) && TAKES && held_for[o] == NOBODY -> \
       bundles[WAY(me, o)] ? to, number; \
       if \
       :: to == me -> arrived[AT(number)]++; missing[number]--; CREDIT(o) \
       :: else -> held_for[o] = to; held_round[o] = number \
       fi; \
       to = 0; number = 0 }
#define HAND_ON(o) \
  :: atomic { held_for[o] != NOBODY && !in_flight[held_for[o]] -> \
       bundles[WAY(held_for[o], me)] ! held_for[o], held_round[o]; \
       in_flight[held_for[o]] = true; held_for[o] = NOBODY; CREDIT(o) }
#define GET_CREDIT(o) :: atomic { nempty(credits[WAY(me, o)]) -> credits[WAY(me, o)] ? _; in_flight[o] = false }
#define WANT(o) :: atomic { left > 0 && wants == NOBODY -> wants = o; left-- }
#define IDLE (left == 0 && wants == NOBODY && !in_flight[0] && !in_flight[1] && !in_flight[2] && \
              held_for[0] == NOBODY && held_for[1] == NOBODY && held_for[2] == NOBODY)

proctype rank(byte me; byte a; byte b) {
  byte round, left = MESSAGES, wants = NOBODY, to, number, sum, all;
  byte held_for[3] = NOBODY;
  byte held_round[3];
  bool in_flight[3];
  bool told, done;
again:
  do
  HEAR(a)
  HEAR(b)
  HAND_ON(a)
  HAND_ON(b)
  GET_CREDIT(a)
  GET_CREDIT(b)
  WANT(a)
  WANT(b)
  :: atomic { left > 0 && wants == NOBODY -> left-- } /* sends fewer */
  :: atomic { wants != NOBODY && !in_flight[HOP(wants)] ->
       bundles[WAY(HOP(wants), me)] ! wants, round;
       in_flight[HOP(wants)] = true;
       sent[AT(round)]++;
       missing[round]++;
       wants = NOBODY }
  /* A rank that has nothing on its way tells what it knows: rank 0 when it has heard the others. */
  :: atomic { me != 0 && !told && IDLE -> up[me] ! sent[AT(round)], arrived[AT(round)]; told = true }
  :: atomic { me != 0 && nempty(down[me]) -> down[me] ? done; told = false; goto answered }
  :: atomic { me == 0 && IDLE && nempty(up[1]) && nempty(up[2]) ->
       sum = sent[AT(round)];
       all = arrived[AT(round)];
       up[1] ? to, number; sum = sum + to; all = all + number;
       up[2] ? to, number; sum = sum + to; all = all + number;
#ifdef EARLY_END
       done = true;
#else
       done = (sum == all);
#endif
       to = 0; number = 0; sum = 0; all = 0;
       down[1] ! done; down[2] ! done;
       goto answered }
  od;
answered:
  atomic {
    if
    :: done ->
      assert(missing[round] == 0);
      sent[AT(round)] = 0;
      arrived[AT(round)] = 0;
      round++;
      left = MESSAGES;
      done = false
    :: else
    fi;
    if
    :: round == ROUNDS
    :: else -> goto again
    fi
  }
}

init {
  atomic {
    run rank(0, 1, 2);
    run rank(1, 2, 0);
    run rank(2, 0, 1)
  }
}
