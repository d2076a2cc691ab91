#include "c/operation.hpp"

#include <new>

#include "carriers/messages/p2p.hpp"

namespace laneway {

namespace {

Communicator& communicator_of(MPI_Comm comm) {
  return Communicator::of(comm);
}
Communicator& communicator_of(LNW_Topology topology) {
  return topology_of(topology);
}
Communicator& communicator_of_nonblocking(MPI_Comm comm) {
  return Communicator::of_nonblocking(comm);
}
Communicator& communicator_of_nonblocking(LNW_Topology topology) {
  return topology_of(topology);
}

template <class Where>
int run(const char* call, Where where, const Operation& operation) noexcept {
  return guarded(call, where, [&] {
    run_blocking(
        communicator_of(where),
        [&](const Topology& topology) {
          check_buffers(operation.buffers.send, operation.buffers.receive);
          return operation.types(topology);
        },
        operation.sizes, operation.arguments, operation.buffers);
  });
}

/// `make(check)` makes the request, where `check` is to be called before the arguments are described.
template <class Where, class Make>
int make_request(const char* call, Where where, LNW_Request* request, const Operation& operation,
                 const Make& make) noexcept {
  return guarded(call, where, [&] {
    auto made = make([&] {
      require_pointer(request, "request");
      check_buffers(operation.buffers.send, operation.buffers.receive);
    });
    *request = handle_of(std::move(made));
  });
}

template <class Where>
int make_nonblocking(const char* call, Where where, LNW_Request* request, const Operation& operation) noexcept {
  const SizesOf unknown_arguments = [&] {
    Sizes sizes = operation.sizes();
    sizes.arguments = {};
    return sizes;
  };
  // Without `request` the arguments must be looked at, whatever they are.
  const SizesOf& sizes = request != nullptr ? operation.sizes : unknown_arguments;
  return make_request(call, where, request, operation, [&](const auto& check) {
    const DescribeTypes checked = [&](const Topology& topology) {
      check();
      return operation.types(topology);
    };
    const ArgumentLists& arguments = request != nullptr ? operation.arguments : ArgumentLists{};
    return Request::make_nonblocking(communicator_of_nonblocking(where), checked, sizes, arguments, operation.buffers);
  });
}

template <class Where>
int make_persistent(const char* call, Where where, MPI_Info info, LNW_Request* request,
                    const Operation& operation) noexcept {
  return make_request(call, where, request, operation, [&](const auto& check) {
    const Describe checked = [&](const Topology& topology) {
      check();
      return operation.describe(topology);
    };
    return Request::make(communicator_of(where), info, checked,
                         operation.bind ? std::optional(operation.buffers) : std::nullopt);
  });
}

std::int64_t size_of(MPI_Datatype sendtype) {
  require(sendtype != MPI_DATATYPE_NULL, ErrorKind::type, "sendtype is MPI_DATATYPE_NULL");
  MPI_Count size = 0;
  check_mpi(MPI_Type_size_x(sendtype, &size), "MPI_Type_size_x");
  return size;
}

SizesOf uniform(Uniform operation, MPI_Count sendcount, MPI_Datatype sendtype) {
  return [=] {
    std::int64_t bytes = 0;
    require(!__builtin_mul_overflow(sendcount, size_of(sendtype), &bytes), ErrorKind::count,
            [&] { return "sendcount is " + std::to_string(sendcount) + ": more than 2^63 bytes"; });
    return Sizes{operation, bytes, {}, {}};
  };
}

enum class Varying : std::int64_t { allgatherv, alltoallv, alltoallw };

SizesOf varying(Varying operation, const ArgumentLists& arguments) {
  return [=] {
    return Sizes{std::nullopt, 0, {static_cast<std::int64_t>(operation), size_of(arguments.types[0])}, arguments};
  };
}

/// alltoallw has a type for each edge: that they appear in the same call on all ranks is all that is promised of them.
SizesOf varying_types(const ArgumentLists& arguments) {
  return [=] { return Sizes{std::nullopt, 0, {static_cast<std::int64_t>(Varying::alltoallw)}, arguments}; };
}

/// What `build` makes. Where that fails, an operation that says so where arguments are looked at, as all ranks do
/// before they agree.
template <class Build>
Operation built(const Build& build) noexcept {
  try {
    return build();
  } catch (...) {
    Operation failed;
    failed.indexed = [](const Topology&) -> RankPattern { throw std::bad_alloc(); };
    failed.sizes = []() -> Sizes { throw std::bad_alloc(); };
    return failed;
  }
}

}  // namespace

Operation allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype) noexcept {
  return built([&] {
    const ArgumentLists arguments{Form::allgather, {sendtype, recvtype}, {sendcount, recvcount}};
    return Operation{{sendbuf, recvbuf},
                     [=](const Topology& t) {
                       return typed_allgather(t, {sendcount, sendtype}, {recvcount, recvtype});
                     },
                     nullptr,
                     uniform(Uniform::allgather, sendcount, sendtype),
                     arguments};
  });
}

