#pragma once

namespace laneway {

class Queue;

/// One thread of the process advances all queues that have hired it. It sleeps while none has work for it.

/// Throws std::system_error.
void hire(Queue& queue);
/// Returns when the thread does not look at the queue any more. `has_graphs`: as long as it could be launched, that was
/// one piece of work.
void dismiss(Queue& queue, bool has_graphs);

/// So many pieces of work more, or less.
void give_work(int pieces);
void take_work(int pieces);

}  // namespace laneway
