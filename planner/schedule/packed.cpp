#include "planner/schedule/packed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace libcoll::schedule {

using namespace topology;

namespace {

// A number takes a byte for each seven of its bits. Lists are ordered, so that fields are written as their difference
// from those of the element before: mostly one byte.

constexpr unsigned bits_per_byte = 7;
constexpr std::uint8_t more = 1U << bits_per_byte;

class PackedWriter {
 public:
  void number(std::uint64_t value) {
    for (; value >= more; value >>= bits_per_byte) bytes_ += static_cast<char>((value % more) | more);
    bytes_ += static_cast<char>(value);
  }
  /// Small ones of either sign are short.
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value < 0 ? -1 : 0));
  }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  /// One of more than 64 bits as a text, behind a denominator of 0.
  void rational(const Rational& value) {
    integer(value.is_narrow() ? value.numerator() : 0);
    integer(value.is_narrow() ? value.denominator() : 0);
    if (!value.is_narrow()) text(value.to_string());
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what a PackedWriter wrote; once something does not fit, everything reads as zero.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; good_ && shift < 64; shift += bits_per_byte) {
      if (rest_.empty()) break;
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & (more - 1U)} << shift;
      if (byte < more) return value;
    }
    good_ = false;
    return 0;
  }
  std::int64_t integer() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1U) ^ (0 - (value & 1U)));
  }
  /// One that has to be within bounds.
  std::int64_t integer(std::int64_t least, std::int64_t most) {
    const std::int64_t value = integer();
    return within(value, least, most) ? value : 0;
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string text() {
    const std::size_t length = count();
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return value;
  }
  Rational rational() {
    const std::int64_t numerator = integer();
    const std::int64_t denominator = integer();
    if (good_ && numerator == 0 && denominator == 0) {
      const std::optional<Rational> value = Rational::parse(text());
      good_ = good_ && value;
      return value.value_or(Rational());
    }
    return good_ && within(denominator, 1, max_int64) ? Rational(numerator, denominator) : Rational();
  }
  /// Of elements, each of which takes a byte at least.
  std::size_t count() {
    const std::uint64_t value = number();
    if (value > rest_.size()) good_ = false;
    return good_ ? static_cast<std::size_t>(value) : 0;
  }
  bool within(std::int64_t value, std::int64_t least, std::int64_t most) {
    good_ = good_ && value >= least && value <= most;
    return good_;
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  static constexpr std::int64_t max_int64 = INT64_MAX;
  std::string_view rest_;
  bool good_ = true;
};

/// The fields of a list's elements, one element after the other.
template <std::size_t Count>
class Fields {
 public:
  using Values = std::array<std::int64_t, Count>;

  void write(PackedWriter& writer, const Values& values) {
    for (std::size_t i = 0; i < Count; ++i) writer.integer(difference(values[i], last_[i]));
    last_ = values;
  }
  const Values& read(PackedReader& reader) {
    for (std::int64_t& value : last_) value = difference(reader.integer(), difference(0, value));
    return last_;
  }

 private:
  /// Modulo 2^64.
  static std::int64_t difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
  Values last_{};
};

// As of schedule files.
constexpr std::int64_t most_nodes = 32768;
constexpr std::int64_t most_steps = 1 << 20;
constexpr std::int64_t most_of_a_kind = INT32_MAX;

// ---- writing ------------------------------------------------------------------------------------------------------

void write_topology(PackedWriter& writer, const Topology& topology) {
  writer.text(topology.name());
  writer.number(topology.nics_forward() ? 1 : 0);
  writer.integer(topology.injection_bytes_per_second());
  writer.number(topology.nodes().size());
  for (const Node& node : topology.nodes()) {
    writer.text(node.name);
    writer.text(node.host);
    writer.number(node.is_switch ? 1 : 0);
  }
  writer.number(topology.links().size());
  Fields<4> fields;
  for (const Link& link : topology.links()) {
    fields.write(writer, {link.from, link.to, link.bandwidth_bytes_per_second,
                          std::bit_cast<std::int64_t>(link.latency_seconds)});
  }
}

void write_wirings(PackedWriter& writer, const std::vector<Wiring>& wirings) {
  writer.number(wirings.size());
  for (const Wiring& wiring : wirings) {
    writer.integer(wiring.step);
    writer.text(wiring.name);
    writer.real(wiring.seconds);
    writer.number(wiring.links.size());
    Fields<2> fields;
    for (const LiveLink& live : wiring.links) fields.write(writer, {live.link, live.bandwidth_bytes_per_second});
  }
}

void write_routes(PackedWriter& writer, const std::vector<Route>& routes) {
  writer.number(routes.size());
  Fields<4> fields;
  for (const Route& route : routes) {
    fields.write(writer, {route.source, route.destination, route.layer, route.route_class});
    writer.number(route.links.size());
    Fields<1> links;
    for (const LinkId link : route.links) links.write(writer, {link});
  }
}

void write_transfers(PackedWriter& writer, const std::vector<Transfer>& transfers) {
  writer.number(transfers.size());
  Fields<8> fields;
  for (const Transfer& transfer : transfers) {
    fields.write(writer, {transfer.step, transfer.from, transfer.to, transfer.route, transfer.shard,
                          transfer.chunk_begin, transfer.chunk_count, static_cast<std::int64_t>(transfer.kind)});
  }
}

// ---- reading ------------------------------------------------------------------------------------------------------

Result<Topology> read_topology(PackedReader& reader) {
  std::string name = reader.text();
  const bool nics_forward = reader.number() != 0;
  const std::int64_t injection = reader.integer(0, INT64_MAX);
  std::vector<Node> nodes(reader.count());
  reader.within(static_cast<std::int64_t>(nodes.size()), 0, most_nodes);
  for (Node& node : nodes) {
    node.name = reader.text();
    node.host = reader.text();
    node.is_switch = reader.number() != 0;
  }
  std::vector<Link> links(reader.count());
  Fields<4> fields;
  for (Link& link : links) {
    const auto& [from, to, bandwidth, latency] = fields.read(reader);
    if (!reader.within(from, 0, most_nodes) || !reader.within(to, 0, most_nodes)) break;
    link = {static_cast<NodeId>(from), static_cast<NodeId>(to), bandwidth, std::bit_cast<double>(latency)};
  }
  if (!reader.good()) return Error{"its topology ends early"};
  Result<Topology> topology = Topology::make(std::move(name), std::move(nodes), std::move(links));
  if (!topology) return topology;
  topology->set_nics_forward(nics_forward);
  topology->set_injection_bytes_per_second(injection);
  return topology;
}

void read_wirings(PackedReader& reader, Schedule& schedule) {
  schedule.wirings.resize(reader.count());
  for (Wiring& wiring : schedule.wirings) {
    wiring.step = static_cast<std::int32_t>(reader.integer(0, most_steps));
    wiring.name = reader.text();
    wiring.seconds = reader.real();
    wiring.links.resize(reader.count());
    Fields<2> fields;
    for (LiveLink& live : wiring.links) {
      const auto& [link, bandwidth] = fields.read(reader);
      if (!reader.within(link, 0, schedule.topology.link_count() - 1)) return;
      live = {static_cast<LinkId>(link), bandwidth};
    }
  }
}

void read_routes(PackedReader& reader, Schedule& schedule) {
  const std::int64_t last_host = schedule.topology.host_count() - 1;
  schedule.routes.resize(reader.count());
  Fields<4> fields;
  for (Route& route : schedule.routes) {
    const auto& [source, destination, layer, route_class] = fields.read(reader);
    if (!reader.within(source, 0, last_host) || !reader.within(destination, 0, last_host) ||
        !reader.within(layer, 0, most_of_a_kind) || !reader.within(route_class, 0, most_of_a_kind)) {
      return;
    }
    route.source = static_cast<NodeId>(source);
    route.destination = static_cast<NodeId>(destination);
    route.layer = static_cast<std::int32_t>(layer);
    route.route_class = static_cast<std::int32_t>(route_class);
    route.links.resize(reader.count());
    Fields<1> links;
    for (LinkId& link : route.links) {
      const std::int64_t id = links.read(reader)[0];
      if (!reader.within(id, 0, schedule.topology.link_count() - 1)) return;
      link = static_cast<LinkId>(id);
    }
  }
}

void read_transfers(PackedReader& reader, Schedule& schedule) {
  const std::int64_t hosts = schedule.topology.host_count();
  const std::int64_t shards = schedule.collective == Collective::alltoall ? hosts * hosts : hosts;
  const auto routes = static_cast<std::int64_t>(schedule.routes.size());
  schedule.transfers.resize(reader.count());
  Fields<8> fields;
  for (Transfer& transfer : schedule.transfers) {
    const auto& [step, from, to, route, shard, begin, count, kind] = fields.read(reader);
    if (!reader.within(step, 1, schedule.steps) || !reader.within(from, 0, hosts - 1) ||
        !reader.within(to, 0, hosts - 1) || !reader.within(route, direct, routes - 1) ||
        !reader.within(shard, 0, shards - 1) || !reader.within(begin, 0, schedule.chunks_per_shard - 1) ||
        !reader.within(count, 1, schedule.chunks_per_shard - begin) || !reader.within(kind, 0, 1)) {
      return;
    }
    transfer = {static_cast<ShardId>(shard),      static_cast<std::int32_t>(begin), static_cast<std::int32_t>(count),
                static_cast<NodeId>(from),        static_cast<NodeId>(to),          static_cast<std::int32_t>(step),
                static_cast<std::int32_t>(route), static_cast<TransferKind>(kind)};
  }
}

}  // namespace

