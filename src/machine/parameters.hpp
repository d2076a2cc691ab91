#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace laneway {

/// What joins two ranks: the innermost level of the machine that both are in.
enum class LinkClass : std::uint8_t { core, socket, node, network };
inline constexpr std::size_t link_classes = 4;

[[nodiscard]] const char* name(LinkClass link);

/// Messages up to a size, carried by one protocol of an MPI library: `alpha + beta * bytes` seconds.
struct Protocol {
  std::string name;         ///< short, eager or rendezvous
  std::int64_t up_to = -1;  ///< bytes, these included; -1: all larger ones
  double alpha = 0;         ///< seconds
  double beta = 0;          ///< seconds per byte
};

/// What messages between two ranks cost.
struct LinkCost {
  std::vector<Protocol> protocols;  ///< ascending by size; empty: not known

  /// The protocol that carries a message of so many bytes; there must be one.
  [[nodiscard]] const Protocol& protocol(std::int64_t bytes) const;
  [[nodiscard]] double seconds(std::int64_t bytes) const;
};

/// The processor time that one message takes at both of its ends together, what it adds for each byte, and what a rank
/// spends each time that it has to wait for such messages.
struct Overhead {
  double message = 0;  ///< seconds
  double byte = 0;     ///< seconds per byte
  double wait = 0;     ///< seconds
};

/// Copies inside a node with so many ranks copying at a time.
struct CopyRate {
  int active = 1;
  double beta = 0;  ///< seconds per byte, for each of them
};

/// `alpha + beta * bytes` seconds.
struct LinearCost {
  double alpha = 0;  ///< seconds
  double beta = 0;   ///< seconds per byte

  [[nodiscard]] double seconds(double bytes) const { return alpha + beta * bytes; }
};

/// Copies of a device by so many processes at a time.
struct DeviceCopy {
  int processes = 1;
  LinearCost to_device;                 ///< from the memory of the host
  LinearCost to_host;                   ///< and to it
  std::optional<LinearCost> from_peer;  ///< out of another process's memory, on another device if the node has several
  std::optional<LinearCost> pack;       ///< of small pieces that a kernel gathers or scatters inside the device
  std::optional<LinearCost> rows_to_host;    ///< of rows of some KiB that a kernel moves to the memory of the host
  std::optional<LinearCost> rows_to_device;  ///< and from it
  std::optional<double> gap;  ///< seconds that each further copy takes in a stream, besides those for its bytes
};

/// The MPI library's own collective operations, as measured: what a blocking call takes.
struct OwnCollectives {
  struct Time {
    std::int64_t bytes = 0;  ///< of a block, or of a vector that is combined
    double seconds = 0;
  };
  struct Operation {
    std::string name;         ///< allreduce
    std::vector<Time> times;  ///< ascending sizes
  };

  std::string mpi;  ///< what MPI_Get_library_version begins with; empty: nothing was measured
  int ranks = 0;
  int nodes = 0;
  std::vector<Operation> operations;

  /// Between two sizes that were measured: on the line between them in logarithms. None where nothing was measured, as
  /// above the largest size.
  [[nodiscard]] std::optional<double> seconds(std::string_view operation, std::int64_t bytes) const;
};

/// What is known of the link, or of the next one outside or inside; null if nothing is.
[[nodiscard]] const LinkCost* known_link(const std::array<LinkCost, link_classes>& links, LinkClass link);

/// Measured or published costs of a machine: what the models need. All in seconds, bytes, and seconds per byte.
struct Parameters {
  std::string name;
  std::string provenance;

  std::array<LinkCost, link_classes> links;  ///< messages of the MPI library, one at a time, by LinkClass
  /// Messages between device memories: handed to MPI as they are, where it can take them.
  std::array<LinkCost, link_classes> device_links;
  /// The same where the MPI library takes device memory, but moves the data through the host itself.
  std::array<LinkCost, link_classes> staged_device_links;
  std::vector<DeviceCopy> device_copies;  ///< ascending number of processes

  std::optional<double> injection_beta;  ///< R_N^-1: seconds per byte that leaves (or enters) a node
  /// What a short message takes there, where that is longer: headers, and LogGP's gap.
  std::optional<LinearCost> injection_short;

  int cores = 0;              ///< that the ranks of a host share; 0: each rank has one
  int host_nodes = 1;         ///< nodes that share the cores of one host: more than 1 where they are emulated; 0: all
  Overhead network_overhead;  ///< of a message between nodes
  Overhead node_overhead;     ///< of a message of the MPI library inside a node
  Overhead shared_overhead;   ///< of what ranks of a node hand each other in shared memory
  double flag = 0;            ///< seconds until a rank sees a word that another has written
  double match = 0;           ///< seconds for each posted receive that is compared with an arriving message
  double pack = 0;            ///< seconds per byte of gathering or scattering small pieces
  std::vector<CopyRate> copies;  ///< ascending number of active ranks
  OwnCollectives own_collectives;

  [[nodiscard]] const LinkCost& link(LinkClass link) const { return links[static_cast<std::size_t>(link)]; }
  /// With `processes` copying at a time: the row of the largest number that is not more, or the first; zeros if nothing
  /// is known.
  [[nodiscard]] DeviceCopy device_copy(int processes) const;
  /// Of messages where the MPI library is given addresses on devices: those of device_links, as far as they are known.
  /// Inside a node no processor moves their bytes.
  [[nodiscard]] Parameters between_devices() const;
  /// The same where a byte stands for so many.
  [[nodiscard]] Parameters of_units(std::int64_t bytes) const;
  /// Seconds per byte with `active` ranks copying: interpolated, constant outside of what is known, 0 if nothing is.
  [[nodiscard]] double copy_beta(int active) const;

  /// From the text of a parameter file (TOML, see docs/reference/machine-files.md); `where` names it in errors. Throws
  /// Error(info) that names file, line and key.
  static Parameters parse(std::string_view text, const std::string& where);
  /// `what`: the name of one of the files that come with the library, or a path that ends in .toml.
  static Parameters read(const std::string& what);
  /// Names of those that come with the library.
  static std::vector<std::string_view> shipped();
};

}  // namespace laneway
