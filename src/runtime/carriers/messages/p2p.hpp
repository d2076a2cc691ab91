#pragma once

#include <mpi.h>

#include "runtime/carriers/transport.hpp"

namespace laneway {

class MessageElements;

/// MPI point-to-point messages on `comm`, channel c on tag `tag_base + c`; persistent except for the smallest sends.
/// `comm` must return errors and outlive the endpoints. Messages may be larger than 2^31 bytes.
class P2PTransport final : public Transport {
 public:
  /// `elements`, if given, must outlive the transport, but not the endpoints.
  P2PTransport(MPI_Comm comm, int tag_base, const MessageElements* elements = nullptr)
      : comm_(comm), tag_base_(tag_base), elements_(elements) {}
  std::unique_ptr<Endpoint> bind(std::span<const Message> messages) override;
  [[nodiscard]] MessageNames names(Rank own, const std::vector<Rank>& peers) const override;

 private:
  MPI_Comm comm_;
  int tag_base_;
  const MessageElements* elements_;
};

}  // namespace laneway
