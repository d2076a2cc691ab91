#include "candidates/programs/block_exchanges.hpp"

#include <laneway/laneway.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/error.hpp"
#include "candidates/candidates.hpp"

namespace laneway::bench {

namespace {

using Edges = std::vector<matrix::HaloNeighbor>;

/// Of the blocks of all neighbours, one after another: which elements they are, for people who check.
void append_side(Side& side, const Edges& edges) {
  for (const matrix::HaloNeighbor& edge : edges) {
    side.peers.push_back(edge.peer);
    side.counts.push_back(static_cast<int>(edge.indices.size()));
    for (const std::int64_t index : edge.indices) side.labels.push_back(static_cast<std::uint64_t>(index));
  }
  side.indices.resize(side.labels.size());
  std::iota(side.indices.begin(), side.indices.end(), std::int64_t{0});
}

Exchange packed_exchange(const matrix::Halo& halo, int width) {
  Exchange exchange{Op::alltoallv, false, width * static_cast<std::int64_t>(sizeof(double)), {}, {}};
  append_side(exchange.send, halo.out);
  append_side(exchange.receive, halo.in);
  return exchange;
}

/// The blocks of all neighbours in one array, one after another.
class PackedBlocks {
 public:
  PackedBlocks(const std::vector<BlockPart>& parts, const Edges& edges, int width) {
    std::vector<std::int64_t> first_of_edge{0};
    for (const matrix::HaloNeighbor& edge : edges)
      first_of_edge.push_back(first_of_edge.back() + std::ssize(edge.indices));
    for (const BlockPart& part : parts)
      first_.push_back((first_of_edge[static_cast<std::size_t>(part.edge)] + part.first) * width);
    data_.resize(static_cast<std::size_t>(first_of_edge.back() * width));
  }
  [[nodiscard]] double* place(std::size_t part) { return data_.data() + first_[part]; }
  [[nodiscard]] const double* place(std::size_t part) const { return data_.data() + first_[part]; }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(data_)); }

 private:
  std::vector<std::int64_t> first_;  // by part
  std::vector<double> data_;
};

class PackedExchange : public BlockExchange {
 public:
  explicit PackedExchange(const BlockProduct& product)
      : exchange_(packed_exchange(product.halo(), product.width())),
        send_(product.sent(), product.halo().out, product.width()),
        receive_(product.received(), product.halo().in, product.width()) {}
  [[nodiscard]] double* send_place(std::size_t part) override { return send_.place(part); }
  [[nodiscard]] const double* receive_place(std::size_t part) const override { return receive_.place(part); }

 protected:
  Exchange exchange_;
  PackedBlocks send_;
  PackedBlocks receive_;
};

/// A candidate of other benchmarks, which knows of no parts.
class WholeExchange final : public PackedExchange {
 public:
  WholeExchange(const std::string& name, const Run& run, const BlockProduct& product, const std::string& progress)
      : PackedExchange(product),
        task_{run, exchange_, {send_.bytes(), receive_.bytes()}, progress},
        candidate_(make_candidate(name, task_)) {}
  [[nodiscard]] bool is_partitioned() const override { return false; }
  void start() override { candidate_->start(); }
  void wait() override { candidate_->wait(); }

 private:
  Task task_;
  std::unique_ptr<Candidate> candidate_;
};

class PartitionedExchange final : public PackedExchange {
 public:
  PartitionedExchange(const std::string& strategy, const Run& run, const BlockProduct& product,
                      const std::string& progress)
      : PackedExchange(product), sent_(product.sent()), received_(product.received()) {
    const auto partitions = [](const std::vector<BlockPart>& parts, std::size_t edges) {
      std::vector<int> of_edge(edges, 0);
      for (const BlockPart& part : parts) ++of_edge[static_cast<std::size_t>(part.edge)];
      return of_edge;
    };
    const std::vector<int> sent = partitions(sent_, product.halo().out.size());
    const std::vector<int> received = partitions(received_, product.halo().in.size());
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    if (!run.machine.empty()) MPI_Info_set(info, "lnw_machine", run.machine.c_str());
    const Side& in = exchange_.receive;
    const Side& out = exchange_.send;
    LNW_Dist_graph_create_adjacent(run.comm, static_cast<int>(in.peers.size()), in.peers.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(out.peers.size()), out.peers.data(), MPI_UNWEIGHTED, info, 0,
                                   &comm_);
    MPI_Info_set(info, "lnw_strategy", strategy.c_str());
    if (!progress.empty()) MPI_Info_set(info, "lnw_progress", progress.c_str());
    const ElementType element(exchange_.element_bytes);
    const auto displacements = [](const Side& side) {
      std::vector<int> first(side.counts.size());
      std::exclusive_scan(side.counts.begin(), side.counts.end(), first.begin(), 0);
      return first;
    };
    LNW_Neighbor_alltoallv_init_partitioned(send_.bytes().data(), out.counts.data(), displacements(out).data(),
                                            element.get(), receive_.bytes().data(), in.counts.data(),
                                            displacements(in).data(), element.get(), sent.data(), received.data(),
                                            comm_, info, &request_);
    MPI_Info_free(&info);
  }
  ~PartitionedExchange() override {
    LNW_Request_free(&request_);
    MPI_Comm_free(&comm_);
  }
  PartitionedExchange(const PartitionedExchange&) = delete;
  PartitionedExchange& operator=(const PartitionedExchange&) = delete;

