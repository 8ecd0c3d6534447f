// Native schedule file, writing. Elements and their attributes:
//   libcoll_schedule version collective algorithm nodes (hosts) chunks_per_shard steps
//     [root (of broadcast and reduce)] [pipelined (when 1)]
//     topology name nics_forward injection (bytes/s) — with node name host switch, link from to bandwidth latency
//     rewiring s (step it comes before) name seconds links (ids, live from then on)
//       [bandwidths (bytes/s, when not all are the topology's)] — the first is in force from the start
//     proof bandwidth_time bandwidth_bound max_link_load flow flow_upper_bound [lengths (by link, of the certificate)]
//     route u (source) v (destination) layer [class (when not 0)] links — numbered from 0 in file order
//     step s — with t: u (from) v (to) s (shard) c (first chunk) cnt (chunks) [r (route)] [type="rrc" (reduce)]
#include <charconv>
#include <concepts>
#include <span>

#include "planner/schedule/xml.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

/// Appends elements with attributes to a text.
class XmlWriter {
 public:
  void open(int depth, std::string_view name) {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ');
    text_.append("<").append(name);
  }
  void end_open() { text_.append(">\n"); }
  void end_empty() { text_.append("/>\n"); }
  void close(int depth, std::string_view name) {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ');
    text_.append("</").append(name).append(">\n");
  }

  void attribute(std::string_view name, std::string_view value) {
    text_.append(" ").append(name).append("=\"");
    for (const char c : value) append_escaped(c);
    text_.push_back('"');
  }
  void attribute(std::string_view name, std::integral auto value) { number_attribute(name, value); }
  /// The shortest text that reads back as the same number.
  void attribute(std::string_view name, double value) { number_attribute(name, value); }
  template <std::integral Integer>
  void attribute(std::string_view name, std::span<const Integer> ids) {
    text_.append(" ").append(name).append("=\"");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) text_.push_back(' ');
      append_number(ids[i]);
    }
    text_.push_back('"');
  }

  /// For a text of so many elements, which would be copied again and again as it grows.
  void reserve(std::size_t elements) {
    constexpr std::size_t bytes_per_element = 80;  // of a route of some hops, which is longer than most
    text_.reserve(elements * bytes_per_element);
  }
  std::string take() { return std::move(text_); }

 private:
  void number_attribute(std::string_view name, auto value) {
    text_.append(" ").append(name).append("=\"");
    append_number(value);
    text_.push_back('"');
  }

  void append_number(auto value) {
    char digits[64];
    const auto result = std::to_chars(std::begin(digits), std::end(digits), value);
    text_.append(std::begin(digits), result.ptr);
  }

  void append_escaped(char c) {
    if (c == '&') {
      text_.append("&amp;");
    } else if (c == '<') {
      text_.append("&lt;");
    } else if (c == '"') {
      text_.append("&quot;");
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_.append("&#").append(std::to_string(static_cast<int>(c))).push_back(';');
    } else {
      text_.push_back(c);
    }
  }

  std::string text_;
};

void write_node(XmlWriter& writer, const Node& node) {
  writer.open(2, "node");
  writer.attribute("name", node.name);
  if (!node.host.empty()) writer.attribute("host", node.host);
  if (node.is_switch) writer.attribute("switch", 1);
  writer.end_empty();
}

void write_link(XmlWriter& writer, const Link& link) {
  writer.open(2, "link");
  writer.attribute("from", link.from);
  writer.attribute("to", link.to);
  writer.attribute("bandwidth", link.bandwidth_bytes_per_second);
  writer.attribute("latency", link.latency_seconds);
  writer.end_empty();
}

void write_topology(XmlWriter& writer, const Topology& topology) {
  writer.open(1, "topology");
  writer.attribute("name", topology.name());
  writer.attribute("nics_forward", topology.nics_forward() ? 1 : 0);
  writer.attribute("injection", topology.injection_bytes_per_second());
  writer.end_open();
  for (const Node& node : topology.nodes()) write_node(writer, node);
  for (const Link& link : topology.links()) write_link(writer, link);
  writer.close(1, "topology");
}

