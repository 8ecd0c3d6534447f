#include "libcoll/command/option_records.h"

#include <cstddef>

namespace libcoll::command {

std::string value_name(const CLI::Option& option) {
  if (option.get_expected_max() == 0 || option.get_type_size() == 0) return "";
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string allowed_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || type.find("->") != std::string::npos) return "";
  std::string values = type.substr(begin + 2, type.find('}') - begin - 2);
  for (std::size_t at = 0; (at = values.find(',', at)) != std::string::npos; at += 2) values.insert(at + 1, " ");
  return values;
}

}  // namespace libcoll::command
