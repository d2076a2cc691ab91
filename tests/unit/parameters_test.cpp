#include "machine/parameters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "machine/machine.hpp"

namespace laneway {
namespace {

constexpr const char* head = "name = \"test\"\nprovenance = \"none\"\n";

Parameters parse(const std::string& text) {
  return Parameters::parse(head + text, "here");
}

const Protocol& protocol(const Parameters& machine, LinkClass link, std::size_t index) {
  return machine.link(link).protocols.at(index);
}

TEST(Parameters, NothingIsKnownUnlessGiven) {
  const Parameters machine = parse("");
  EXPECT_EQ(machine.name, "test");
  EXPECT_EQ(machine.provenance, "none");
  for (const LinkCost& link : machine.links) EXPECT_TRUE(link.protocols.empty());
  EXPECT_FALSE(machine.injection_beta);
  EXPECT_EQ(machine.cores, 0);
  EXPECT_EQ(machine.host_nodes, 1);
  EXPECT_EQ(machine.copy_beta(4), 0);
}

TEST(Parameters, ReadsEveryKey) {
  const Parameters machine = parse(R"(
description = "node:* rank:2"
links.core.protocols = [{ name = "eager", up_to = 100, alpha = 1, beta = 2.5 }, { name = "rendezvous", alpha = 3, beta = 0 }]
device_links.node.protocols = [{ name = "rendezvous", alpha = 4, beta = 5 }]
staged_device_links.network.protocols = [{ name = "rendezvous", alpha = 6, beta = 7 }]
injection = { beta = 8, short = { alpha = 26, beta = 27 } }
host = { cores = 2, nodes = 4 }
[overhead]
network = { message = 9, byte = 10, wait = 24 }
node = { message = 11, byte = 12, wait = 25 }
shared = { message = 13, byte = 14, wait = 15 }
flag = 16
match = 17
pack = 18
[[device_copies]]
processes = 3
to_device = { alpha = 19, beta = 20 }
to_host = { alpha = 21, beta = 22 }
[[device_copies]]
processes = 4
to_device = { alpha = 26, beta = 27 }
to_host = { alpha = 28, beta = 29 }
from_peer = { alpha = 30, beta = 31 }
pack = { alpha = 32, beta = 33 }
rows_to_host = { alpha = 34, beta = 35 }
rows_to_device = { alpha = 36, beta = 37 }
gap = 38
[[copies]]
active = 2
beta = 23
[devices]
links = [[0, 1], [1, 0]]
[fit]
anything = [1, "two"]
)");
  EXPECT_EQ(protocol(machine, LinkClass::core, 0).name, "eager");
  EXPECT_EQ(protocol(machine, LinkClass::core, 0).up_to, 100);
  EXPECT_EQ(protocol(machine, LinkClass::core, 0).alpha, 1);
  EXPECT_EQ(protocol(machine, LinkClass::core, 0).beta, 2.5);
  EXPECT_EQ(protocol(machine, LinkClass::core, 1).up_to, -1);
  EXPECT_EQ(machine.device_links[2].protocols.at(0).beta, 5);
  EXPECT_EQ(machine.staged_device_links[3].protocols.at(0).alpha, 6);
  EXPECT_EQ(machine.injection_beta, 8);
  EXPECT_EQ(machine.injection_short->alpha, 26);
  EXPECT_EQ(machine.injection_short->beta, 27);
  EXPECT_EQ(machine.cores, 2);
  EXPECT_EQ(machine.host_nodes, 4);
  EXPECT_EQ(machine.network_overhead.message, 9);
  EXPECT_EQ(machine.network_overhead.byte, 10);
  EXPECT_EQ(machine.node_overhead.message, 11);
  EXPECT_EQ(machine.node_overhead.byte, 12);
  EXPECT_EQ(machine.shared_overhead.message, 13);
  EXPECT_EQ(machine.shared_overhead.byte, 14);
  EXPECT_EQ(machine.network_overhead.wait, 24);
  EXPECT_EQ(machine.node_overhead.wait, 25);
  EXPECT_EQ(machine.shared_overhead.wait, 15);
  EXPECT_EQ(machine.flag, 16);
  EXPECT_EQ(machine.match, 17);
  EXPECT_EQ(machine.pack, 18);
  ASSERT_EQ(machine.device_copies.size(), 2);
  EXPECT_EQ(machine.device_copies[0].processes, 3);
  EXPECT_EQ(machine.device_copies[0].to_device.alpha, 19);
  EXPECT_EQ(machine.device_copies[0].to_device.beta, 20);
  EXPECT_EQ(machine.device_copies[0].to_host.alpha, 21);
  EXPECT_EQ(machine.device_copies[0].to_host.beta, 22);
  EXPECT_FALSE(machine.device_copies[0].from_peer || machine.device_copies[0].pack);
  EXPECT_FALSE(machine.device_copies[0].rows_to_host || machine.device_copies[0].rows_to_device);
  EXPECT_FALSE(machine.device_copies[0].gap);
  EXPECT_EQ(machine.device_copies[1].to_host.alpha, 28);
  EXPECT_EQ(machine.device_copies[1].from_peer.value().seconds(2), 30 + 2 * 31);
  EXPECT_EQ(machine.device_copies[1].pack.value().seconds(2), 32 + 2 * 33);
  EXPECT_EQ(machine.device_copies[1].rows_to_host.value().seconds(2), 34 + 2 * 35);
  EXPECT_EQ(machine.device_copies[1].rows_to_device.value().seconds(2), 36 + 2 * 37);
  EXPECT_EQ(machine.device_copies[1].gap, 38);
  EXPECT_EQ(machine.copy_beta(2), 23);
}

TEST(Parameters, AMessageIsCarriedByTheFirstProtocolThatReachesIt) {
  const Parameters machine = parse(R"(links.core.protocols = [
    { name = "short", up_to = 10, alpha = 1, beta = 0 },
    { name = "eager", up_to = 100, alpha = 2, beta = 1 },
    { name = "rendezvous", alpha = 50, beta = 0.5 }])");
  const LinkCost& link = machine.link(LinkClass::core);
  EXPECT_EQ(link.protocol(0).name, "short");
  EXPECT_EQ(link.protocol(10).name, "short");
  EXPECT_EQ(link.protocol(11).name, "eager");
  EXPECT_EQ(link.protocol(101).name, "rendezvous");
  EXPECT_EQ(link.seconds(10), 1);
  EXPECT_EQ(link.seconds(100), 102);
  EXPECT_EQ(link.seconds(1000), 550);
}

TEST(Parameters, CopiesAreInterpolated) {
  const Parameters machine = parse("copies = [{ active = 2, beta = 1 }, { active = 4, beta = 3 }]");
  EXPECT_EQ(machine.copy_beta(1), 1);
  EXPECT_EQ(machine.copy_beta(2), 1);
  EXPECT_EQ(machine.copy_beta(3), 2);
  EXPECT_EQ(machine.copy_beta(4), 3);
  EXPECT_EQ(machine.copy_beta(400), 3);
}

TEST(Parameters, WhatTheMpiLibrarysOwnCollectivesTake) {
  const Parameters machine = parse(R"(
[own_collectives]
library = "Some MPI v1"
ranks = 6
nodes = 2
[[own_collectives.operations]]
name = "bcast"
times = [{ bytes = 10, seconds = 1e-6 }, { bytes = 1000, seconds = 1e-4 }]
[[own_collectives.operations]]
name = "barrier"
times = [{ bytes = 0, seconds = 2e-6 }]
)");
  const OwnCollectives& own = machine.own_collectives;
  EXPECT_EQ(own.mpi, "Some MPI v1");
  EXPECT_EQ(own.ranks, 6);
  EXPECT_EQ(own.nodes, 2);
  EXPECT_DOUBLE_EQ(own.seconds("bcast", 1).value(), 1e-6);
  EXPECT_DOUBLE_EQ(own.seconds("bcast", 10).value(), 1e-6);
  EXPECT_NEAR(own.seconds("bcast", 100).value(), 1e-5, 1e-12);
  EXPECT_DOUBLE_EQ(own.seconds("bcast", 1000).value(), 1e-4);
  EXPECT_FALSE(own.seconds("bcast", 1001));
  EXPECT_DOUBLE_EQ(own.seconds("barrier", 0).value(), 2e-6);
  EXPECT_FALSE(own.seconds("gather", 10));
  EXPECT_FALSE(parse("").own_collectives.seconds("bcast", 10));
}

TEST(Parameters, ErrorsNameFileLineAndKey) {
  // The first two lines are those of `head`.
  const std::pair<const char*, const char*> cases[] = {
      {"speed = 1", "line 3: speed: unknown key"},
      {"[links.rack]\nprotocols = []", "line 3: links.rack: unknown key; known here: core, network, node, socket"},
      {"[links.node]\nprotocol = 1", "line 3: links.node.protocols: at least one is needed"},
      {"[links.node]\nprotocols = 1", "line 4: links.node.protocols: expected an array of tables, found an integer"},
      {"[links.node]\nprotocols = [1]", "line 4: links.node.protocols[0]: expected a table, found an integer"},
      {"[links]\nnode = []", "line 4: links.node: expected a table, found an array"},
      {"[links.node]\nprotocols = [\n{ name = \"eager\", alpha = 1 }]",
       "line 5: links.node.protocols[0].beta: missing"},
      {"[links.node]\nprotocols = [\n{ name = \"eager\", beta = 1 }]",
       "line 5: links.node.protocols[0].alpha: missing"},
      {"[links.node]\nprotocols = [{ alpha = 1, beta = 1 }]", "line 4: links.node.protocols[0].name: missing"},
      {"[links.node]\nprotocols = [{ name = \"eager\", alpha = -1, beta = 1 }]",
       "line 4: links.node.protocols[0].alpha: must be finite and not negative"},
      {"[links.node]\nprotocols = [{ name = \"eager\", alpha = 1, beta = inf }]",
       "line 4: links.node.protocols[0].beta: must be finite and not negative"},
      {"[links.node]\nprotocols = [{ name = \"eager\", alpha = \"1 s\", beta = 1 }]",
       "line 4: links.node.protocols[0].alpha: expected a number, found a string"},
      {"[links.node]\nprotocols = [{ name = \"eager\", up_to = 9, alpha = 1, beta = 1 }]",
       "line 4: links.node.protocols[0].up_to: the last protocol carries all larger messages"},
      {"[links.node]\nprotocols = [{ name = \"a\", alpha = 1, beta = 1 }, { name = \"b\", alpha = 1, beta = 1 }]",
       "line 4: links.node.protocols[0].up_to: missing"},
      {"[links.node]\nprotocols = [\n{ name = \"a\", up_to = 9, alpha = 1, beta = 1 },\n"
       "{ name = \"b\", up_to = 9, alpha = 1, beta = 1 },\n{ name = \"c\", alpha = 1, beta = 1 }]",
       "line 6: links.node.protocols[1].up_to: must be larger than the one before"},
      {"[injection]\nbeta = 1\nalpha = 1", "line 5: injection.alpha: unknown key; known here: beta, short"},
      {"[host]\ncores = 2.5\nnodes = 1", "line 4: host.cores: expected an integer, found a floating-point"},
      {"[host]\ncores = -1\nnodes = 1", "line 4: host.cores: must be from 0 to 2147483647"},
      {"[host]\ncores = 1", "line 3: host.nodes: missing"},
      {"[overhead]\nflag = true", "line 4: overhead.flag: expected a number, found a boolean"},
      {"[overhead]\nnode = { message = 1 }", "line 4: overhead.node.byte: missing"},
      {"[overhead]\nidle = 1",
       "line 4: overhead.idle: unknown key; known here: flag, match, network, node, pack, shared"},
      {"[[copies]]\nactive = 0\nbeta = 1", "line 4: copies[0].active: must be from 1 to 2147483647"},
      {"[[copies]]\nactive = 2\nbeta = 1\n[[copies]]\nactive = 2\nbeta = 1",
       "line 7: copies[1].active: must be larger than the one before"},
      {"[[device_copies]]\nprocesses = 1\nto_host = { alpha = 1, beta = 1 }",
       "line 3: device_copies[0].to_device: missing"},
      {"[[device_copies]]\nprocesses = 1\nto_device = { alpha = 1, beta = 1 }\nto_host = { alpha = 1, beta = 1 }\n"
       "pack = { alpha = 1 }",
       "line 7: device_copies[0].pack.beta: missing"},
      {"[[device_copies]]\nprocesses = 1\nto_device = { alpha = 1, beta = 1 }\nto_host = { alpha = 1, beta = 1 }\n"
       "from_peer = { alpha = 1, beta = -1 }",
       "line 7: device_copies[0].from_peer.beta: must be finite and not negative"},
      {"[[device_copies]]\nprocesses = 1\nto_device = { alpha = 1, beta = 1 }\nto_host = { alpha = 1, beta = 1 }\n"
       "unpack = 1",
       "line 7: device_copies[0].unpack: unknown key; known here: from_peer, gap, pack, processes, rows_to_device, "
       "rows_to_host, to_device, to_host"},
      {"[devices]\nlinks = [[0, 1], [2, 0]]", "line 4: devices.links: the links between devices 0 and 1 are 1 and 2"},
      {"[devices]\nlinks = [[0, 0.5], [0.5, 0]]",
       "line 4: devices.links[0][1]: expected a small integer, found a floating-point"},
      {"description = 1", "line 3: description: expected a string, found an integer"},
      {"alpha = = 1", "line 3: "},
  };
  for (const auto& [text, message] : cases) {
    try {
      (void)parse(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::info);
      EXPECT_TRUE(std::string(error.what()).starts_with(std::string("here: ") + message)) << text << "\n"
                                                                                          << error.what();
    }
  }
}

TEST(Parameters, NameAndProvenanceAreRequired) {
  for (const auto& [text, message] : {std::pair("provenance = \"\"", "here: line 1: name: missing"),
                                      std::pair("name = \"\"", "here: line 1: provenance: missing")}) {
    try {
      (void)Parameters::parse(text, "here");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), message);
    }
  }
}

