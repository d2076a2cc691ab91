import json
import math
import xml.etree.ElementTree as ElementTree
from collections import deque
from pathlib import Path

import pytest

from laneway_tools.places import machines, simulator
from laneway_tools.places.errors import UserError
from laneway_tools.places.launch import Job, run
from laneway_tools.places.paths import root
from laneway_tools.places.places import Simulated, parse_place
from laneway_tools.places.simulation import Platform, fewest_hops

EXPECTED = Path(__file__).with_name("simulated_times.json")
needs_build = pytest.mark.skipif(
    not (root() / "build" / simulator.PRESET / "tests" / "sim" / "laneway_sim_messages").is_file(),
    reason="not built for simulations: './dev setup --sim' and './dev build --preset sim'",
)
CPU = """
name = "small"
provenance = "test"
description = "node:* socket:2 rank:2"
copies = [{ active = 1, beta = 1e-10 }, { active = 4, beta = 2e-10 }]
[links.socket]
protocols = [{ name = "eager", up_to = 100, alpha = 1e-6, beta = 4e-10 }, { name = "rendezvous", alpha = 2e-6, beta = 1e-10 }]
[links.network]
protocols = [{ name = "eager", up_to = 100, alpha = 3e-6, beta = 0.0 }, { name = "rendezvous", alpha = 5e-6, beta = 2e-10 }]
[injection]
beta = 1e-10
[overhead]
pack = 3e-10
network = { message = 1e-6, byte = 0.0, wait = 0.0 }
[network]
topology = "fat-tree"
switch_nodes = 2
taper = 2.0
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(CPU)
    return path


def _root_zone(platform: Platform) -> ElementTree.Element:
    zone = ElementTree.fromstring(platform.xml()).find("zone")
    assert zone is not None
    return zone


def _links(zone: ElementTree.Element) -> dict[str, float]:
    return {link.attrib["id"]: float(link.attrib["bandwidth"].removesuffix("Bps")) for link in zone.iter("link")}


@pytest.mark.parametrize(("text", "ranks"), [("sim:lassen:128x16", 2048), ("sim:frontier-like:16x8", 128)])
def test_places(text: str, ranks: int) -> None:
    place = parse_place(text)
    assert isinstance(place, Simulated)
    assert place.ranks == ranks
    assert str(place) == text
    assert Job(["true"], place).rank_count() == ranks


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sim:lassen", "expected 'sim:lassen:128x16'"),
        ("sim:lassen:4", "expected 'sim:lassen:128x16'"),
        ("sim:atlantis:4x4", "no machine 'atlantis'.*frontier-like.*lassen"),
        ("sim:none.toml:4x4", "none.toml cannot be read"),
        ("sim:lassen:0x4", "both must be positive"),
        ("sim:lassen:99999x40", "more than the 65536"),
        ("sim:frontier-like:2x9", "8 devices.*9 ranks"),
        ("sim:default-node:2x4", r"needs \[links.network\]"),
    ],
)
def test_bad_places(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_place(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[network]\ntopology = 'torus'", "'torus', expected switch, fat-tree or dragonfly"),
        ("[network]\nspeed = 1", "TypeError.*speed"),
        ("name = ", "Invalid value"),
    ],
)
def test_bad_machine_files(small: Path, line: str, message: str) -> None:
    small.write_text(CPU[: CPU.index("[network]")] + line)
    with pytest.raises(UserError, match=message):
        machines.read(str(small))


def test_too_many_ranks_do_not_fit() -> None:
    with pytest.raises(UserError, match="-n 5"):
        Job(["true"], parse_place("sim:lassen:2x2"), 5)


def test_regions_follow_the_description(small: Path) -> None:
    lassen = machines.read("lassen")
    assert lassen.description(128, 16) == "node:128 socket:2 gpu:2 rank:4"
    assert lassen.description(4, 6) == "node:4 socket:2 rank:3"
    assert lassen.description(4, 5) == "node:4 rank:5"
    assert machines.read("cluster-4x4-200mbit").description(4, 4) == "node:4 rank:4"
    gpus = machines.read("frontier-like")
    assert gpus.description(16, 8) == f"file:{gpus.path}"


def test_spock_has_the_published_numbers() -> None:
    """Shafie Khorassani et al., sections 3.3.1 and 3.3.2: MVAPICH2-GDR."""
    spock = machines.read("spock")

    def seconds(name: str, size: int) -> float:
        protocol = next(p for p in spock.link(name) if size <= p.up_to)
        return protocol.alpha + protocol.beta * size

    assert seconds("socket", 4) == pytest.approx(2.01e-6, rel=0.01)
    assert (seconds("network", 4), seconds("network", 2**20)) == (pytest.approx(3.73e-6, rel=0.01), pytest.approx(115.26e-6, rel=0.001))
    assert 1 / spock.link("network")[-1].beta == pytest.approx(11e9, rel=0.01)
    assert 1 / spock.link("socket")[-1].beta == pytest.approx(26e9, rel=0.01)
    assert 1 / spock.injection_beta == pytest.approx(12.5e9)
    assert list(Platform(spock, 16, 4).device_rates().values()) == pytest.approx([26e9] * 12, rel=0.01)
    # Protocols between nodes switch where their lines cross.
    last, first = spock.link("network")[:2]
    assert last.alpha + last.beta * last.up_to == pytest.approx(first.alpha + first.beta * last.up_to, rel=1e-3)


def test_nodes_of_apus_are_joined_by_all_their_links() -> None:
    apus = machines.read("elcapitan-like")
    assert apus.description(16, 4) == f"file:{apus.path}"
    assert list(Platform(apus, 2, 4).device_rates().values()) == pytest.approx([128e9] * 12, rel=0.01)


def test_programs_are_told_what_shared_memory_costs() -> None:
    def costs(place: str) -> dict[str, float]:
        simulated = parse_place(place)
        assert isinstance(simulated, Simulated)
        told = simulator.variables(simulated)
        return {name: float(value) for name, value in told.items() if name.endswith(("_COST", "_ON_DEVICES"))}

    lassen = costs("sim:lassen:2x16")
    assert lassen["LANEWAY_FLAG_COST"] == 5.3e-7
    assert lassen["LANEWAY_SHARED_COST"] == pytest.approx(6.5e-8)
    assert lassen["LANEWAY_TURN_COST"] == 0
    # Devices share no memory.
    assert costs("sim:frontier-like:2x8")["LANEWAY_FLAG_COST"] == 0
    assert (lassen["LANEWAY_RANKS_ON_DEVICES"], costs("sim:frontier-like:4x4")["LANEWAY_RANKS_ON_DEVICES"]) == (0, 1)
    # Sixteen ranks on two cores.
    machine = machines.read("cluster-4x4-200mbit")
    cluster = costs("sim:cluster-4x4-200mbit:4x4")
    assert cluster["LANEWAY_SHARED_COST"] == pytest.approx(8 * machine.overheads["shared"] / 2, rel=1e-5)
    assert cluster["LANEWAY_TURN_COST"] == pytest.approx(8 * machine.wait, rel=1e-5)


def test_costs_of_a_small_platform(small: Path) -> None:
    machine = machines.read(str(small))
    zone = _root_zone(Platform(machine, 3, 4))
    links = _links(zone)
    assert links["n0.nic"] == 1e10
    assert links["n0.r1.network"] == 5e9
    assert links["n2.memory"] == 4 / 2e-10
    assert links["n1.socket"] == 1e10
    # Sockets of a node are joined by what is known of the next class outside.
    assert links["n1.node"] == 5e9
    # Three nodes on two switches of a tree that is tapered to one half.
    assert links["s0.up"] == 1e10
    properties = {prop.attrib["id"]: prop.attrib["value"] for prop in zone.findall("prop")}
    assert properties["classes"] == "node socket network"
    assert properties["pairs"] == "1 1 0 0 1 1 0 0 0 0 1 1 0 0 1 1"
    assert properties["protocols.network"] == "100 3e-06 0 -1 5e-06 2e-10"
    assert properties["overhead.network"] == "5e-07"
    assert properties["eager"] == "101"
    assert machine.copy_beta(1) == 1e-10
    assert machine.copy_beta(2) == pytest.approx(4e-10 / 3)
    assert machine.copy_beta(99) == 2e-10


@pytest.mark.parametrize(
    ("machine", "nodes", "ranks"),
    [("lassen", 5, 16), ("frontier-like", 300, 8), ("mi250-ib", 2, 5), ("spock", 16, 4), ("elcapitan-like", 2, 4)],
)
def test_every_route_is_there_once_and_every_link_exists(machine: str, nodes: int, ranks: int) -> None:
    zone = _root_zone(Platform(machines.read(machine), nodes, ranks))
    links = _links(zone)
    hosts = [host.attrib["id"] for host in zone.iter("host")]
    assert hosts == [f"n{n}.r{r}" for n in range(nodes) for r in range(ranks)]
    ends = [(route.attrib["src"], route.attrib["dst"]) for route in zone.iter("route")]
    assert len(set(ends)) == len(ends) == nodes * (ranks * (ranks - 1) // 2 + ranks)
    used = {part.attrib["id"] for part in zone.iter("link_ctn")}
    assert used <= set(links)
    # All nodes reach each other over the switches.
    joined: dict[str, list[str]] = {}
    for route in zone.findall("zoneRoute"):
        joined.setdefault(route.attrib["src"], []).append(route.attrib["dst"])
        joined.setdefault(route.attrib["dst"], []).append(route.attrib["src"])
    seen, queue = {"n0"}, deque(["n0"])
    while queue:
        for other in joined[queue.popleft()]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    assert {f"n{n}" for n in range(nodes)} <= seen


@pytest.mark.parametrize("machine", ["frontier-like", "mi250-ib"])
def test_device_routes_have_the_fewest_hops(machine: str) -> None:
    links = machines.read(machine).device_links
    assert links is not None
    n = len(links)
    hops = [[0 if a == b else 1 if links[a][b] else 99 for b in range(n)] for a in range(n)]
    for k in range(n):
        for a in range(n):
            for b in range(n):
                hops[a][b] = min(hops[a][b], hops[a][k] + hops[k][b])
    for a in range(n):
        for b in range(n):
            path = fewest_hops(links, a, b)
            assert (path[0], path[-1], len(path) - 1) == (a, b, hops[a][b])
            assert all(links[x][y] for x, y in zip(path, path[1:], strict=False))


def test_bundles_are_as_wide_as_their_links() -> None:
    machine = machines.read("frontier-like")
    links = _links(_root_zone(Platform(machine, 1, 8)))
    one = 1 / machine.links["socket"][-1].beta
    assert links["n0.0-6"] == pytest.approx(2 * one)
    assert links["n0.1-3"] == pytest.approx(one)
    assert links["n0.0-1"] == pytest.approx(1 / machine.links["core"][-1].beta)
    assert "n0.0-3" not in links


def test_the_same_machine_gives_the_same_text() -> None:
    assert Platform(machines.read("lassen"), 3, 4).xml() == Platform(machines.read("lassen"), 3, 4).xml()


def test_all_factors_are_finite() -> None:
    for name in machines.shipped():
        try:
            platform = Platform(machines.read(name), 2, 2)
        except UserError:
            continue
        for prop in ElementTree.fromstring(platform.xml()).iter("prop"):
            if prop.attrib["id"] in ("smpi/lat-factor", "smpi/bw-factor"):
                for part in prop.attrib["value"].split(";"):
                    assert math.isfinite(float(part.split(":")[1]))


@needs_build
@pytest.mark.parametrize(
    ("place", "class_of_peer"),
    [
        ("sim:lassen:2x16", {1: "core", 4: "socket", 8: "node", 16: "network", 31: "network"}),
        ("sim:frontier-like:2x8", {1: "core", 2: "socket", 3: "node", 8: "network"}),
        ("sim:default-ethernet:2x2", {1: "node", 2: "network"}),
    ],
)
def test_a_message_alone_takes_alpha_and_beta(place: str, class_of_peer: dict[int, str], tmp_path: Path) -> None:
    machine = machines.read(place.split(":")[1])
    switches = {int(p.up_to) for name in class_of_peer.values() for p in machine.link(name) if math.isfinite(p.up_to)}
    sizes = sorted({16, 100, 1000, 5000, 20000, 100000, 1000000} | switches | {size + 1 for size in switches})
    log = tmp_path / "log"
    program = root() / "build" / simulator.PRESET / "tests" / "sim" / "laneway_sim_messages"
    with log.open("wb") as output:
        assert run(Job([str(program), *map(str, sizes)], parse_place(place), timeout_seconds=60), output) == 0
    lines = [line.split() for line in log.read_text().splitlines()]
    times = {(int(peer), int(size)): float(seconds) for peer, size, seconds in lines}
    for peer, name in class_of_peer.items():
        for size in sizes:
            protocol = next(p for p in machine.link(name) if size <= p.up_to)
            slowest = machine.injection_beta if name == "network" else 0.0
            expected = protocol.alpha + max(protocol.beta, slowest) * size
            # SMPI's own header is 16 bytes.
            assert times[peer, size] == pytest.approx(expected, rel=1e-3, abs=2e-8 + 17 * slowest), (peer, size)


def _records(tmp_path: Path, name: str, place: str, arguments: list[str], variables: dict[str, str] | None = None) -> list[dict]:
    results = tmp_path / f"{name}.jsonl"
    command = ["laneway-bench", "neighbor", *arguments, "--json", str(results)]
    with (tmp_path / f"{name}.log").open("wb") as log:
        assert run(Job(command, parse_place(place), variables=variables or {}, timeout_seconds=120), log) == 0
    records = [json.loads(line) for line in results.read_text().splitlines()]
    moves_data = (variables or {}).get(simulator.DATA) != "0"
    assert all(record["verified"] is (True if moves_data else None) for record in records)
    return records


def _simulated_times(tmp_path: Path, name: str) -> dict[str, float]:
    arguments = ["--pattern", "rsg:density=0.2,seed=1", "--bytes", "64,32768", "--iterations", "2", "--baseline", "mpi"]
    arguments += ["--strategy", "direct,three_step,two_step,split,auto", "--goodput", "1e10"]
    records = _records(tmp_path, name, "sim:lassen:8x8", arguments)
    return {f"{record['candidate']} {record['bytes']}": record["median_s"] for record in records}


@needs_build
def test_without_a_cost_of_flags_messages_carry_everything(tmp_path: Path) -> None:
    """Then the library's own direct exchange is the loop of messages that it is compared with."""
    arguments = ["--pattern", "moore:d=1,r=2", "--bytes", "64", "--strategy", "direct", "--baseline", "mpi", "--iterations", "1"]
    times = {}
    for flag in ("2e-7", "0"):
        records = _records(tmp_path, flag, "sim:lassen:2x8", arguments, {"LANEWAY_FLAG_COST": flag})
        times[flag] = {record["candidate"]: record["median_s"] for record in records}
    assert times["0"]["direct"] == pytest.approx(times["0"]["mpi"], rel=1e-6)
    assert times["2e-7"]["direct"] < times["2e-7"]["mpi"] == times["0"]["mpi"]


