#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/types.hpp"

namespace laneway {

/// A set of ranks that share a level of the machine. `id` is the smallest member, so ids of one level are unique in the
/// communicator without any numbering being agreed.
struct Region {
  Rank id = 0;
  std::vector<Rank> members;  ///< ascending

  friend bool operator==(const Region&, const Region&) = default;
};

struct DeviceLinks;

/// A described machine: which ranks share which region at each level, outermost level first.
class Machine {
 public:
  /// Reads a description, for `ranks` ranks:
  ///  - levels with sizes, outermost first, ranks filled in order: `node:4 socket:2 rank:2`. `node:*` stands for as
  ///  many
  ///    nodes as are needed, the last one perhaps partly filled;
  ///  - nodes of uneven size: `ranks:5,3,8`;
  ///  - a file, `file:PATH`: one of the above, or for each rank one line with a path such as `n0/s1` (any labels);
  ///  - a file `file:PATH.toml` (docs/reference/machine-files.md): `description` is one of the above, `devices.links` a
  ///  matrix of the
  ///    number of links between the devices of a node, which are its innermost regions, `devices.network_distance`
  ///    how far each is from a network interface. Parameters has the rest.
  /// Throws Error(info) that says what is wrong and for how many ranks the description is.
  static Machine parse(std::string_view text, Rank ranks);

  /// Rank r's regions, outermost first, are the prefixes of paths[r], e.g. `n0/s1`. All paths have the same depth.
  static Machine from_paths(const std::vector<std::string>& paths, const std::string& what = "machine");

  [[nodiscard]] Rank ranks() const { return ranks_; }
  [[nodiscard]] int levels() const { return static_cast<int>(names_.size()); }
  [[nodiscard]] const std::string& level_name(int level) const { return names_[static_cast<std::size_t>(level)]; }
  /// Positions of the named levels, outermost first; an empty name is the level after the one before it, the first the
  /// outermost. After the last level come the ranks, each a region of its own, as level `rank`. Throws Error(info) for
  /// a level that is missing or not inside the one before it.
  [[nodiscard]] std::vector<int> find_levels(const std::vector<std::string>& names) const;
  /// Null if the description says nothing about devices.
  [[nodiscard]] const std::shared_ptr<const DeviceLinks>& devices() const { return devices_; }
  /// `level` up to levels(), which is that of the ranks.
  [[nodiscard]] Region region(int level, Rank rank) const;
  [[nodiscard]] Rank region_id(int level, Rank rank) const;

 private:
  static Machine read_file(const std::string& whole, Rank ranks);
  static Machine read_toml(const std::string& path, Rank ranks);
  static Machine parse_sizes(const std::string& whole, Rank ranks);
  static Machine parse_levels(const std::string& whole, Rank ranks);
  void set_sizes(const std::vector<Rank>& counts, const std::string& whole);

  Rank ranks_ = 0;
  std::shared_ptr<const DeviceLinks> devices_;
  std::vector<std::string> names_;
  std::vector<Rank> sizes_;               // ranks in a region of each level, where regular
  std::vector<Rank> node_begin_;          // uneven nodes: first rank of each node
  std::vector<std::vector<Rank>> label_;  // from a file: region id of each rank at each level
};

/// Of what the files say that a description of a machine and the name of parameters refer to; 0 if they refer to none.
/// Throws Error(info) where one cannot be read.
[[nodiscard]] std::uint64_t hash_of_files(std::string_view machine, const std::string& parameters);

/// What the file says that a description names; empty if it names none. Throws Error(info) where it cannot be read.
[[nodiscard]] std::string text_of_file(std::string_view machine);

/// As Machine::find_levels, among the levels `known`.
[[nodiscard]] std::vector<int> find_levels(const std::vector<std::string>& names,
                                           const std::vector<std::string>& known);

}  // namespace laneway
