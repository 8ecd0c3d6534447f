#include "planner/schedule/route_binding.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include "planner/base/text_file.h"
#include "planner/base/toml_node.h"
#include "planner/base/toml_text.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

constexpr std::int64_t most_classes = 4096;         // as many as a schedule may name
constexpr std::int64_t most_layers = 4096;          // likewise
constexpr std::int64_t largest_path_index = 65535;  // beyond any UCT device
constexpr std::size_t digest_digits = 16;

bool is_setting_name(std::string_view name) {
  const auto allowed = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z' && std::all_of(name.begin(), name.end(), allowed);
}

bool is_digest(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == digest_digits && std::all_of(text.begin(), text.end(), digit);
}

/// A class and where it stands in the file.
struct PlacedClass {
  RouteClassBinding binding;
  Line line = 0;
};

/// Reads one file. The first refusal is kept and ends the reading; what is read after it does not count.
class BindingReader {
 public:
  explicit BindingReader(std::string_view file) : file_(file) {}

  Result<RouteBinding> read(const toml::table& root) {
    for (auto&& [key, value] : in_file_order(root)) {
      if (*key == "backend") {
        read_backend(*value);
      } else if (*key == "routes") {
        read_routes(*value);
      } else if (*key == "class") {
        read_classes(*value);
      } else {
        refuse(key->source().begin.line, "found unknown key '" + std::string(key->str()) +
                                             "' at the top level, expected one of backend, routes, [[class]]");
      }
    }
    if (classes_.empty()) refuse(1, "found no [[class]], expected one for every route class");
    place_classes();
    if (error_) return *error_;
    return std::move(binding_);
  }

 private:
  using Entry = std::pair<const toml::key*, const toml::node*>;

  void refuse(Line line, const std::string& what) {
    if (!error_) error_ = Error{file_ + ":" + std::to_string(line) + ": " + what};
  }

  /// A table iterates by name; what was written first should be read, and blamed, first.
  static std::vector<Entry> in_file_order(const toml::table& table) {
    std::vector<Entry> entries;
    for (auto&& [key, value] : table) entries.emplace_back(&key, &value);
    const auto place = [](const Entry& entry) {
      return std::pair(entry.first->source().begin.line, entry.first->source().begin.column);
    };
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const Entry& a, const Entry& b) { return place(a) < place(b); });
    return entries;
  }

  void read_backend(const toml::node& node) {
    const std::string text = node.is_string() ? node.as_string()->get() : "";
    if (text == "ucp" || text == "uct") {
      binding_.backend = text == "ucp" ? SteeringBackend::ucp : SteeringBackend::uct;
    } else {
      refuse(line_of(node), "backend: found " + shown(node) + ", expected \"ucp\" or \"uct\"");
    }
  }

  void read_routes(const toml::node& node) {
    if (node.is_string() && (node.as_string()->get().empty() || is_digest(node.as_string()->get()))) {
      binding_.routes = node.as_string()->get();
    } else {
      refuse(line_of(node), "routes: found " + shown(node) + ", expected the digest of a set of routes, " +
                                std::to_string(digest_digits) + " hexadecimal digits in lower case");
    }
  }

  void read_classes(const toml::node& node) {
    const std::string expected = ", expected tables headed [[class]]";
    if (!node.is_array()) return refuse(line_of(node), "class: found " + shown(node) + expected);
    for (const toml::node& element : *node.as_array()) {
      if (!element.is_table()) return refuse(line_of(element), "class: found " + shown(element) + expected);
      read_class(*element.as_table());
    }
  }

  void read_class(const toml::table& table) {
    PlacedClass read{{}, line_of(table)};
    const toml::node* number = table.get("class");
    if (number == nullptr) return refuse(read.line, "found a [[class]] without its number, expected class = 1 or so");
    read.binding.route_class = integer(*number, "class", most_classes - 1);
    for (auto&& [key, value] : in_file_order(table)) {
      if (*key == "class") continue;
      if (*key == "path_index") {
        read.binding.path_index = integer(*value, "path_index", largest_path_index);
      } else if (*key == "layer") {
        read.binding.layer = integer(*value, "layer", most_layers - 1);
      } else {
        read_setting(*key, *value, read.binding);
      }
    }
    classes_.push_back(std::move(read));
  }

  std::int32_t integer(const toml::node& node, const std::string& what, std::int64_t most) {
    if (const auto* number = node.as_integer(); number != nullptr && number->get() >= 0 && number->get() <= most) {
      return static_cast<std::int32_t>(number->get());
    }
    refuse(line_of(node),
           what + ": found " + shown(node) + ", expected a whole number from 0 to " + std::to_string(most));
    return 0;
  }

  void read_setting(const toml::key& key, const toml::node& value, RouteClassBinding& binding) {
    const std::string name(key.str());
    if (!is_setting_name(name) || name.starts_with("UCX_")) {
      return refuse(
          key.source().begin.line,
          "found '" + name +
              "' in [[class]], expected class, layer, path_index or a UCX setting in capitals without its UCX_ "
              "prefix, such as NET_DEVICES");
    }
    if (const auto* text = value.as_string()) {
      binding.settings.emplace_back(name, text->get());
    } else if (const auto* number = value.as_integer()) {
      binding.settings.emplace_back(name, std::to_string(number->get()));
    } else {
      refuse(line_of(value), name + ": found " + shown(value) + ", expected a string or a whole number");
    }
  }

  void place_classes() {
    const auto key = [](const PlacedClass& placed) {
      return std::pair(placed.binding.route_class, placed.binding.layer);
    };
    std::stable_sort(classes_.begin(), classes_.end(),
                     [&](const PlacedClass& a, const PlacedClass& b) { return key(a) < key(b); });
    if (error_ || classes_.front().binding.route_class != 0) binding_.classes.emplace_back();
    Line last = 0;
    for (PlacedClass& placed : classes_) {
      check_place(placed, last);
      last = placed.line;
      binding_.classes.push_back(std::move(placed.binding));
    }
  }

  /// `last` is the line of the entry before it.
  void check_place(const PlacedClass& placed, Line last) {
    const RouteClassBinding* before = binding_.classes.empty() ? nullptr : &binding_.classes.back();
    const RouteClassBinding& binding = placed.binding;
    const std::int32_t next = before == nullptr ? 0 : before->route_class + 1;
    const std::string found = "found class " + std::to_string(binding.route_class);
    const std::string first = " (the first is in line " + std::to_string(last) + ")";
    if (binding.route_class > next) {
      refuse(placed.line, found + " and no class " + std::to_string(next) + ", expected numbers without gaps");
    } else if (binding.route_class < next && !binding.layer) {
      refuse(placed.line, found + " a second time, expected every class once" + first);
    } else if (binding.route_class < next && !before->layer) {
      refuse(placed.line, found + " with a layer and without, expected a layer each time" + first);
    } else if (binding.route_class < next && before->layer == binding.layer) {
      refuse(placed.line, found + " with layer " + std::to_string(*binding.layer) +
                              " a second time, expected every layer of a class once" + first);
    } else if (binding_.backend == SteeringBackend::uct && binding.route_class > 0 && !binding.path_index) {
      refuse(placed.line, found + " without a path_index, expected one: the backend \"uct\" steers by nothing else");
    }
  }

  std::string file_;
  std::optional<Error> error_;
  RouteBinding binding_;
  std::vector<PlacedClass> classes_;
};