TEST(Parameters, ShippedFilesAreComplete) {
  const std::vector<std::string_view> names = Parameters::shipped();
  for (const char* name : {"dane-like", "default-ethernet", "default-hpc", "default-node", "delta-like", "deltaai-like",
                           "elcapitan-like", "frontier-cxi-like", "frontier-like", "lassen", "mi250-ib", "spock"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  for (const std::string_view name : names) {
    SCOPED_TRACE(name);
    const Parameters machine = Parameters::read(std::string(name));
    EXPECT_EQ(machine.name, name);
    EXPECT_FALSE(machine.provenance.empty());
    EXPECT_FALSE(machine.link(LinkClass::node).protocols.empty());
    EXPECT_GT(machine.node_overhead.message, 0);
    EXPECT_GT(machine.shared_overhead.message, 0);
    EXPECT_GT(machine.shared_overhead.wait, 0);
    EXPECT_GT(machine.flag, 0);
    EXPECT_GT(machine.match, 0);
    EXPECT_GT(machine.pack, 0);
    EXPECT_GT(machine.copy_beta(1), 0);
    if (!machine.link(LinkClass::network).protocols.empty()) {
      EXPECT_GT(machine.network_overhead.message, 0);
      EXPECT_TRUE(machine.injection_beta);
    }
    // The file says the same as what was built in, and describes a machine if it has a description.
    const std::string path = std::string(LANEWAY_MACHINES) + "/" + std::string(name) + ".toml";
    EXPECT_EQ(Parameters::read(path).provenance, machine.provenance);
    if (name == "lassen") {
      EXPECT_EQ(Machine::parse("file:" + path, 80).region_id(0, 79), 40);
    }
    if (name == "mi250-ib" || name.starts_with("frontier-") || name == "spock" || name == "elcapitan-like") {
      EXPECT_TRUE(Machine::parse("file:" + path, 8).devices());
    }
  }
}

TEST(Parameters, UnknownNamesAreRefused) {
  try {
    (void)Parameters::read("lasen");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what())
                  .find("there are no parameters of 'lasen': give a path that ends in .toml, or one "
                        "of cluster-2x8-1gbit, cluster-4x4-200mbit, cluster-4x4-50mbit, dane-like, default-ethernet, "
                        "default-hpc"),
              0);
  }
  EXPECT_THROW((void)Parameters::read("/nowhere.toml"), Error);
}

/// Where protocols of a link switch, their lines are as close as the slopes and a whole byte allow.
TEST(Parameters, LassenSwitchesWhereTheLinesCross) {
  const Parameters lassen = Parameters::read("lassen");
  const auto check = [](const LinkCost& link) {
    for (std::size_t i = 0; i + 1 < link.protocols.size(); ++i) {
      const Protocol& next = link.protocols[i + 1];
      const auto last = static_cast<double>(link.protocols[i].up_to);
      EXPECT_LE(link.seconds(link.protocols[i].up_to), next.alpha + next.beta * last);
      EXPECT_GT(link.protocols[i].alpha + link.protocols[i].beta * (last + 1), next.alpha + next.beta * (last + 1));
    }
  };
  for (const LinkClass link : {LinkClass::socket, LinkClass::node, LinkClass::network}) {
    SCOPED_TRACE(name(link));
    check(lassen.link(link));
    check(lassen.staged_device_links[static_cast<std::size_t>(link)]);
  }
  check(lassen.device_links[static_cast<std::size_t>(LinkClass::socket)]);
}

}  // namespace
}  // namespace laneway
