// Under lnw_parameters=calibrate MPI's own collectives are timed, and rules are compared with them.

#include <algorithm>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"
#include "mpi/library.hpp"
#include "operations/collective/knowledge.hpp"
#include "setting.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class OwnCollectivesTest : public MpiTest {};

TEST_F(OwnCollectivesTest, AreTimedWhereNodesAreLearnt) {
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  for (const bool calibrates : {true, false}) {
    const Setting parameters("LANEWAY_PARAMETERS", calibrates ? "calibrate" : "");
    const Comm comm = duplicate_of(MPI_COMM_WORLD);
    const std::shared_ptr<const DenseKnowledge> known = know_dense(Communicator::of(comm.get()));
    const OwnCollectives& own = known->parameters->own_collectives;
    if (!calibrates) {
      EXPECT_TRUE(own.operations.empty());
      continue;
    }
    EXPECT_TRUE(library_version().starts_with(own.mpi) && !own.mpi.empty());
    EXPECT_EQ(own.ranks, size());
    EXPECT_EQ(own.nodes, known->layout.regions());
    std::vector<double> seconds;
    for (const char* const operation :
         {"barrier", "alltoall", "allgather", "gather", "scatter", "bcast", "reduce", "allreduce"})
      for (const std::int64_t bytes : {0, 8, 100, 16384}) {
        if (bytes > 0 && std::string(operation) == "barrier") continue;
        const std::optional<double> one = own.seconds(operation, bytes);
        ASSERT_TRUE(one) << operation << " of " << bytes;
        EXPECT_GT(*one, 0) << operation << " of " << bytes;
        seconds.push_back(*one);
      }
    std::vector<double> of_first = seconds;
    MPI_Bcast(of_first.data(), static_cast<int>(of_first.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    EXPECT_EQ(seconds, of_first);
  }
}

}  // namespace
}  // namespace laneway::test
