// The reader of route binding files.
#include "planner/schedule/route_binding.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using libcoll::fuzz::require;
  const libcoll::Result<libcoll::schedule::RouteBinding> binding =
      libcoll::schedule::read_route_binding(libcoll::fuzz::as_text(data, size), "fuzz");
  if (!binding) {
    require(!binding.error().message.empty());
    return 0;
  }
  const libcoll::Result<libcoll::schedule::RouteBinding> again =
      libcoll::schedule::read_route_binding(libcoll::schedule::write_route_binding(*binding), "again");
  require(again.ok() && *again == *binding);
  return 0;
}
