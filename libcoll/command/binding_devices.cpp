#include "libcoll/command/binding_devices.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace libcoll::command {

using namespace schedule;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  return stream >> number ? std::optional(number) : std::nullopt;
}

/// A port of an InfiniBand or RoCE device, as UCX names it: "mlx5_0:1".
struct Port {
  std::string device;
  std::string number = "1";
};

Port parse_port(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return {name};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

/// The largest number of "0-3,5"; nothing when it is no such list.
std::optional<std::int64_t> largest_of(const std::string& list) {
  std::optional<std::int64_t> largest;
  for (const std::string& range : split(list, ',')) {
    for (const std::string& word : split(range, '-')) {
      std::int64_t number = 0;
      const char* const end = word.data() + word.size();
      if (std::from_chars(word.data(), end, number).ptr != end) return std::nullopt;
      largest = std::max(largest.value_or(number), number);
    }
  }
  return largest;
}

/// Looks for what one class needs.
class ClassCheck {
 public:
  ClassCheck(const RouteClassBinding& binding, const std::string& system_root, std::vector<std::string>& faults)
      : binding_(binding),
        infiniband_(system_root + "/class/infiniband"),
        net_(system_root + "/class/net"),
        faults_(faults) {}

  void run() {
    std::vector<Port> ports;
    for (const std::string& name : split(setting_of(binding_, "NET_DEVICES").value_or(""), ',')) {
      if (name == "all" || name.find('*') != std::string::npos) continue;
      const Port port = parse_port(name);
      std::error_code error;
      if (fs::exists(infiniband_ / port.device / "ports" / port.number, error)) {
        ports.push_back(port);
      } else if (!fs::exists(net_ / name, error)) {
        say("found no device " + name);
      }
    }
    const bool named = !setting_of(binding_, "NET_DEVICES").value_or("").empty();
    if (ports.empty() && !named) ports = all_ports();
    check_path_bits(ports);
    check_address(ports);
  }

 private:
  void say(const std::string& what) {
    faults_.push_back("route class " + std::to_string(binding_.route_class) + ": " + what);
  }

  [[nodiscard]] std::vector<Port> all_ports() const {
    std::vector<Port> ports;
    std::error_code error;
    for (const fs::directory_entry& device : fs::directory_iterator(infiniband_, error)) {
      for (const fs::directory_entry& port : fs::directory_iterator(device.path() / "ports", error)) {
        ports.push_back({device.path().filename(), port.path().filename()});
      }
    }
    return ports;
  }

  void check_path_bits(const std::vector<Port>& ports) {
    const std::string value = setting_of(binding_, "IB_LID_PATH_BITS").value_or("");
    const std::optional<std::int64_t> bits = largest_of(value);
    if (!bits) return;
    if (ports.empty()) return say("found no InfiniBand port for IB_LID_PATH_BITS = " + value);
    for (const Port& port : ports) {
      const fs::path file = infiniband_ / port.device / "ports" / port.number / "lid_mask_count";
      const std::int64_t lmc = number_in(file).value_or(0);
      if (lmc >= 0 && lmc < 32 && *bits < std::int64_t{1} << lmc) continue;
      say("IB_LID_PATH_BITS = " + value + " is beyond the LMC of " + port.device + ":" + port.number + ", which is " +
          std::to_string(lmc));
    }
  }

  void check_address(const std::vector<Port>& ports) {
    const std::string index = setting_of(binding_, "IB_GID_INDEX").value_or("");
    if (!largest_of(index)) return;  // "auto"
    if (ports.empty()) return say("found no RoCE or InfiniBand port for IB_GID_INDEX = " + index);
    for (const Port& port : ports) {
      std::ifstream file(infiniband_ / port.device / "ports" / port.number / "gids" / index);
      std::string gid;
      file >> gid;
      const bool is_set = gid.find_first_not_of("0:") != std::string::npos;
      if (!is_set) say("IB_GID_INDEX = " + index + " is no address of " + port.device + ":" + port.number);
    }
  }

  const RouteClassBinding& binding_;
  const fs::path infiniband_;
  const fs::path net_;
  std::vector<std::string>& faults_;
};

}  // namespace

std::vector<std::string> missing_devices(const RouteBinding& binding, const std::string& system_root) {
  std::vector<std::string> faults;
  for (const RouteClassBinding& each : binding.classes) ClassCheck(each, system_root, faults).run();
  return faults;
}

}  // namespace libcoll::command