std::string pack_schedule(const Schedule& schedule) {
  PackedWriter writer;
  writer.number(static_cast<std::uint64_t>(schedule.collective));
  writer.text(schedule.algorithm);
  write_topology(writer, schedule.topology);
  writer.integer(schedule.root);
  writer.integer(schedule.chunks_per_shard);
  writer.integer(schedule.steps);
  writer.number(schedule.pipelined ? 1 : 0);
  write_wirings(writer, schedule.wirings);
  write_routes(writer, schedule.routes);
  write_transfers(writer, schedule.transfers);
  writer.rational(schedule.proof.bandwidth_time);
  writer.rational(schedule.proof.bandwidth_bound);
  writer.rational(schedule.proof.max_link_load);
  writer.real(schedule.proof.flow);
  writer.real(schedule.proof.flow_upper_bound);
  writer.number(schedule.proof.lengths.size());
  Fields<1> lengths;
  for (const std::int64_t length : schedule.proof.lengths) lengths.write(writer, {length});
  return writer.take();
}

Result<Schedule> unpack_schedule(std::string_view bytes) {
  const auto refused = [&](const std::string& why) {
    return Error{"a packed schedule of " + std::to_string(bytes.size()) + " bytes is not one: " + why};
  };
  PackedReader reader(bytes);
  Schedule schedule;
  const std::uint64_t collective = reader.number();
  if (collective > static_cast<std::uint64_t>(Collective::reduce)) return refused("it is of no known collective");
  schedule.collective = static_cast<Collective>(collective);
  schedule.algorithm = reader.text();
  Result<Topology> topology = read_topology(reader);
  if (!topology) return refused(topology.error().message);
  schedule.topology = std::move(topology).value();
  schedule.root = static_cast<NodeId>(reader.integer(0, std::max(0, schedule.topology.host_count() - 1)));
  schedule.chunks_per_shard = static_cast<std::int32_t>(reader.integer(1, most_of_a_kind));
  schedule.steps = static_cast<std::int32_t>(reader.integer(0, most_steps));
  schedule.pipelined = reader.number() != 0;
  read_wirings(reader, schedule);
  read_routes(reader, schedule);
  read_transfers(reader, schedule);
  schedule.proof.bandwidth_time = reader.rational();
  schedule.proof.bandwidth_bound = reader.rational();
  schedule.proof.max_link_load = reader.rational();
  schedule.proof.flow = reader.real();
  schedule.proof.flow_upper_bound = reader.real();
  schedule.proof.lengths.resize(reader.count());
  Fields<1> lengths;
  for (std::int64_t& length : schedule.proof.lengths) length = lengths.read(reader)[0];
  if (!reader.good() || !reader.at_end()) return refused("something in it is out of bounds");
  return schedule;
}

}  // namespace libcoll::schedule