/// As a TOML basic string.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04X", static_cast<unsigned>(byte));
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// 64-bit FNV-1a over numbers, each as four bytes.
class Fingerprint {
 public:
  void add(std::int32_t number) {
    const auto bits = static_cast<std::uint32_t>(number);
    for (int shift = 0; shift < 32; shift += 8) value_ = (value_ ^ ((bits >> shift) & 0xffU)) * 0x100000001b3U;
  }
  [[nodiscard]] std::string digits() const {
    std::array<char, digest_digits + 1> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value_));
    return text.data();
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace

std::optional<std::string> setting_of(const RouteClassBinding& binding, std::string_view name) {
  for (const auto& [key, value] : binding.settings) {
    if (key == name) return value;
  }
  return std::nullopt;
}

Result<RouteBinding> read_route_binding(std::string_view text, std::string_view origin) {
  const Result<toml::table> table = read_toml(text, origin);
  return table ? BindingReader(origin).read(*table) : table.error();
}

Result<RouteBinding> load_route_binding(const std::string& path) {
  const Result<std::string> text = read_text_file(path, most_text_bytes);
  if (text) return read_route_binding(*text, path);
  return Error{"found no route binding file '" + path + "' (" + text.error().message + "), expected one"};
}

std::string write_route_binding(const RouteBinding& binding) {
  std::string text = "backend = " + toml_string(binding.backend == SteeringBackend::ucp ? "ucp" : "uct") + "\n";
  if (!binding.routes.empty()) text += "routes = " + toml_string(binding.routes) + "\n";
  for (const RouteClassBinding& each : binding.classes) {
    text += "\n[[class]]\nclass = " + std::to_string(each.route_class) + "\n";
    if (each.layer) text += "layer = " + std::to_string(*each.layer) + "\n";
    if (each.path_index) text += "path_index = " + std::to_string(*each.path_index) + "\n";
    for (const auto& [name, value] : each.settings)
      text.append(name).append(" = ").append(toml_string(value)).append("\n");
  }
  return text;
}

std::optional<std::int32_t> context_of(const RouteBinding& binding, const Route& route) {
  const auto before = [](const RouteClassBinding& entry, std::int32_t route_class) {
    return entry.route_class < route_class;
  };
  auto entry = std::lower_bound(binding.classes.begin(), binding.classes.end(), route.route_class, before);
  const auto is_of_class = [&] { return entry != binding.classes.end() && entry->route_class == route.route_class; };
  while (is_of_class() && entry->layer && entry->layer != route.layer) ++entry;
  if (!is_of_class()) return std::nullopt;
  return static_cast<std::int32_t>(entry - binding.classes.begin());
}

std::string route_set_digest(const Topology& topology, std::span<const Route> routes) {
  std::vector<std::vector<std::int32_t>> set;
  set.reserve(routes.size());
  for (const Route& route : routes) {
    std::vector<std::int32_t>& record = set.emplace_back();
    record = {route.source, route.destination, route.route_class};
    for (const LinkId link : route.links) record.push_back(topology.link(link).to);
  }
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  Fingerprint fingerprint;
  for (const std::vector<std::int32_t>& record : set) {
    fingerprint.add(static_cast<std::int32_t>(record.size()));
    for (const std::int32_t number : record) fingerprint.add(number);
  }
  return fingerprint.digits();
}

}  // namespace libcoll::schedule
