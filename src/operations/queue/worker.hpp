#pragma once

namespace laneway {

class Queue;

/// One thread of the process advances all queues that have hired it. It sleeps while none has work for it, and while
/// another thread does what it does.

/// Throws std::system_error.
void hire(Queue& queue);
/// Returns when the thread does not look at the queue any more. `has_graphs`: as long as it could be launched, that was
/// one piece of work.
void dismiss(Queue& queue, bool has_graphs);

/// So many pieces of work more, or less.
void give_work(int pieces);
void take_work(int pieces);

/// Whether something has happened. By any thread; returns at once where another does it.
bool advance_queues();

/// While this lives, its owner calls advance_queues again and again, and the thread sleeps: two threads would only get
/// into each other's way, most of all where they share a core.
class QueueAttendance {
 public:
  QueueAttendance();
  ~QueueAttendance();
  QueueAttendance(const QueueAttendance&) = delete;
  QueueAttendance& operator=(const QueueAttendance&) = delete;
};

}  // namespace laneway