@needs_build
def test_eager_messages_need_not_wait_for_their_receive(tmp_path: Path) -> None:
    """Receives into shared staging memory are posted late, those of the loop of messages before all sends."""
    arguments = [
        "--pattern",
        "moore:d=2,r=1,dims=4x8",
        "--bytes",
        "512",
        "--strategy",
        "two_step",
        "--baseline",
        "mpi",
        "--iterations",
        "1",
    ]
    times = {}
    for eager in ("0", "1"):
        records = _records(tmp_path, eager, "sim:lassen:4x8", arguments, {simulator.EAGER: eager})
        times[eager] = {record["candidate"]: record["median_s"] for record in records}
    assert times["1"]["two_step"] < 0.98 * times["0"]["two_step"]
    assert times["1"]["mpi"] == pytest.approx(times["0"]["mpi"], rel=0.01)


@needs_build
@pytest.mark.parametrize("machine", ["lassen", "mi250-ib"])
def test_blocks_that_are_not_moved_take_as_long(tmp_path: Path, machine: str) -> None:
    arguments = ["--pattern", "rsg:density=0.4,seed=1", "--bytes", "4096,262144", "--baseline", "mpi", "--iterations", "1"]
    arguments += ["--strategy", "direct,three_step,two_step,split,load_aware,grouped,leader_scatter", "--goodput", "1e10"]
    times = {}
    for data in ("1", "0"):
        records = _records(tmp_path, data, f"sim:{machine}:2x8", arguments, {simulator.DATA: data})
        times[data] = [record["median_s"] for record in records]
    assert times["0"] == pytest.approx(times["1"], rel=1e-9)