Operation allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Integers recvcounts, Integers displs, MPI_Datatype recvtype) noexcept {
  return built([&] {
    const ArgumentLists arguments{Form::allgatherv, {sendtype, recvtype}, {sendcount, 0}, {}, {recvcounts, displs}};
    return Operation{{sendbuf, recvbuf},
                     [=](const Topology& t) {
                       return typed_allgatherv(t, {sendcount, sendtype}, {recvcounts, displs, recvtype});
                     },
                     nullptr,
                     varying(Varying::allgatherv, arguments),
                     arguments};
  });
}

Operation alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype) noexcept {
  return built([&] {
    const ArgumentLists arguments{Form::alltoall, {sendtype, recvtype}, {sendcount, recvcount}};
    return Operation{{sendbuf, recvbuf},
                     [=](const Topology& t) {
                       return typed_alltoall(t, {sendcount, sendtype}, {recvcount, recvtype});
                     },
                     nullptr,
                     uniform(Uniform::alltoall, sendcount, sendtype),
                     arguments};
  });
}

Operation alltoallv(const void* sendbuf, Integers sendcounts, Integers sdispls, MPI_Datatype sendtype, void* recvbuf,
                    Integers recvcounts, Integers rdispls, MPI_Datatype recvtype) noexcept {
  return built([&] {
    const ArgumentLists arguments{
        Form::alltoallv, {sendtype, recvtype}, {}, {sendcounts, sdispls}, {recvcounts, rdispls}};
    return Operation{{sendbuf, recvbuf},
                     [=](const Topology& t) {
                       return typed_alltoallv(t, {sendcounts, sdispls, sendtype}, {recvcounts, rdispls, recvtype});
                     },
                     nullptr,
                     varying(Varying::alltoallv, arguments),
                     arguments};
  });
}

Operation alltoallw(const void* sendbuf, Integers sendcounts, Integers sdispls, const MPI_Datatype sendtypes[],
                    void* recvbuf, Integers recvcounts, Integers rdispls, const MPI_Datatype recvtypes[]) noexcept {
  return built([&] {
    const ArgumentLists arguments{Form::alltoallw,       {}, {}, {sendcounts, sdispls}, {recvcounts, rdispls},
                                  {sendtypes, recvtypes}};
    return Operation{{sendbuf, recvbuf},
                     [=](const Topology& t) {
                       return typed_alltoallw(t, {sendcounts, sdispls, sendtypes}, {recvcounts, rdispls, recvtypes});
                     },
                     nullptr,
                     varying_types(arguments),
                     arguments};
  });
}

Operation alltoallv_indexed(const void* sendbuf, MPI_Count sendsize, Integers sendcounts, const MPI_Count sendindices[],
                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize, Integers recvcounts,
                            const MPI_Count recvindices[], MPI_Datatype recvtype) noexcept {
  return built([&] {
    return Operation{{sendbuf, recvbuf},
                     nullptr,
                     [=](const Topology& t) {
                       return describe_indexed(t, {sendsize, sendcounts, sendindices, sendtype},
                                               {recvsize, recvcounts, recvindices, recvtype});
                     },
                     nullptr,
                     {},
                     sendbuf != nullptr || recvbuf != nullptr};
  });
}

int blocking(const char* call, MPI_Comm comm, const Operation& operation) noexcept {
  return run(call, comm, operation);
}
int blocking(const char* call, LNW_Topology topology, const Operation& operation) noexcept {
  return run(call, topology, operation);
}
int nonblocking(const char* call, MPI_Comm comm, LNW_Request* request, const Operation& operation) noexcept {
  return make_nonblocking(call, comm, request, operation);
}
int nonblocking(const char* call, LNW_Topology topology, LNW_Request* request, const Operation& operation) noexcept {
  return make_nonblocking(call, topology, request, operation);
}
int persistent(const char* call, MPI_Comm comm, MPI_Info info, LNW_Request* request,
               const Operation& operation) noexcept {
  return make_persistent(call, comm, info, request, operation);
}
int persistent(const char* call, LNW_Topology topology, MPI_Info info, LNW_Request* request,
               const Operation& operation) noexcept {
  return make_persistent(call, topology, info, request, operation);
}

}  // namespace laneway
