#include "operations/sparse/probed.hpp"

#include "base/simulated.hpp"
#include "mpi/check.hpp"

namespace laneway {

void receive_probed(MPI_Comm comm, int tag, std::deque<std::unique_ptr<UnderWay>>& receiving) {
  for (;;) {
    int flag = 0;
    MPI_Status status;
    int bytes = 0;
    MPI_Message found = MPI_MESSAGE_NULL;
    if constexpr (simulated)
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &flag, &status), "MPI_Iprobe");
    else
      check_mpi(MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &found, &status), "MPI_Improbe");
    if (flag == 0) return;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    receiving.push_back(std::make_unique<UnderWay>());
    UnderWay& message = *receiving.back();
    message.data.resize(static_cast<std::size_t>(bytes));
    message.other = status.MPI_SOURCE;
    if constexpr (simulated)
      check_mpi(MPI_Irecv(message.data.data(), bytes, MPI_BYTE, message.other, tag, comm, &message.request),
                "MPI_Irecv");
    else
      check_mpi(MPI_Imrecv(message.data.data(), bytes, MPI_BYTE, &found, &message.request), "MPI_Imrecv");
  }
}

}  // namespace laneway