@needs_build
def test_auto_takes_several_ways_between_devices_of_a_node(tmp_path: Path) -> None:
    """Large messages by other devices, too; small ones straight."""
    times = {}
    for size in ("8", "4194304"):
        arguments = ["--pattern", "rsg:density=0.05,seed=1", "--bytes", size, "--baseline", "mpi", "--iterations", "1"]
        arguments += ["--strategy", "direct,multi_path,auto", "--goodput", "1e10"]
        records = _records(tmp_path, size, "sim:mi250-ib:1x8", arguments, {simulator.DATA: "0"})
        times[size] = {record["candidate"]: record["median_s"] for record in records}
        chosen = {record["chosen"] for record in records if record["candidate"] == "auto"}
        assert chosen == {"multi_path" if size != "8" else "direct"}
    assert times["4194304"]["auto"] == pytest.approx(times["4194304"]["multi_path"], rel=1e-6)
    assert times["4194304"]["auto"] < 0.6 * times["4194304"]["direct"]
    assert times["8"]["auto"] == pytest.approx(times["8"]["direct"], rel=1e-6)


@needs_build
@pytest.mark.parametrize("machine", ["frontier-like", "lassen"])
def test_auto_relays_nothing_on_a_ring(tmp_path: Path, machine: str) -> None:
    """Between nodes, ranks at their ends send one message and receive one: there is nothing to combine, and no work to share."""
    arguments = [
        "--op",
        "alltoallv",
        "--pattern",
        "moore:d=1,r=1",
        "--bytes",
        "8,1024",
        "--strategy",
        "auto",
        "--baseline",
        "mpi",
        "--iterations",
        "1",
    ]
    records = _records(tmp_path, "ring", f"sim:{machine}:4x4", arguments)
    times = {(record["candidate"], record["bytes"]): record["median_s"] for record in records}
    assert {record["chosen"] for record in records if record["candidate"] == "auto"} == {"direct"}
    assert all(times["auto", size] <= 1.001 * times["mpi", size] for size in (8, 1024))


