#include "operations/collective/execution/own.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "mpi/check.hpp"
#include "operations/choose/device_support.hpp"
#include "operations/request/mpi_exchange.hpp"
#include "runtime/device/memory.hpp"

namespace laneway {

Place::Place(MPI_Comm given) : comm(given) {
  require(comm != MPI_COMM_NULL, ErrorKind::communicator, "comm: MPI_COMM_NULL");
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  is_inter = inter != 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  peers = ranks;
  if (is_inter) check_mpi(MPI_Comm_remote_size(comm, &peers), "MPI_Comm_remote_size");
}

namespace {

void refuse_device(const void* buffer, const char* name) {
  const MemoryInfo memory = memory_at(buffer);
  require(memory.host_may_touch() || device_support(Device(memory)).takes, ErrorKind::unsupported, [&] {
    return std::string(name) +
           ": memory of a device, which the MPI library does not take; operations between two groups are its own";
  });
}

}  // namespace

void Place::check_between(const CollectiveCall& call) const {
  require(call.fault == nullptr, ErrorKind::argument, call.fault);
  require(call.kind != DenseKind::scan && call.kind != DenseKind::exscan, ErrorKind::communicator,
          "comm: an intercommunicator, on which there are no scans");
  const bool is_rooted = has_root(call.kind);
  if (call.kind == DenseKind::barrier || (is_rooted && call.root == MPI_PROC_NULL)) return;
  const bool from_root = call.kind == DenseKind::scatter || call.kind == DenseKind::scatterv;
  const bool is_bcast = call.kind == DenseKind::bcast;
  if (!is_bcast && (!is_rooted || from_root == is_root(call))) refuse_device(call.sendbuf, "sendbuf");
  if (is_bcast || !is_rooted || from_root != is_root(call))
    refuse_device(call.recvbuf, is_bcast ? "buffer" : "recvbuf");
}

int Place::run(const CollectiveCall& call, bool has_to_help) const {
  const std::unique_ptr<HostImages> images = images_of(call, MemoryKind::host);
  if (!images && !has_to_help)
    if (const std::optional<int> ended = MpiCall::run_as_given(call, comm)) return *ended;
  const auto borrows = has_to_help ? MpiCall::Borrows::types : MpiCall::Borrows::all;
  int code = MPI_SUCCESS;
  const auto run_own = [&] {
    MpiCall own(images ? on_images(call, *images) : call, peers, ranks, is_root(call), borrows);
    code = has_to_help ? own.run_progressing(comm) : own.run(comm);
  };
  images ? images->run(run_own) : run_own();
  return code;
}

std::unique_ptr<Work> Place::start(const CollectiveCall& call) const {
  std::unique_ptr<HostImages> images = images_of(call, MemoryKind::host);
  auto own = mpi(call, images.get(), MpiCall::Borrows::types);
  auto exchange = std::make_unique<MpiExchange>(std::move(own), rank, comm, std::move(images));
  exchange->start_once();
  return exchange;
}

std::unique_ptr<Work> Place::make(const CollectiveCall& call) const {
  std::unique_ptr<HostImages> images = images_of(call, MemoryKind::pinned);
  auto own = mpi(call, images.get(), MpiCall::Borrows::nothing);
  const std::shared_ptr<PrivateComm> duplicate = PrivateComm::make();
  duplicate->duplicate(comm);
  return std::make_unique<MpiExchange>(std::move(own), rank, duplicate->get(), std::move(images), duplicate);
}

}  // namespace laneway
