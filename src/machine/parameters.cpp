#include "machine/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "machine/machine_file.hpp"
#include "machine/shipped.hpp"

namespace laneway {

namespace {

LinearCost read_cost(TomlTable& table) {
  return {table.number("alpha"), table.number("beta")};
}

Protocol read_protocol(TomlTable& table, bool last) {
  Protocol protocol;
  protocol.name = table.text("name");
  if (!last)
    protocol.up_to = table.integer<std::int64_t>("up_to", 0);
  else if (table.has("up_to"))
    table.fail("up_to", "the last protocol carries all larger messages");
  const LinearCost line = read_cost(table);
  protocol.alpha = line.alpha;
  protocol.beta = line.beta;
  table.finish();
  return protocol;
}

LinkCost read_link(TomlTable& table) {
  LinkCost link;
  std::vector<TomlTable> rows = table.tables("protocols");
  if (rows.empty()) table.fail("protocols", "at least one is needed");
  for (TomlTable& row : rows) {
    const bool last = &row == &rows.back();
    const std::int64_t before = link.protocols.empty() ? -1 : link.protocols.back().up_to;
    link.protocols.push_back(read_protocol(row, last));
    if (!last && link.protocols.back().up_to <= before) row.fail("up_to", "must be larger than the one before");
  }
  table.finish();
  return link;
}

std::array<LinkCost, link_classes> read_links(TomlTable& file, const std::string& key) {
  std::array<LinkCost, link_classes> links;
  std::optional<TomlTable> table = file.table(key);
  if (!table) return links;
  for (std::size_t i = 0; i < link_classes; ++i)
    if (std::optional<TomlTable> link = table->table(name(static_cast<LinkClass>(i)))) links[i] = read_link(*link);
  table->finish();
  return links;
}

/// The rows of an array of tables, each read by `read`; the number under `order` must grow.
template <class Row, class Read>
std::vector<Row> read_ascending(TomlTable& file, const std::string& key, const std::string& order, Read read) {
  std::vector<Row> rows;
  int before = 0;
  for (TomlTable& table : file.tables(key)) {
    const int number = table.integer(order, 1);
    if (number <= before) table.fail(order, "must be larger than the one before");
    before = number;
    rows.push_back(read(table, number));
    table.finish();
  }
  return rows;
}

std::optional<LinearCost> read_optional_cost(TomlTable& table, const std::string& key) {
  std::optional<TomlTable> inner = table.table(key);
  if (!inner) return std::nullopt;
  const LinearCost cost = read_cost(*inner);
  inner->finish();
  return cost;
}

LinearCost read_cost(TomlTable& table, const std::string& key) {
  const std::optional<LinearCost> cost = read_optional_cost(table, key);
  if (!cost) table.fail(key, "missing");
  return *cost;
}

std::optional<double> read_optional_number(TomlTable& table, const std::string& key) {
  table.skip(key);
  return table.has(key) ? std::optional(table.number(key)) : std::nullopt;
}

DeviceCopy read_device_copy(TomlTable& table, int processes) {
  return {.processes = processes,
          .to_device = read_cost(table, "to_device"),
          .to_host = read_cost(table, "to_host"),
          .from_peer = read_optional_cost(table, "from_peer"),
          .pack = read_optional_cost(table, "pack"),
          .rows_to_host = read_optional_cost(table, "rows_to_host"),
          .rows_to_device = read_optional_cost(table, "rows_to_device"),
          .gap = read_optional_number(table, "gap")};
}

Overhead read_overhead(TomlTable& table, const std::string& key) {
  std::optional<TomlTable> inner = table.table(key);
  if (!inner) return {};
  const Overhead overhead{inner->number("message"), inner->number("byte"), inner->number("wait")};
  inner->finish();
  return overhead;
}

void read_overheads(TomlTable& table, Parameters& parameters) {
  parameters.network_overhead = read_overhead(table, "network");
  parameters.node_overhead = read_overhead(table, "node");
  parameters.shared_overhead = read_overhead(table, "shared");
  parameters.flag = read_optional_number(table, "flag").value_or(0);
  parameters.match = read_optional_number(table, "match").value_or(0);
  parameters.pack = read_optional_number(table, "pack").value_or(0);
  table.finish();
}

OwnCollectives read_own_collectives(TomlTable& table) {
  OwnCollectives own{.mpi = table.text("library"),
                     .ranks = table.integer("ranks", 1),
                     .nodes = table.integer("nodes", 1),
                     .operations = {}};
  for (TomlTable& operation : table.tables("operations")) {
    OwnCollectives::Operation& added = own.operations.emplace_back();
    added.name = operation.text("name");
    for (TomlTable& time : operation.tables("times")) {
      const std::int64_t bytes = time.integer("bytes", 0);
      if (!added.times.empty() && bytes <= added.times.back().bytes)
        time.fail("bytes", "must be larger than the one before");
      added.times.push_back({bytes, time.number("seconds")});
      time.finish();
    }
    operation.finish();
  }
  table.finish();
  return own;
}

void read_host(TomlTable& table, Parameters& parameters) {
  parameters.cores = table.integer("cores", 0);
  parameters.host_nodes = table.integer("nodes", 0);
  table.finish();
}

}  // namespace

const char* name(LinkClass link) {
  switch (link) {
    case LinkClass::core:
      return "core";
    case LinkClass::socket:
      return "socket";
    case LinkClass::node:
      return "node";
    case LinkClass::network:
      return "network";
  }
  return "unknown";
}

const Protocol& LinkCost::protocol(std::int64_t bytes) const {
  LANEWAY_ASSERT(!protocols.empty());
  const auto carries = [bytes](const Protocol& protocol) { return protocol.up_to < 0 || bytes <= protocol.up_to; };
  const auto found = std::find_if(protocols.begin(), protocols.end(), carries);
  return found != protocols.end() ? *found : protocols.back();
}

double LinkCost::seconds(std::int64_t bytes) const {
  const Protocol& carrier = protocol(bytes);
  return carrier.alpha + carrier.beta * static_cast<double>(bytes);
}

const LinkCost* known_link(const std::array<LinkCost, link_classes>& links, LinkClass link) {
  const auto wanted = static_cast<std::size_t>(link);
  for (std::size_t i = wanted; i < link_classes; ++i)
    if (!links[i].protocols.empty()) return &links[i];
  for (std::size_t i = wanted; i-- > 0;)
    if (!links[i].protocols.empty()) return &links[i];
  return nullptr;
}

std::optional<double> OwnCollectives::seconds(std::string_view operation, std::int64_t bytes) const {
  const auto found = std::ranges::find(operations, operation, &Operation::name);
  if (found == operations.end()) return std::nullopt;
  const auto above = std::ranges::find_if(found->times, [&](const Time& time) { return time.bytes >= bytes; });
  if (above == found->times.end()) return std::nullopt;
  if (above == found->times.begin() || above->bytes == bytes) return above->seconds;
  const Time& below = *std::prev(above);
  const auto logarithm = [](double value) { return std::log(std::max(value, 1e-12)); };
  const double first = logarithm(static_cast<double>(below.bytes));
  const double share =
      (logarithm(static_cast<double>(bytes)) - first) / (logarithm(static_cast<double>(above->bytes)) - first);
  return std::exp(std::lerp(logarithm(below.seconds), logarithm(above->seconds), share));
}

DeviceCopy Parameters::device_copy(int processes) const {
  if (device_copies.empty()) return {};
  const auto above = std::find_if(device_copies.begin(), device_copies.end(),
                                  [&](const DeviceCopy& copy) { return copy.processes > processes; });
  return above == device_copies.begin() ? *above : *std::prev(above);
}

Parameters Parameters::between_devices() const {
  Parameters result = *this;
  for (std::size_t i = 0; i < link_classes; ++i)
    if (!device_links[i].protocols.empty()) result.links[i] = device_links[i];
  if (known_link(device_links, LinkClass::node) != nullptr) result.node_overhead.byte = 0;
  return result;
}

Parameters Parameters::of_units(std::int64_t bytes) const {
  const auto factor = static_cast<double>(bytes);
  Parameters units = *this;
  for (auto* all : {&units.links, &units.device_links, &units.staged_device_links})
    for (LinkCost& link : *all)
      for (Protocol& protocol : link.protocols) {
        if (protocol.up_to > 0) protocol.up_to /= bytes;
        protocol.beta *= factor;
      }
  if (units.injection_beta) *units.injection_beta *= factor;
  if (units.injection_short) units.injection_short->beta *= factor;
  for (Overhead* overhead : {&units.network_overhead, &units.node_overhead, &units.shared_overhead})
    overhead->byte *= factor;
  units.pack *= factor;
  for (CopyRate& rate : units.copies) rate.beta *= factor;
  return units;
}

double Parameters::copy_beta(int active) const {
  if (copies.empty()) return 0;
  const auto above =
      std::find_if(copies.begin(), copies.end(), [&](const CopyRate& rate) { return rate.active >= active; });
  if (above == copies.end()) return copies.back().beta;
  if (above == copies.begin()) return above->beta;
  const CopyRate& below = *std::prev(above);
  return std::lerp(below.beta, above->beta,
                   static_cast<double>(active - below.active) / static_cast<double>(above->active - below.active));
}

Parameters Parameters::parse(std::string_view text, const std::string& where) {
  TomlTable file = TomlTable::parse(text, where);
  Parameters parameters;
  parameters.name = file.text("name");
  parameters.provenance = file.text("provenance");
  if (file.has("description")) (void)file.text("description");
  (void)read_devices(file);
  parameters.links = read_links(file, "links");
  parameters.device_links = read_links(file, "device_links");
  parameters.staged_device_links = read_links(file, "staged_device_links");
  parameters.device_copies = read_ascending<DeviceCopy>(file, "device_copies", "processes", read_device_copy);
  if (std::optional<TomlTable> injection = file.table("injection")) {
    parameters.injection_beta = injection->number("beta");
    parameters.injection_short = read_optional_cost(*injection, "short");
    injection->finish();
  }
  if (std::optional<TomlTable> host = file.table("host")) read_host(*host, parameters);
  if (std::optional<TomlTable> overhead = file.table("overhead")) read_overheads(*overhead, parameters);
  parameters.copies = read_ascending<CopyRate>(file, "copies", "active", [](TomlTable& table, int active) {
    return CopyRate{active, table.number("beta")};
  });
  if (std::optional<TomlTable> own = file.table("own_collectives"))
    parameters.own_collectives = read_own_collectives(*own);
  for (const char* key : {"fit", "network", "registration"}) file.skip(key);
  file.finish();
  return parameters;
}

Parameters Parameters::read(const std::string& what) {
  if (what.ends_with(".toml")) return parse(read_machine_file(what), machine_file(what));
  std::string names;
  for (const ShippedMachine& machine : shipped_machines()) {
    if (machine.name == what) return parse(machine.text, machine_file(what));
    names += (names.empty() ? "" : ", ") + std::string(machine.name);
  }
  throw Error(ErrorKind::info,
              "there are no parameters of '" + what + "': give a path that ends in .toml, or one of " + names);
}

std::vector<std::string_view> Parameters::shipped() {
  std::vector<std::string_view> names;
  for (const ShippedMachine& machine : shipped_machines()) names.push_back(machine.name);
  return names;
}

}  // namespace laneway
