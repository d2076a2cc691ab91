// Queues where MPI_THREAD_MULTIPLE is not given.
#include "support.hpp"

namespace laneway::test {
namespace {

class QueueByHostTest : public MpiTest {};

TEST_F(QueueByHostTest, ThreadsAreRefusedAndTheHostAdvances) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  LNW_Queue queue = LNW_QUEUE_NULL;
  const int code = LNW_Queue_init(&queue, LNW_QUEUE_HOST, nullptr);
  EXPECT_NE(code, MPI_SUCCESS);
  if (!is_mpich()) {
    EXPECT_NE(error_text(code).find("a queue needs MPI_THREAD_MULTIPLE"), std::string::npos) << error_text(code);
  }
  ASSERT_EQ(queue, LNW_QUEUE_NULL);
  EXPECT_MPI(LNW_Queue_init(&queue, LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST, nullptr));
  std::int64_t mine = rank() + 1, sum = 0;
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Allreduce_init(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (int round = 0; round < 4; ++round) {
    sum = 0;
    EXPECT_MPI(LNW_Enqueue_start(queue, &request));
    EXPECT_MPI(LNW_Enqueue_wait(queue, &request));
    for (int flag = 0; round % 2 == 0 && !flag;) EXPECT_MPI(LNW_Queue_progress(queue, &flag));
    EXPECT_MPI(LNW_Queue_wait(queue));
    EXPECT_EQ(sum, size() * (size() + 1) / 2);
  }
  EXPECT_MPI(LNW_Queue_free(&queue));
  EXPECT_MPI(LNW_Request_free(&request));
}

}  // namespace
}  // namespace laneway::test