  [[nodiscard]] bool is_partitioned() const override { return true; }
  void start() override { LNW_Start(&request_); }
  void ready(std::size_t part) override { LNW_Pready_edge(request_, sent_[part].edge, sent_[part].partition); }
  [[nodiscard]] bool arrived(std::size_t part) override {
    int flag = 0;
    LNW_Parrived_edge(request_, received_[part].edge, received_[part].partition, &flag);
    return flag != 0;
  }
  void wait() override { LNW_Wait(&request_, MPI_STATUS_IGNORE); }

 private:
  std::vector<BlockPart> sent_;
  std::vector<BlockPart> received_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

#ifdef LANEWAY_HAVE_MPI_PARTITIONED
/// All partitions of a message of MPI have the same size, so that each part has room for the longest one of its edge.
class MpiPartitionedExchange final : public BlockExchange {
 public:
  MpiPartitionedExchange(const Run& run, const BlockProduct& product)
      : send_(product.sent(), product.halo().out, product.width()),
        receive_(product.received(), product.halo().in, product.width()) {
    const auto init = [&](Messages& messages, const Edges& edges, bool is_send) {
      for (std::size_t e = 0; e < edges.size(); ++e) {
        MPI_Request request = MPI_REQUEST_NULL;
        double* const data = messages.data.data() + messages.first[e];
        const int peer = edges[e].peer;
        if (is_send)
          MPI_Psend_init(data, messages.partitions, messages.room[e], MPI_DOUBLE, peer, 0, run.comm, MPI_INFO_NULL,
                         &request);
        else
          MPI_Precv_init(data, messages.partitions, messages.room[e], MPI_DOUBLE, peer, 0, run.comm, MPI_INFO_NULL,
                         &request);
        requests_.push_back(request);
      }
    };
    init(receive_, product.halo().in, false);
    init(send_, product.halo().out, true);
  }
  ~MpiPartitionedExchange() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  MpiPartitionedExchange(const MpiPartitionedExchange&) = delete;
  MpiPartitionedExchange& operator=(const MpiPartitionedExchange&) = delete;

  [[nodiscard]] double* send_place(std::size_t part) override { return send_.place(part); }
  [[nodiscard]] const double* receive_place(std::size_t part) const override { return receive_.place(part); }
  [[nodiscard]] bool is_partitioned() const override { return true; }
  void start() override { MPI_Startall(count(), requests_.data()); }
  void ready(std::size_t part) override {
    const BlockPart& of = send_.parts[part];
    MPI_Pready(of.partition, requests_[receive_.first.size() + static_cast<std::size_t>(of.edge)]);
  }
  [[nodiscard]] bool arrived(std::size_t part) override {
    const BlockPart& of = receive_.parts[part];
    int flag = 0;
    MPI_Parrived(requests_[static_cast<std::size_t>(of.edge)], of.partition, &flag);
    return flag != 0;
  }
  void wait() override { MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE); }

 private:
  struct Messages {
    Messages(const std::vector<BlockPart>& all, const Edges& edges, int width) : parts(all) {
      partitions = edges.empty() ? 0 : static_cast<int>(all.size() / edges.size());
      std::int64_t numbers = 0;
      for (const matrix::HaloNeighbor& edge : edges) {
        room.push_back((std::ssize(edge.indices) + partitions - 1) / partitions * width);
        first.push_back(numbers);
        numbers += room.back() * partitions;
      }
      data.resize(static_cast<std::size_t>(numbers));
    }
    [[nodiscard]] const double* place(std::size_t part) const {
      const auto edge = static_cast<std::size_t>(parts[part].edge);
      return data.data() + first[edge] + parts[part].partition * room[edge];
    }
    [[nodiscard]] double* place(std::size_t part) {
      return const_cast<double*>(static_cast<const Messages&>(*this).place(part));
    }

    std::vector<BlockPart> parts;
    int partitions = 0;
    std::vector<std::int64_t> room;  // numbers of a partition, by edge
    std::vector<std::int64_t> first;
    std::vector<double> data;
  };
  [[nodiscard]] int count() const { return static_cast<int>(requests_.size()); }

  Messages send_;
  Messages receive_;
  std::vector<MPI_Request> requests_;  // of what comes, then of what leaves
};
#endif

}  // namespace

bool has_mpi_partitioned() {
#ifdef LANEWAY_HAVE_MPI_PARTITIONED
  return true;
#else
  return false;
#endif
}

std::unique_ptr<BlockExchange> make_block_exchange(const std::string& name, const Run& run, const BlockProduct& product,
                                                   const std::string& progress) {
  constexpr std::string_view partitioned = "partitioned:";
  if (name.starts_with(partitioned))
    return std::make_unique<PartitionedExchange>(name.substr(partitioned.size()), run, product, progress);
#ifdef LANEWAY_HAVE_MPI_PARTITIONED
  if (name == "mpi-partitioned") return std::make_unique<MpiPartitionedExchange>(run, product);
#endif
  require(name != "mpi-partitioned", ErrorKind::argument, "this MPI library has no partitioned messages");
  return std::make_unique<WholeExchange>(name, run, product, progress);
}

}  // namespace laneway::bench