void write_proof(XmlWriter& writer, const Proof& proof) {
  writer.open(1, "proof");
  writer.attribute("bandwidth_time", proof.bandwidth_time.to_string());
  writer.attribute("bandwidth_bound", proof.bandwidth_bound.to_string());
  writer.attribute("max_link_load", proof.max_link_load.to_string());
  writer.attribute("flow", proof.flow);
  writer.attribute("flow_upper_bound", proof.flow_upper_bound);
  if (!proof.lengths.empty()) writer.attribute("lengths", std::span<const std::int64_t>(proof.lengths));
  writer.end_empty();
}

void write_wiring(XmlWriter& writer, const Topology& topology, const Wiring& wiring) {
  std::string links;
  std::string bandwidths;
  bool usual = true;
  for (const LiveLink& live : wiring.links) {
    links += (links.empty() ? "" : " ") + std::to_string(live.link);
    bandwidths += (bandwidths.empty() ? "" : " ") + std::to_string(live.bandwidth_bytes_per_second);
    usual = usual && live.bandwidth_bytes_per_second == topology.link(live.link).bandwidth_bytes_per_second;
  }
  writer.open(1, "rewiring");
  writer.attribute("s", wiring.step);
  writer.attribute("name", wiring.name);
  writer.attribute("seconds", wiring.seconds);
  writer.attribute("links", links);
  if (!usual) writer.attribute("bandwidths", bandwidths);
  writer.end_empty();
}

void write_route(XmlWriter& writer, const Route& route) {
  writer.open(1, "route");
  writer.attribute("u", route.source);
  writer.attribute("v", route.destination);
  writer.attribute("layer", route.layer);
  if (route.route_class != 0) writer.attribute("class", route.route_class);
  writer.attribute("links", std::span<const LinkId>(route.links));
  writer.end_empty();
}

void write_transfer(XmlWriter& writer, const Transfer& transfer) {
  writer.open(2, "t");
  writer.attribute("u", transfer.from);
  writer.attribute("v", transfer.to);
  writer.attribute("s", transfer.shard);
  writer.attribute("c", transfer.chunk_begin);
  writer.attribute("cnt", transfer.chunk_count);
  if (transfer.route != direct) writer.attribute("r", transfer.route);
  if (transfer.kind == TransferKind::reduce) writer.attribute("type", "rrc");
  writer.end_empty();
}

/// One <step> for each run of transfers of the same step, so that any order of the list survives.
void write_transfers(XmlWriter& writer, const std::vector<Transfer>& transfers) {
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (i == 0 || transfers[i].step != transfers[i - 1].step) {
      writer.open(1, "step");
      writer.attribute("s", transfers[i].step);
      writer.end_open();
    }
    write_transfer(writer, transfers[i]);
    if (i + 1 == transfers.size() || transfers[i].step != transfers[i + 1].step) writer.close(1, "step");
  }
}

}  // namespace

std::string write_schedule(const Schedule& schedule) {
  XmlWriter writer;
  writer.reserve(schedule.routes.size() + schedule.transfers.size());
  writer.open(0, "libcoll_schedule");
  writer.attribute("version", 1);
  writer.attribute("collective", to_string(schedule.collective));
  if (is_rooted(schedule.collective)) writer.attribute("root", schedule.root);
  writer.attribute("algorithm", schedule.algorithm);
  writer.attribute("nodes", schedule.topology.host_count());
  writer.attribute("chunks_per_shard", schedule.chunks_per_shard);
  writer.attribute("steps", schedule.steps);
  if (schedule.pipelined) writer.attribute("pipelined", 1);
  writer.end_open();
  write_topology(writer, schedule.topology);
  write_proof(writer, schedule.proof);
  for (const Wiring& wiring : schedule.wirings) write_wiring(writer, schedule.topology, wiring);
  for (const Route& route : schedule.routes) write_route(writer, route);
  write_transfers(writer, schedule.transfers);
  writer.close(0, "libcoll_schedule");
  return writer.take();
}

}  // namespace libcoll::schedule