@needs_build
def test_blocks_that_are_not_moved_take_no_memory(tmp_path: Path) -> None:
    """16 ranks with some six blocks of a gibibyte each."""
    arguments = ["--pattern", "rsg:density=0.4,seed=1", "--bytes", "1GiB", "--baseline", "mpi", "--iterations", "1"]
    arguments += ["--strategy", "two_step", "--goodput", "1e10"]
    variables = {simulator.DATA: "0", "LANEWAY_NETWORK_MESSAGE": "67108864"}
    times = {record["candidate"]: record["median_s"] for record in _records(tmp_path, "large", "sim:mi250-ib:2x8", arguments, variables)}
    assert times["two_step"] < times["mpi"]


@needs_build
def test_errors_end_a_simulation_with_a_status(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = ["laneway-bench", "neighbor", "--pattern", "moore:d=1,r=1", "--strategy", "nonsense"]
    with log.open("wb") as file:
        assert run(Job(command, parse_place("sim:lassen:2x2"), timeout_seconds=60), file) == 1
    assert "unknown strategy 'nonsense'" in log.read_text()


@needs_build
def test_simulated_times_are_exactly_those_committed(tmp_path: Path) -> None:
    """To be made anew, and looked at, when the library sends other messages than before: see docs/reference/simulation.md."""
    times = _simulated_times(tmp_path, "times")
    if not EXPECTED.exists():
        EXPECTED.write_text(json.dumps(times, indent=2) + "\n")
        pytest.fail(f"{EXPECTED} was missing; what it has now is to be looked at and committed")
    assert times == json.loads(EXPECTED.read_text())
