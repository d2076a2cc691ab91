// What is known of a communicator's ranks: their regions, what joins their devices, what messages between them cost.
#include <utility>

#include "communicator/communicator.hpp"
#include "communicator/nodes/discovery.hpp"
#include "communicator/nodes/network_distance.hpp"

namespace laneway {

const Region& Communicator::node(const std::string& machine) {
  Hints settings;
  settings.machine = machine;
  return regions(settings).front();
}

void Communicator::read_descriptions(Hints& settings) {
  // Read once for a communicator, as what they describe is.
  const std::pair files(settings.machine, settings.parameters);
  auto known = file_hashes_.find(files);
  if (known == file_hashes_.end())
    known = file_hashes_.emplace(files, hash_of_files(settings.machine, settings.parameters)).first;
  settings.files = known->second;
  if (!settings.machine.empty() || !settings.grid.empty()) (void)regions(settings);
  (void)fabric(settings.machine);
  if (!settings.machine.empty()) (void)network_distance(settings);
  if (!settings.parameters.empty() && settings.parameters != measured_parameters) (void)parameters(settings, false);
}

std::shared_ptr<const Parameters> Communicator::parameters(const Hints& settings, bool one_node) {
  const std::string name = settings.parameters.empty() ? kind_of_machine(one_node) : settings.parameters;
  std::shared_ptr<const Parameters>& known = private_->parameters[name];
  if (!known) known = std::make_shared<const Parameters>(Parameters::read(name));
  return known;
}

std::shared_ptr<const Fabric> Communicator::fabric(const std::string& machine) {
  if (machine.empty()) return nullptr;
  auto it = fabrics_.find(machine);
  if (it == fabrics_.end()) it = fabrics_.emplace(machine, find_fabric(private_->get(), machine)).first;
  return it->second;
}

int Communicator::network_distance(const Hints& settings, const MemoryInfo& buffer) {
  if (!settings.level.empty() || !settings.grid.empty()) return 0;
  const std::string& machine = settings.machine;
  if (machine.empty()) return own_network_distance(buffer);
  auto it = network_distances_.find(machine);
  if (it == network_distances_.end())
    it = network_distances_.emplace(machine, described_network_distance(machine)).first;
  return it->second;
}

namespace {

const std::string& described(const Hints& settings) {
  return settings.grid.empty() ? settings.machine : settings.grid;
}

}  // namespace

std::optional<Rank> Communicator::known_region(const Hints& settings) {
  if (!described(settings).empty()) return regions(settings).front().id;
  const bool is_node = settings.inner.empty() && (settings.level.empty() || settings.level == "node");
  if (!is_node || known_world() == 0) return std::nullopt;
  return find_node(private_->get(), "", true).id;
}

const std::map<Rank, Rank>* Communicator::peer_regions(const Hints& settings) const {
  const auto known = peer_regions_.find({described(settings), settings.level});
  return known == peer_regions_.end() ? nullptr : &known->second;
}

void Communicator::learn_regions(const Hints& settings, const std::map<Rank, Rank>& regions) {
  if (!regions.empty()) peer_regions_.try_emplace({described(settings), settings.level}, regions);
}

const std::vector<Region>& Communicator::regions(const Hints& settings, bool translate) {
  std::vector<std::string> names = {settings.level};
  for (const LevelChoice& level : settings.inner) names.push_back(level.level);
  std::vector<std::string> key = names;
  key.push_back(described(settings));
  const Region* const on_one_device = settings.machine.empty() && node_devices ? &node_devices->sharing : nullptr;
  if (on_one_device != nullptr) key.emplace_back("gpu");
  const auto it = regions_.find(key);
  if (it != regions_.end()) return it->second;
  std::vector<Region> found;
  if (settings.grid.empty()) {
    found = find_levels(private_->get(), settings.machine, names, translate, on_one_device, private_.get());
  } else {
    const Machine grid = Machine::parse(settings.grid, private_->size());
    for (std::size_t level = 0; level < names.size(); ++level)
      found.push_back(grid.region(static_cast<int>(level), private_->rank()));
  }
  return regions_.emplace(std::move(key), std::move(found)).first->second;
}

}  // namespace laneway
