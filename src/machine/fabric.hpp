#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes/types.hpp"
#include "machine/machine.hpp"

namespace laneway {

/// What joins the devices of a node: T_l and T_h of "Design of neighborhood collectives for ROCm" as square matrices,
/// by device.
struct DeviceLinks {
  std::vector<std::vector<int>> links;  ///< number of links between two devices
  std::vector<std::vector<int>> hops;   ///< links on the shortest way between them
  /// The devices on the way between two, both ends included: one of fewest hops, of those the one whose narrowest
  /// bundle of links is widest.
  std::vector<std::vector<std::vector<int>>> ways;
  /// How far the nearest network interface is from each device, in any unit; empty if nothing is said of that.
  std::vector<int> network_distance = {};

  [[nodiscard]] std::size_t size() const { return links.size(); }
};

/// Fills `hops` and `ways` from `links`. Throws Error(info) if the matrix is not square and symmetric, or some devices
/// are not connected.
[[nodiscard]] DeviceLinks with_hops(std::vector<std::vector<int>> links);

/// How far the nearest network interface is from the device of a rank; 0 if the machine does not say.
[[nodiscard]] int network_distance(const Machine& machine, Rank rank);

/// The links between ranks, by the devices they are on.
class Fabric {
 public:
  Fabric(std::shared_ptr<const DeviceLinks> links, std::map<Rank, std::pair<Rank, int>> places)
      : links_(std::move(links)), places_(std::move(places)) {}

  /// Of all ranks of `machine`, or null if it describes no links between devices.
  static std::shared_ptr<const Fabric> of(const Machine& machine);
  /// Of `ranks[i]` of the machine, which users of the result call `names[i]`; or null.
  static std::shared_ptr<const Fabric> of(const Machine& machine, std::span<const Rank> ranks,
                                          std::span<const Rank> names);

  /// Whether both ranks are known and on one node.
  [[nodiscard]] bool joins(Rank a, Rank b) const;
  [[nodiscard]] int links(Rank a, Rank b) const { return links_->links[device(a)][device(b)]; }
  [[nodiscard]] int hops(Rank a, Rank b) const { return links_->hops[device(a)][device(b)]; }
  /// The devices on the way from one rank to the other; one device if they share it.
  [[nodiscard]] const std::vector<int>& way(Rank a, Rank b) const { return links_->ways[device(a)][device(b)]; }
  [[nodiscard]] const DeviceLinks& devices() const { return *links_; }

 private:
  [[nodiscard]] std::size_t device(Rank rank) const { return static_cast<std::size_t>(places_.at(rank).second); }

  std::shared_ptr<const DeviceLinks> links_;
  std::map<Rank, std::pair<Rank, int>> places_;  // rank -> (node, device)
};

/// What the links between the devices of a node carry, in each direction: bytes for each link of a bundle.
class LinkLoads {
 public:
  /// `fabric` must outlive it.
  explicit LinkLoads(const Fabric& fabric)
      : fabric_(fabric), bytes_(fabric.devices().size() * fabric.devices().size()) {}

  void add(Rank from, Rank to, double bytes) {
    for_each_bundle(from, to, [&](std::size_t bundle, int links) { bytes_[bundle] += bytes / links; });
  }
  /// Calls f(load, more) for each bundle on the way from one rank to the other: what it carries for each of its links,
  /// and what a message of so many bytes would add to that.
  template <class F>
  void on_way(Rank from, Rank to, double bytes, F&& f) const {
    for_each_bundle(from, to, [&](std::size_t bundle, int links) { f(bytes_[bundle], bytes / links); });
  }

  [[nodiscard]] double busiest() const { return *std::max_element(bytes_.begin(), bytes_.end()); }

 private:
  template <class F>
  void for_each_bundle(Rank from, Rank to, F&& f) const {
    const std::vector<int>& way = fabric_.way(from, to);
    for (std::size_t i = 1; i < way.size(); ++i) {
      const auto a = static_cast<std::size_t>(way[i - 1]);
      const auto b = static_cast<std::size_t>(way[i]);
      f(a * fabric_.devices().size() + b, fabric_.devices().links[a][b]);
    }
  }

  const Fabric& fabric_;
  std::vector<double> bytes_;
};

}  // namespace laneway
